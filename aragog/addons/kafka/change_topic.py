"""
Changes as records of a topic: `aragog changes --follow --to kafka://…`.

A record's key is the URL, so that the changes of a page keep their order in one partition. Its
value is the change in JSON, with an `id`.

How far the feed was sent is kept in Kafka, as the metadata of a committed offset: it lies beside
what was sent, and survives the loss of this process and of its machine. It is written after all
brokers acknowledged the records before it. A process that is killed in between sends these records
again, under the same ids. Two processes with one name send everything twice, and lose nothing:
whoever writes a position had all before it acknowledged.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from aragog.addons.kafka.topic_address import (
    ANSWER_WITHIN_S,
    TopicAddress,
    partitions_of,
    patiently,
    reason_of,
    require_client,
)
from aragog.cli.terminal import echo
from aragog.errors import ConfigError, ServiceUnavailable

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

OWN = {
    "acks": "all",
    # The client's own repetitions are no duplicates, and do not overtake each other.
    "enable.idempotence": True,
    # A broker that is down is waited for; what is undelivered is never dropped.
    "message.timeout.ms": 0,
}
DEFAULTS = {
    # Keys of Java's clients go to the same partitions.
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    "client.id": "aragog",
    # What it logs is reported as an error of its callback, once.
    "log_level": 0,
}
KEPT_AGAIN_S = 3600.0
"""How often an unchanged position is written: Kafka forgets one after a week."""
_WAIT_S = 0.5


def open_topic(address: str) -> ChangeTopic:
    """
    The topic at an address of `--to`.

    Raises:
        BadInput: it is not an address of a topic.
        ConfigError: the client is not installed, its settings are wrong, or there is no such topic.
        ServiceUnavailable: no broker answers.
    """
    require_client("`aragog changes --to kafka://`")
    return ChangeTopic(TopicAddress.parse(address))


def change_id(change: dict[str, Any]) -> str:
    """
    The id of a change: 32 hex digits, the same in every record of the same change.

    A task of the store that was killed reports its changes twice, under two cursors; what they have
    in common is the URL, the time of its fetch and the kind.
    """
    parts = [change["url"], change["at_ms"], change["kind"]]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:32]


def record_of(change: dict[str, Any], *, shortened: bool = False) -> bytes:
    """The value of a change's record; shortened, its fields have no values."""
    fields = change["fields"]
    if shortened:
        fields = {name: dict.fromkeys(both) for name, both in fields.items()}
    return orjson.dumps({"id": change_id(change), **change, "fields": fields})


class ChangeTopic:
    """
    Sends changes to a topic, and keeps how far it is; one thread uses it.

    Args:
        address: the topic.
        answer_within_s: how long Kafka may take to name the topic's partitions.
    """

    def __init__(self, address: TopicAddress, *, answer_within_s: float = ANSWER_WITHIN_S) -> None:
        from confluent_kafka import Consumer, KafkaException, Producer  # noqa: PLC0415 - an extra

        self._address = address
        group = {"group.id": address.name or f"aragog-changes-{address.topic}"}
        common = {**DEFAULTS, "error_cb": self._on_error}
        try:
            self._producer: Producer = Producer(address.settings(OWN, common))
            # It joins no group: it reads and writes one committed offset.
            self._positions: Consumer = Consumer(
                _without(address.settings({**group, "enable.auto.commit": False}, common))
            )
        except KafkaException as error:
            raise ConfigError(f"{address}: {reason_of(error.args[0])}") from error
        self._problem = ""
        self._kept_s = 0.0
        self._written: str | None = None
        partitions_of(self._producer, address, answer_within_s)

    def position(self) -> str | None:
        """
        The cursor up to which everything was acknowledged; None: nothing is known of it.

        Raises:
            ServiceUnavailable: Kafka does not answer.
        """
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 - an extra

        try:
            where = [TopicPartition(self._address.topic, 0)]
            (kept,) = patiently(lambda: self._positions.committed(where, timeout=ANSWER_WITHIN_S))
        except KafkaException as error:
            raise self._unavailable(error) from error
        return kept.metadata or None

    def send(self, changes: Sequence[dict[str, Any]], cursor: str) -> None:
        """
        Send changes, and keep the cursor after them once all are acknowledged.

        It waits for brokers that are away, and reports once why. Without changes only a cursor that
        is not kept yet, or was kept an hour ago, is written.

        Raises:
            ServiceUnavailable: a record was refused, or the cursor cannot be kept; call it again
                with the same changes.
        """
        refused: list[KafkaError] = []
        for change in changes:
            self._produce(change, refused)
        while self._producer.flush(_WAIT_S):
            pass
        if refused:
            raise ServiceUnavailable(str(self._address), reason_of(refused[0]))
        self._problem = ""
        if cursor != self._written or time.monotonic() > self._kept_s + KEPT_AGAIN_S:
            self._keep(cursor)

    def close(self) -> None:
        """Close the connections; what was not acknowledged is sent again by the next process."""
        self._producer.purge()
        self._producer.flush(1)
        self._positions.close()

    def _produce(self, change: dict[str, Any], refused: list[KafkaError]) -> None:
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an extra

        def delivered(error: KafkaError | None, _record: Any) -> None:
            if error is not None:
                refused.append(error)

        produce = partial(
            self._producer.produce, self._address.topic, key=change["url"].encode(),
            on_delivery=delivered,
        )  # fmt: skip
        value = record_of(change)
        while True:
            try:
                produce(value=value)
                return
            except BufferError:  # its queue is full: wait until some were acknowledged
                self._producer.poll(_WAIT_S)
            except KafkaException as error:
                shorter = record_of(change, shortened=True)
                too_long = error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
                if not too_long or value == shorter:
                    raise ServiceUnavailable(
                        str(self._address), reason_of(error.args[0])
                    ) from error
                value = shorter

    def _keep(self, cursor: str) -> None:
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 - an extra

        kept = TopicPartition(self._address.topic, 0, 0, cursor)
        try:
            (written,) = patiently(
                lambda: self._positions.commit(offsets=[kept], asynchronous=False)
            )
        except KafkaException as error:
            raise self._unavailable(error) from error
        if written.error is not None:
            raise ServiceUnavailable(str(self._address), reason_of(written.error))
        self._written, self._kept_s = cursor, time.monotonic()

    def _on_error(self, error: KafkaError) -> None:
        """Report what the client meets while it tries again, each problem once."""
        if error.name() != self._problem:
            self._problem = error.name()
            echo(f"Kafka: {reason_of(error)}", err=True)

    def _unavailable(self, error: Exception) -> ServiceUnavailable:
        return ServiceUnavailable(str(self._address), reason_of(error.args[0]))


_OF_PRODUCERS = ("partitioner", "linger.ms")


def _without(settings: dict[str, Any]) -> dict[str, Any]:
    """Settings without those that a consumer does not have."""
    return {key: value for key, value in settings.items() if key not in _OF_PRODUCERS}
