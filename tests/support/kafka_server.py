"""A private Kafka broker for the whole run, and a separate topic for every test."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from deploy.kafka.server import KafkaServer
from tests.support.missing_parts import KAFKA
from tests.support.servers import folder_of_a_server, start_or_skip
from tests.support.waiting import wait_until

_numbers = itertools.count(1)


@dataclass(frozen=True)
class Topic:
    """A topic of one test, read and written without aragog's code."""

    server: KafkaServer
    name: str
    config: Path
    """Settings with which a group notices within seconds that a member was killed."""

    @property
    def address(self) -> str:
        """Return the address that commands take."""
        return f"kafka://{self.server.address}/{self.name}?config={self.config}"

    def put(self, values: list[str | bytes | None]) -> None:
        """Append records without keys."""
        producer = Producer({"bootstrap.servers": self.server.address, "log_level": 0})
        for value in values:
            producer.produce(self.name, value=value)
            producer.poll(0)
        assert producer.flush(60) == 0

    def records(self) -> list[Message]:
        """Return all records, partition by partition, each in order."""
        consumer = Consumer(
            {
                "bootstrap.servers": self.server.address, "group.id": f"reader-{next(_numbers)}",
                "auto.offset.reset": "earliest", "enable.partition.eof": True, "log_level": 0,
                "enable.auto.commit": False,
            }
        )  # fmt: skip
        consumer.subscribe([self.name])
        parts = len(consumer.list_topics(self.name, timeout=60).topics[self.name].partitions)
        found, ended = [], set()
        while len(ended) < parts:
            message = consumer.poll(60)
            assert message is not None, "Kafka does not answer"
            error = message.error()
            if error is None:
                found.append(message)
            elif error.code() == KafkaError._PARTITION_EOF:
                ended.add(message.partition())
        consumer.close()
        return sorted(found, key=lambda record: (record.partition(), record.offset()))

    def count(self) -> int:
        """Return the number of records in all partitions, without reading them."""
        consumer = Consumer({"bootstrap.servers": self.server.address, "group.id": "count"})
        parts = consumer.list_topics(self.name, timeout=60).topics[self.name].partitions
        ends = [wait_until(lambda n=n: self._end(consumer, n)) for n in parts]
        consumer.close()
        return sum(high for _, high in ends)

    def _end(self, consumer: Consumer, part: int) -> tuple[int, int] | None:
        """Return the first and next offset of a partition, or None while a starting broker leads none."""
        try:
            return consumer.get_watermark_offsets(TopicPartition(self.name, part), timeout=60)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION:
                return None
            raise

    def committed(self, group: str) -> int:
        """Return how many records a group has committed in all partitions."""
        consumer = Consumer({"bootstrap.servers": self.server.address, "group.id": group})
        parts = consumer.list_topics(self.name, timeout=60).topics[self.name].partitions
        offsets = consumer.committed([TopicPartition(self.name, n) for n in parts], timeout=60)
        consumer.close()
        return sum(max(at.offset, 0) for at in offsets)


@pytest.fixture(scope="session")
def kafka_server() -> Iterator[KafkaServer]:
    """One broker for the whole run. Tests leave it running."""
    with folder_of_a_server("kafka") as folder:
        server = start_or_skip(KafkaServer(folder).start, KAFKA)
        yield server
        server.kill()


@pytest.fixture
def make_topic(kafka_server: KafkaServer, tmp_path: Path) -> Callable[..., Topic]:
    """Return a maker of empty topics."""

    def make(partitions: int = 1, **settings: str) -> Topic:
        name = f"topic-{next(_numbers)}"
        kafka_server.create_topic(
            name, partitions, {key.replace("_", "."): value for key, value in settings.items()}
        )
        config = tmp_path / "kafka.properties"
        config.write_text("# To notice a killed member soon.\nsocket.timeout.ms=5000\n")
        return Topic(kafka_server, name, config)

    return make
