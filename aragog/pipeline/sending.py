"""
Which task does what, on which queue, and how a stage hands on to the next.

Stages return what is to be sent; a `Sender` sends it. `CelerySender` works with any Celery app, so
producers need nothing of the workers' code.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Protocol

import kombu.exceptions
import redis

from aragog.errors import BrokerUnavailable
from aragog.pipeline.bundles import PRIORITY_DEFAULT

FETCH = "aragog.fetch"
ROBOTS = "aragog.robots"
CANONICALIZE = "aragog.canonicalize"
STORE = "aragog.store"
REFRESH_DUE = "aragog.refresh.due"
ROBOTS_EXPIRING = "aragog.robots.expiring"
FOLD_LINKS = "aragog.upkeep.fold_links"
SWEEP = "aragog.upkeep.sweep"
OVERRIDES = "aragog.upkeep.overrides"

QUEUE_OF = {
    FETCH: "fetch",
    ROBOTS: "robots",
    CANONICALIZE: "canonicalize",
    STORE: "store",
    REFRESH_DUE: "upkeep",
    ROBOTS_EXPIRING: "upkeep",
    FOLD_LINKS: "upkeep",
    SWEEP: "upkeep",
    OVERRIDES: "upkeep",
}
QUEUES = tuple(dict.fromkeys(QUEUE_OF.values()))


class Message(Protocol):
    """Anything with a JSON form."""

    def wire(self) -> dict[str, Any]:
        """The JSON form."""


@dataclass(frozen=True, slots=True)
class Send:
    """One message to send."""

    task: str
    message: Message
    at_ms: int | None = None
    """Not before this instant; None: at once."""
    priority: int = PRIORITY_DEFAULT


class Sender(Protocol):
    """Where stages hand their messages."""

    def send(self, what: Send) -> None:
        """Enqueue it. Raises `BrokerUnavailable`; then it was not enqueued."""


class CelerySender:
    """Sends through a Celery app, by task name."""

    def __init__(self, app: Any) -> None:
        self._app = app

    def send(self, what: Send) -> None:
        eta = None if what.at_ms is None else datetime.fromtimestamp(what.at_ms / 1000, UTC)
        with broker_errors():
            self._app.send_task(
                what.task,
                args=(what.message.wire(),),
                queue=QUEUE_OF[what.task],
                eta=eta,
                priority=what.priority,
                ignore_result=True,
            )


@contextmanager
def broker_errors() -> Iterator[None]:
    """What Celery, kombu and their transports raise, as `BrokerUnavailable`."""
    try:
        yield
    except (kombu.exceptions.OperationalError, redis.RedisError, OSError) as error:
        raise BrokerUnavailable("broker", str(error)) from error
