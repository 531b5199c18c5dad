"""
Publish changes to a Kafka topic: `aragog changes --follow --to kafka://…`.

A record's key is the URL, so changes to a page stay in order within one partition. Its value is the
change as JSON, with an `id`.

The position in the feed is stored in Kafka, as the metadata of a committed offset. It is written
after the brokers have acknowledged all earlier records. If a process is killed in between, the next
process sends these records again with the same ids. Two processes with the same name send
everything twice but lose nothing.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import orjson

from aragog.addons.kafka.topic_address import (
    RESPONSE_TIMEOUT_S,
    TopicAddress,
    count_partitions,
    error_reason,
    require_client,
    retry_until_coordinator,
)
from aragog.cli.terminal import echo
from aragog.errors import ConfigError, ServiceUnavailable

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Producer

REQUIRED_SETTINGS = {
    "acks": "all",
    # The client's own retries neither duplicate nor reorder records.
    "enable.idempotence": True,
    # Wait for unavailable brokers, and never drop undelivered records.
    "message.timeout.ms": 0,
}
DEFAULT_SETTINGS = {
    # Partition keys in the same way as Java clients.
    "partitioner": "murmur2_random",
    "linger.ms": 5,
    "client.id": "aragog",
    # The client's callback reports errors, each once.
    "log_level": 0,
}
COMMIT_INTERVAL_S = 3600.0
"""How often an unchanged position is committed again, because Kafka deletes it after a week."""
_POLL_TIMEOUT_S = 0.5


def open_topic(address: str) -> ChangeTopic:
    """
    Open the topic at an address passed to `--to`.

    Raises:
        BadInput: the text is not the address of a topic.
        ConfigError: the client is not installed, its settings are wrong, or there is no such topic.
        ServiceUnavailable: no broker responds.
    """
    require_client("`aragog changes --to kafka://`")
    return ChangeTopic(TopicAddress.parse(address))


def change_id(change: dict[str, Any]) -> str:
    """
    Return the id of a change: 32 hex digits, the same in every record of the change.

    A killed store task reports its changes twice, with different cursors but the same URL, fetch
    time and kind.
    """
    parts = [change["url"], change["at_ms"], change["kind"]]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:32]


def record_json(change: dict[str, Any], *, shortened: bool = False) -> bytes:
    """Return a change's record as JSON. With `shortened`, it omits the fields' values."""
    fields = change["fields"]
    if shortened:
        fields = {name: dict.fromkeys(values) for name, values in fields.items()}
    return orjson.dumps({"id": change_id(change), **change, "fields": fields})


class ChangeTopic:
    """
    Sends changes to a topic and stores the position; used by one thread.

    Args:
        address: the topic.
        timeout_s: time limit for Kafka to list the topic's partitions.
    """

    def __init__(self, address: TopicAddress, *, timeout_s: float = RESPONSE_TIMEOUT_S) -> None:
        from confluent_kafka import Consumer, KafkaException, Producer  # noqa: PLC0415 - an extra

        self._address = address
        group_settings = {"group.id": address.name or f"aragog-changes-{address.topic}"}
        common_settings = {**DEFAULT_SETTINGS, "error_cb": self._on_error}
        try:
            self._producer: Producer = Producer(
                address.settings(REQUIRED_SETTINGS, common_settings)
            )
            # This consumer joins no group: it only reads and writes one committed offset.
            self._position_consumer: Consumer = Consumer(
                _consumer_settings(
                    address.settings(
                        {**group_settings, "enable.auto.commit": False}, common_settings
                    )
                )
            )
        except KafkaException as error:
            raise ConfigError(f"{address}: {error_reason(error.args[0])}") from error
        self._problem = ""
        self._committed_at_s = 0.0
        self._committed_cursor: str | None = None
        count_partitions(self._producer, address, timeout_s)

    def position(self) -> str | None:
        """
        Return the cursor up to which all changes were acknowledged, or None at the beginning.

        Raises:
            ServiceUnavailable: Kafka does not respond.
        """
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 - an extra

        try:
            partitions = [TopicPartition(self._address.topic, 0)]
            (committed,) = retry_until_coordinator(
                lambda: self._position_consumer.committed(partitions, timeout=RESPONSE_TIMEOUT_S)
            )
        except KafkaException as error:
            raise self._unavailable(error) from error
        return committed.metadata or None

    def send(self, changes: Sequence[dict[str, Any]], cursor: str) -> None:
        """
        Send changes, and store the cursor once all of them are acknowledged.

        If brokers are unreachable, this waits and reports the reason once. The cursor is only
        written if it is new or was stored more than an hour ago.

        Raises:
            ServiceUnavailable: Kafka refused a record, or the cursor cannot be stored; call again
                with the same changes.
        """
        refused: list[KafkaError] = []
        for change in changes:
            self._produce(change, refused)
        while self._producer.flush(_POLL_TIMEOUT_S):
            pass
        if refused:
            raise ServiceUnavailable(str(self._address), error_reason(refused[0]))
        self._problem = ""
        if (
            cursor != self._committed_cursor
            or time.monotonic() > self._committed_at_s + COMMIT_INTERVAL_S
        ):
            self._store_cursor(cursor)

    def close(self) -> None:
        """Close the connections; the next process resends unacknowledged changes."""
        self._producer.purge()
        self._producer.flush(1)
        self._position_consumer.close()

    def _produce(self, change: dict[str, Any], refused: list[KafkaError]) -> None:
        from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an extra

        def on_delivered(error: KafkaError | None, _record: Any) -> None:
            if error is not None:
                refused.append(error)

        produce = partial(
            self._producer.produce, self._address.topic, key=change["url"].encode(),
            on_delivery=on_delivered,
        )  # fmt: skip
        value = record_json(change)
        while True:
            try:
                produce(value=value)
                return
            except BufferError:  # the queue is full: wait until some are acknowledged
                self._producer.poll(_POLL_TIMEOUT_S)
            except KafkaException as error:
                shorter = record_json(change, shortened=True)
                too_long = error.args[0].code() == KafkaError.MSG_SIZE_TOO_LARGE
                if not too_long or value == shorter:
                    raise ServiceUnavailable(
                        str(self._address), error_reason(error.args[0])
                    ) from error
                value = shorter

    def _store_cursor(self, cursor: str) -> None:
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 - an extra

        position = TopicPartition(self._address.topic, 0, 0, cursor)
        try:
            (committed,) = retry_until_coordinator(
                lambda: self._position_consumer.commit(offsets=[position], asynchronous=False)
            )
        except KafkaException as error:
            raise self._unavailable(error) from error
        if committed.error is not None:
            raise ServiceUnavailable(str(self._address), error_reason(committed.error))
        self._committed_cursor, self._committed_at_s = cursor, time.monotonic()

    def _on_error(self, error: KafkaError) -> None:
        if error.name() != self._problem:
            self._problem = error.name()
            echo(f"Kafka: {error_reason(error)}", err=True)

    def _unavailable(self, error: Exception) -> ServiceUnavailable:
        return ServiceUnavailable(str(self._address), error_reason(error.args[0]))


_PRODUCER_ONLY = ("partitioner", "linger.ms")


def _consumer_settings(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key not in _PRODUCER_ONLY}
