"""
Enqueue URLs from a topic.

A record's offset is committed after the broker has accepted its URL. If a process is killed, some
records are read again but none are skipped. A URL that is still queued is not enqueued twice. If
its page has been stored since, it is not fetched again, unless `refresh` was requested.

While URLs are not accepted (memory is nearly full, a server is unreachable, `max_in_flight` is
reached), the partitions are paused and the batch is kept. The consumer stays in its group. If a
partition is assigned to another member in the meantime, this process drops its records and the
other member reads them.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from aragog.addons.kafka.topic_address import TopicAddress, count_partitions, error_reason
from aragog.addons.kafka.url_records import TopicUrl, group_by_arguments, read_record
from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.errors import BAD_INPUT, TRANSIENT, ConfigError, ServiceUnavailable, SlowDown

if TYPE_CHECKING:
    from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

BATCH_SIZE = 1000
REQUIRED_SETTINGS = {
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
}
DEFAULT_SETTINGS = {
    "auto.offset.reset": "earliest",
    "client.id": "aragog",
    # Limits prefetching: the default of 64 MB per partition would be millions of URLs.
    "queued.max.messages.kbytes": 4096,
    "partition.assignment.strategy": "cooperative-sticky",
    "log_level": 0,
}
# A crawl that has used up its budget refuses all other URLs. This is reported only once.
_REPORTED_STATUSES = frozenset(
    {EnqueueStatus.INVALID, EnqueueStatus.TAKEN_DOWN, EnqueueStatus.OUT_OF_SCOPE}
)
_POLL_TIMEOUT_S = 0.2
_RETRY_DELAY_S = 1.0


class UrlTopic:
    """
    A member of a consumer group that reads URLs. Used by one thread.

    Args:
        address: the topic. Its `name` is the consumer group (default: `aragog`).
        client: enqueues the URLs.
        defaults: used for options that a record does not set.
        report: called with a line of text for each refused record, and for each new problem.
        max_in_flight: pause while more than this many URLs are in flight; 0 for no limit.
    """

    def __init__(
        self,
        address: TopicAddress,
        client: Aragog,
        defaults: EnqueueArguments,
        report: Callable[[str], None],
        *,
        max_in_flight: int = 0,
    ) -> None:
        from confluent_kafka import Consumer, KafkaException  # noqa: PLC0415 - an extra

        defaults.options()
        self._address, self._client, self._defaults = address, client, defaults
        self._report, self._max_in_flight = report, max_in_flight
        self._problem = ""
        self._pending: list[Message] = []
        """Records kept until URLs are accepted again; meanwhile the partitions are paused."""
        self._retry_at_s = 0.0
        self._ended: set[int] = set()
        self.counts: Counter[EnqueueStatus] = Counter()
        required = {**REQUIRED_SETTINGS, "group.id": address.name or "aragog"}
        try:
            self._consumer: Consumer = Consumer(
                address.settings(required, {**DEFAULT_SETTINGS, "error_cb": self._on_error})
            )
        except KafkaException as error:
            raise ConfigError(f"{address}: {error_reason(error.args[0])}") from error
        count_partitions(self._consumer, address)
        self._consumer.subscribe(
            [address.topic],
            on_assign=self._on_assign,
            on_revoke=self._on_revoke,
            on_lost=self._on_revoke,
        )

    def run(self, is_stopped: Callable[[], bool], *, until_end: bool = False) -> None:
        """
        Enqueue incoming URLs until `is_stopped` returns True.

        Args:
            is_stopped: checked between batches of records.
            until_end: also return at the current end of all partitions.

        Raises:
            ConfigError: the topic was deleted, or access is denied.
            ServiceUnavailable: Kafka reports another permanent error.
        """
        while not is_stopped():
            if self._pending:
                self._wait_for_capacity()
                continue
            records = self._read()
            if records and not self._process(records):
                self._pause(records)
            elif until_end and not records and self._is_at_end():
                return

    def close(self) -> None:
        """Leave the group; other members receive the uncommitted records."""
        self._consumer.close()

    def _read(self) -> list[Message]:
        return self._valid_records(self._consumer.consume(BATCH_SIZE, _POLL_TIMEOUT_S))

    def _valid_records(self, messages: Sequence[Message]) -> list[Message]:
        from confluent_kafka import KafkaError  # noqa: PLC0415 - an extra

        records = []
        for message in messages:
            error = message.error()
            if error is None:
                self._ended.discard(message.partition() or 0)
                records.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - its public name
                self._ended.add(message.partition() or 0)
            elif error.code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                raise ConfigError(f"{self._address}: {error.str()}; create the topic")
            elif not error.retriable():
                raise ServiceUnavailable(str(self._address), error_reason(error))
            else:
                self._on_error(error)
        return records

    def _is_at_end(self) -> bool:
        assigned = {part.partition for part in self._consumer.assignment()}
        return bool(assigned) and assigned <= self._ended

    def _process(self, messages: Sequence[Message]) -> bool:
        """
        Enqueue the records' URLs and commit their offsets. Return False if they are refused for
        now.
        """
        if self._is_full():
            return False
        try:
            self._enqueue(messages)
        except TRANSIENT as error:
            self._delay_retry(error)
            return False
        self._commit(messages)
        return True

    def _is_full(self) -> bool:
        if not self._max_in_flight:
            return False
        try:
            count = self._client.in_flight()
        except TRANSIENT as error:
            self._delay_retry(error)
            return True
        if count <= self._max_in_flight:
            return False
        self._report_once("in flight", f"waiting: {count:,} URLs are in flight")
        self._retry_at_s = time.monotonic() + _RETRY_DELAY_S
        return True

    def _delay_retry(self, error: Exception) -> None:
        wait_s = error.retry_after_s if isinstance(error, SlowDown) else _RETRY_DELAY_S
        self._retry_at_s = time.monotonic() + max(wait_s, _POLL_TIMEOUT_S)
        self._report_once(type(error).__name__, f"waiting: {error}")

    def _enqueue(self, messages: Sequence[Message]) -> None:
        records = [record for record in map(self._parse, messages) if record]
        counts: Counter[EnqueueStatus] = Counter()
        for arguments, group in group_by_arguments(records):
            try:
                urls = [record.url for record in group]
                results = self._client.enqueue(urls, **asdict(arguments))
            except BAD_INPUT as error:  # such as the name of a crawl that does not exist
                if arguments == self._defaults:
                    raise  # nothing was committed; the user must correct the command line
                self._report(f"{group[0].source}: {error} ({len(urls)} URLs were refused)")
                counts[EnqueueStatus.INVALID] += len(urls)
                continue
            counts.update(result.status for result in results)
            for record, result in zip(group, results, strict=True):
                if result.status in _REPORTED_STATUSES:
                    self._report(f"{record.source}: {result.reason}: {result.input[:200]!r}")
                elif result.status is EnqueueStatus.OVER_BUDGET:
                    self._report_once(str(result.reason), f"{record.source}: {result.reason}")
        counts[EnqueueStatus.INVALID] += len(messages) - len(records)
        self.counts += counts
        self._problem = ""

    def _parse(self, message: Message) -> TopicUrl | None:
        source = f"{message.topic()}:{message.partition()}:{message.offset()}"
        try:
            return replace(read_record(message.value(), self._defaults), source=source)
        except BAD_INPUT as error:
            self._report(f"{source}: {error}")
            return None

    def _commit(self, messages: Sequence[Message]) -> None:
        from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415 - an extra

        next_offsets = {
            message.partition() or 0: (message.offset() or 0) + 1 for message in messages
        }
        offsets = [
            TopicPartition(self._address.topic, part, at) for part, at in next_offsets.items()
        ]
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:  # the records are read again, here or by another member
            self._on_error(error.args[0])

    def _pause(self, messages: list[Message]) -> None:
        self._consumer.pause(self._consumer.assignment())
        self._pending = messages

    def _wait_for_capacity(self) -> None:
        """Stay in the group, and retry the kept records after a while."""
        records = self._valid_records(self._consumer.consume(1, _POLL_TIMEOUT_S))
        self._pending.extend(records)  # fetched before the partitions were paused
        if not self._pending:  # the partitions were assigned to another member
            return
        if time.monotonic() < self._retry_at_s or not self._process(self._pending):
            return
        self._pending = []
        self._consumer.resume(self._consumer.assignment())

    def _on_assign(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        self._ended -= {part.partition for part in partitions}
        consumer.incremental_assign(partitions)
        if self._pending:
            consumer.pause(partitions)
        else:  # the client remembers an earlier pause of a partition
            consumer.resume(partitions)

    def _on_revoke(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        revoked = {part.partition for part in partitions}
        self._pending = [message for message in self._pending if message.partition() not in revoked]
        if not self._pending:
            consumer.resume(consumer.assignment())

    def _on_error(self, error: KafkaError) -> None:
        self._report_once(error.name(), f"Kafka: {error_reason(error)}")

    def _report_once(self, problem: str, text: str) -> None:
        if problem != self._problem:
            self._problem = problem
            self._report(text)
