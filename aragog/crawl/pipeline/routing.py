"""
Destinations of messages, and the senders.

`CelerySender` works with any Celery app, so producers do not need the workers' code.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Any, Protocol

import kombu.exceptions
import orjson
import redis
from kombu.serialization import registry
from kombu.utils import json

from aragog.crawl.pipeline.messages import PRIORITY_DEFAULT, UrlJob
from aragog.errors import BrokerFull, BrokerUnavailable
from pinlater.envelope import COLLECT_HEADER, Collection
from pinlater.redis.errors import IS_FULL, caused_by_full_memory, reason_of


class Queue(StrEnum):
    """The queues, each with its own workers (`aragog/workers/roles.py`)."""

    FETCH = "fetch"
    ROBOTS = "robots"
    RENDER = "render"
    CANONICALIZE = "canonicalize"
    STORE = "store"
    UPKEEP = "upkeep"
    WATCHES = "watches"
    WEBHOOKS = "webhooks"


class Destination(Enum):
    """
    Where a message goes: the name of a task and its queue.

    `aragog/tasks/routes.py` lists all tasks, including those run by beat.
    """

    FETCH = "aragog.fetch", Queue.FETCH
    ROBOTS = "aragog.robots", Queue.ROBOTS
    RENDER = "aragog.render", Queue.RENDER
    CANONICALIZE = "aragog.canonicalize", Queue.CANONICALIZE
    STORE = "aragog.store", Queue.STORE
    FINISHED = "aragog.finished", Queue.STORE
    WATCHES = "aragog.watches", Queue.WATCHES
    WEBHOOK = "aragog.webhooks.deliver", Queue.WEBHOOKS
    REEXTRACT = "aragog.reextract", Queue.CANONICALIZE

    @property
    def task(self) -> str:
        return self.value[0]

    @property
    def queue(self) -> Queue:
        return self.value[1]


FETCH_BY_MODULE = "aragog.tasks.fetch"
"""The name by which other programs can call the task of `Destination.FETCH`."""


@dataclass(frozen=True, slots=True)
class UserTask:
    """A user's Celery task, in the queue of the user's own workers."""

    task: str
    queue: str


# How many jobs pinlater enqueues per script call.
MAX_MESSAGES_PER_CALL = 200
# Maximum length of a message's description in Flower and the logs.
MAX_SHOWN_URLS = 3
MAX_SHOWN_CHARS = 500
BROKER_ERRORS = (
    kombu.exceptions.OperationalError,
    kombu.exceptions.BatchPublishError,
    redis.RedisError,
    OSError,
)


class Message(Protocol):
    """Anything that can be sent as JSON."""

    def wire(self) -> dict[str, Any]:
        """Return the message as JSON values."""


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """A message to send."""

    destination: Destination | UserTask
    message: Message
    delay_ms: int | None = None
    """The delay before a worker gets the message; None for no delay. Not a time, because clocks
    differ."""
    priority: int = PRIORITY_DEFAULT
    collect: Collection | None = None
    """Each URL's delay, which pinlater uses instead of `delay_ms`.

    pinlater combines URLs from different messages that are due at about the same time into one
    message."""
    even_when_full: bool = False
    """True for work in progress: the message is accepted even if the server's memory is full."""


def most_urgent_priority(jobs: Iterable[UrlJob]) -> int:
    """Return the priority of the message's most urgent job."""
    return min((job.priority for job in jobs), default=PRIORITY_DEFAULT)


class Sender(Protocol):
    """Sends the messages of stages."""

    def send(self, outgoing: OutgoingMessage) -> None:
        """Enqueue a message. If this raises `BrokerUnavailable`, the message was not enqueued."""

    def send_all(self, messages: Sequence[OutgoingMessage]) -> None:
        """
        Enqueue messages, 200 per round trip if the broker supports it (pinlater and Redis).

        If this raises `BrokerUnavailable`, none, some or all of them were enqueued.
        """


class CelerySender:
    """Sends through a Celery app, by task name."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def send(self, outgoing: OutgoingMessage) -> None:
        with broker_errors():
            self._publish(outgoing)

    def send_all(self, messages: Sequence[OutgoingMessage]) -> None:
        if len(messages) == 1:
            self.send(messages[0])
        elif messages:
            with (
                broker_errors(),
                self._app.producer_or_acquire() as producer,
                producer.batch(MAX_MESSAGES_PER_CALL),
            ):
                for outgoing in messages:
                    self._publish(outgoing, producer)

    def _publish(self, outgoing: OutgoingMessage, producer: Any = None) -> None:
        wire = outgoing.message.wire()
        self._app.send_task(
            outgoing.destination.task,
            args=(wire,),
            # Celery's default takes 10 us per URL. Collected URLs end up in other messages.
            argsrepr="(collected urls)" if outgoing.collect else f"({describe(wire)})",
            queue=str(outgoing.destination.queue),
            countdown=None if outgoing.delay_ms is None else outgoing.delay_ms / 1000,
            priority=outgoing.priority,
            serializer=SERIALIZER,
            ignore_result=True,
            headers=_headers(outgoing),
            producer=producer,
            retry=producer is None,  # kombu does not retry a batch
        )


_json: Any = json
_registry: Any = registry


def _to_json(data: Any) -> str:
    """
    Return the same JSON as kombu, in a third of the time. Falls back to kombu if orjson refuses the
    data.
    """
    try:
        return orjson.dumps(data).decode()
    except TypeError:
        text: str = _json.dumps(data)
        return text


# Only used for the messages of stages and producers. Other tasks may contain dates and UUIDs, which
# kombu encodes in its own way.
SERIALIZER = "aragog.json"
_registry.register(SERIALIZER, _to_json, None, "application/json", "utf-8")
# Otherwise the content type would now stand for `SERIALIZER`.
_registry.register("json", None, None, "application/json", "utf-8")


def _headers(outgoing: OutgoingMessage) -> dict[str, Any] | None:
    headers: dict[str, Any] = {}
    if outgoing.even_when_full:
        headers["even_when_full"] = True
    if outgoing.collect:
        headers[COLLECT_HEADER] = outgoing.collect.header()
    return headers or None


def describe(wire: Mapping[str, Any]) -> str:
    """Return a description for display: the number of URLs and the first few of them."""
    for name in ("urls", "results", "pages", "origins"):
        items = wire.get(name)
        if items:
            urls = [_get_url(item) for item in items[:MAX_SHOWN_URLS]]
            ellipsis = ["…"] if len(items) > len(urls) else []
            return f"{len(items)} {name}: {', '.join(urls + ellipsis)}"[:MAX_SHOWN_CHARS]
    return str(wire)[:MAX_SHOWN_CHARS]


def _get_url(item: Any) -> str:
    job = item.get("job", item) if isinstance(item, Mapping) else {"url": item}
    return str(job["url"])


@contextmanager
def broker_errors() -> Iterator[None]:
    """Convert the errors of Celery, kombu and their transports to `BrokerUnavailable`."""
    try:
        yield
    except BROKER_ERRORS as error:
        # Celery and kombu wrap the errors of the transport.
        if caused_by_full_memory(error):
            raise BrokerFull("broker", IS_FULL) from error
        raise BrokerUnavailable("broker", reason_of(error)) from error
