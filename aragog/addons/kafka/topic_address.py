"""The address of a topic, `kafka://HOST:PORT/TOPIC?config=FILE`, and its clients' settings."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from aragog.errors import BadInput, ConfigError, ServiceUnavailable
from aragog.runtime.extras import require

if TYPE_CHECKING:
    from confluent_kafka import Consumer, Producer

T = TypeVar("T")

NAME = r"[A-Za-z0-9._-]{1,249}"
"""Valid topic names in Kafka; group names follow the same rule here."""
RESPONSE_TIMEOUT_S = 20.0
_RETRY_DELAY_S = 0.2
_SERVER = r"(?:[^\s@:/?#,\[\]]+|\[[0-9a-fA-F:.]+\]):\d{1,5}"
_ADDRESS = re.compile(rf"kafka://({_SERVER}(?:,{_SERVER})*)/({NAME})(?:\?([^#]*))?", re.ASCII)
_ADDRESS_FORMAT = "kafka://HOST:PORT[,HOST:PORT…]/TOPIC[?config=FILE]"


@dataclass(frozen=True, slots=True)
class TopicAddress:
    """A topic and how to connect to it."""

    servers: str
    """Comma-separated `host:port` of some brokers; clients discover the others."""
    topic: str
    name: str = ""
    """The name under which a position is stored; empty for the default."""
    config: str = ""
    """A file with additional client settings; empty for none."""

    @classmethod
    def parse(cls, text: str) -> TopicAddress:
        """
        Parse an address.

        Raises:
            BadInput: the text is not a topic address.
        """
        match = _ADDRESS.fullmatch(text)
        if match is None:
            raise BadInput(f"{text[:200]!r} is not the address of a topic; use {_ADDRESS_FORMAT}")
        servers, topic, query = match.groups(default="")
        options = dict(parse_qsl(query, keep_blank_values=True))
        if unknown := options.keys() - {"config", "name"}:
            raise BadInput(f"{min(unknown)[:100]!r} is not a parameter; use `config` and `name`")
        name = options.get("name", "")
        if name and not re.fullmatch(NAME, name):
            raise BadInput(
                f"the name {name[:100]!r} is not valid; use letters, digits, '.', '_', '-'"
            )
        return cls(servers, topic, name, options.get("config", ""))

    def settings(self, required: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
        """
        Return a client's settings: `defaults`, overridden by the file, plus `required`, whose keys
        the file must not set.

        Raises:
            ConfigError: the file cannot be read, a line is not `key=value`, or it sets one of
                `required`.
        """
        file_settings = _read_settings(Path(self.config), required) if self.config else {}
        return {**defaults, **file_settings, "bootstrap.servers": self.servers, **required}

    def __str__(self) -> str:
        return f"{self.topic} on {self.servers}"


def _read_settings(file: Path, required: Collection[str]) -> dict[str, str]:
    """Read librdkafka settings, one `key=value` per line, as Kafka's tools do."""
    try:
        lines = file.read_text().splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from error
    settings = {}
    for number, line in enumerate(lines, 1):
        if not (text := line.strip()) or text.startswith("#"):
            continue
        key, equals, value = text.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError(f"{file}:{number}: the line is not `key=value`")
        if key in required or key == "bootstrap.servers":
            raise ConfigError(f"{file}:{number}: {key} is set by aragog; delete the line")
        settings[key] = value.strip()
    return settings


def require_client(reason: str) -> None:
    """
    Check that the extra `kafka` is installed. If not, raises `ConfigError` with the command to
    install it.
    """
    require("kafka", reason, module="confluent_kafka")


def count_partitions(
    client: Consumer | Producer, address: TopicAddress, timeout_s: float = RESPONSE_TIMEOUT_S
) -> int:
    """
    Return a topic's number of partitions.

    Raises:
        ServiceUnavailable: no broker responds.
        ConfigError: there is no such topic, or access is denied.
    """
    from confluent_kafka import KafkaException  # noqa: PLC0415 - an extra

    try:
        metadata = client.list_topics(address.topic, timeout=timeout_s).topics[address.topic]
    except KafkaException as error:
        raise ServiceUnavailable(str(address), error_reason(error.args[0])) from error
    if metadata.error is not None:
        raise ConfigError(
            f"{address}: {metadata.error.str()}; create the topic, or grant access to it"
        )
    return len(metadata.partitions)


def retry_until_coordinator(call: Callable[[], T]) -> T:
    """
    Call a function that needs committed offsets, and retry while the group has no coordinator.

    For a second or two, a cluster's first group has no coordinator, and neither does a group whose
    coordinator has just stopped.

    Raises:
        KafkaException: the call failed for another reason, or for longer than `RESPONSE_TIMEOUT_S`.
    """
    from confluent_kafka import KafkaError, KafkaException  # noqa: PLC0415 - an extra

    temporary_codes = {
        KafkaError.NOT_COORDINATOR,
        KafkaError.COORDINATOR_NOT_AVAILABLE,
        KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    }
    deadline_s = time.monotonic() + RESPONSE_TIMEOUT_S
    while True:
        try:
            return call()
        except KafkaException as error:
            if error.args[0].code() not in temporary_codes or time.monotonic() > deadline_s:
                raise
        time.sleep(_RETRY_DELAY_S)


def error_reason(error: Any) -> str:
    """Return the message of a client error."""
    return f"{error.name()}: {error.str()}"
