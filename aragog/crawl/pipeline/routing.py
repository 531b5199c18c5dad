"""
Destinations of messages, and the senders that take them there.

Stages return the messages to send; a `Sender` sends them. `CelerySender` works with any Celery
app, so producers need nothing of the workers' code.
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
from pinlater.envelope import HEADER, Collection
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
    Where a message goes: a task's name, and its queue.

    Producers send by these names; `aragog/tasks/routes.py` lists all tasks, also those that beat
    runs.
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
        """The task's name."""
        return self.value[0]

    @property
    def queue(self) -> Queue:
        """The queue of its messages."""
        return self.value[1]


FETCH_BY_MODULE = "aragog.tasks.fetch"
"""`Destination.FETCH` by the name that Celery users expect; only other programs send it."""


@dataclass(frozen=True, slots=True)
class OwnTask:
    """A Celery task of the user, in a queue that the user's own workers read."""

    task: str
    queue: str


# The number of jobs in one script call of pinlater.
MOST_AT_ONCE = 200
# The length of a message's description in Flower and the logs.
MOST_SHOWN_URLS = 3
MOST_SHOWN_CHARS = 500
BROKER_ERRORS = (
    kombu.exceptions.OperationalError,
    kombu.exceptions.BatchPublishError,
    redis.RedisError,
    OSError,
)


class Message(Protocol):
    """Anything with a JSON form."""

    def wire(self) -> dict[str, Any]:
        """The JSON form."""


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One message to send."""

    destination: Destination | OwnTask
    message: Message
    delay_ms: int | None = None
    """How long it waits for a worker; not an instant, because clocks differ. None: no wait."""
    priority: int = PRIORITY_DEFAULT
    collect: Collection | None = None
    """
    The delay of each URL, which pinlater takes instead of `delay_ms`.

    URLs that are due at about the same time share a message, also with URLs of other messages.
    """
    even_when_full: bool = False
    """Accepted even if the server's memory is full, because it continues work that has begun."""


def most_urgent(jobs: Iterable[UrlJob]) -> int:
    """The priority of a message with these jobs: that of the most urgent one. Pure."""
    return min((job.priority for job in jobs), default=PRIORITY_DEFAULT)


class Sender(Protocol):
    """Where stages hand their messages."""

    def send(self, what: OutgoingMessage) -> None:
        """Enqueue it. Raises `BrokerUnavailable`; then it was not enqueued."""

    def send_all(self, whats: Sequence[OutgoingMessage]) -> None:
        """
        Enqueue them, in one round trip where the broker can (pinlater and Redis: 200 at a time).

        Raises `BrokerUnavailable`; then none of them, some, or all were enqueued.
        """


class CelerySender:
    """Sends through a Celery app, by task name."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def send(self, what: OutgoingMessage) -> None:
        with broker_errors():
            self._publish(what)

    def send_all(self, whats: Sequence[OutgoingMessage]) -> None:
        if len(whats) == 1:
            self.send(whats[0])
        elif whats:
            with (
                broker_errors(),
                self._app.producer_or_acquire() as producer,
                producer.batch(MOST_AT_ONCE),
            ):
                for what in whats:
                    self._publish(what, producer)

    def _publish(self, what: OutgoingMessage, producer: Any = None) -> None:
        wire = what.message.wire()
        self._app.send_task(
            what.destination.task,
            args=(wire,),
            # Celery's own way costs 10 us per URL. Collected URLs end in other messages.
            argsrepr="(collected urls)" if what.collect else f"({shown(wire)})",
            queue=str(what.destination.queue),
            countdown=None if what.delay_ms is None else what.delay_ms / 1000,
            priority=what.priority,
            serializer=SERIALIZER,
            ignore_result=True,
            headers=_headers(what),
            producer=producer,
            retry=producer is None,  # a batch has no retry of its own
        )


_json: Any = json
_registry: Any = registry


def _to_json(data: Any) -> str:
    """JSON as kombu would write it, in a third of its time; kombu's own where orjson refuses."""
    try:
        return orjson.dumps(data).decode()
    except TypeError:
        text: str = _json.dumps(data)
        return text


# Only for these messages: kombu marks dates and UUIDs, of which other tasks' arguments may consist.
SERIALIZER = "aragog.json"
_registry.register(SERIALIZER, _to_json, None, "application/json", "utf-8")
_registry.register("json", None, None, "application/json", "utf-8")  # stays the name of the type


def _headers(what: OutgoingMessage) -> dict[str, Any] | None:
    headers: dict[str, Any] = {}
    if what.even_when_full:
        headers["even_when_full"] = True
    if what.collect:
        headers[HEADER] = what.collect.header()
    return headers or None


def shown(wire: Mapping[str, Any]) -> str:
    """A message for people: how many URLs it carries and the first of them. Pure."""
    for name in ("urls", "results", "pages", "origins"):
        items = wire.get(name)
        if items:
            first = [_url(item) for item in items[:MOST_SHOWN_URLS]]
            more = ["…"] if len(items) > len(first) else []
            return f"{len(items)} {name}: {', '.join(first + more)}"[:MOST_SHOWN_CHARS]
    return str(wire)[:MOST_SHOWN_CHARS]


def _url(item: Any) -> str:
    job = item.get("job", item) if isinstance(item, Mapping) else {"url": item}
    return str(job["url"])


@contextmanager
def broker_errors() -> Iterator[None]:
    """Convert the errors of Celery, kombu and their transports to `BrokerUnavailable`."""
    try:
        yield
    except BROKER_ERRORS as error:
        # Celery and kombu wrap what the transport raised.
        if caused_by_full_memory(error):
            raise BrokerFull("broker", IS_FULL) from error
        raise BrokerUnavailable("broker", reason_of(error)) from error
