"""
Frees bodies that killed fetches, purged queues and failed jobs left in the spool.

Such a body has not been written or read for a while, and no pending or running message contains its
token. Only pinlater can list its messages; on other brokers, only the age counts. Safe to run at
any time, because a body that is read in the meantime stays.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import orjson

from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.pipeline.spool import Spool
from pinlater.admin import Admin
from pinlater.models import JobInfo, JobState

# A body is written before its message is sent, and each stage reads its bodies first.
MIN_IDLE_S = 300.0
MAX_TOKENS_PER_STEP = 1000
# In this order, a message that changes its state is listed at least once.
_QUEUES_AND_STATES = tuple(
    (destination.queue, state)
    for destination in (Destination.RENDER, Destination.CANONICALIZE, Destination.STORE)
    for state in (JobState.PENDING, JobState.RUNNING, JobState.PENDING)
)


class TokenSource(Protocol):
    """The messages on a broker."""

    def tokens(self) -> set[str] | None:
        """Return the tokens in messages, or None if the broker cannot list all messages."""


class WaitingJobs:
    """The messages on a pinlater broker."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def tokens(self) -> set[str] | None:
        result: set[str] = set()
        for queue, state in _QUEUES_AND_STATES:
            status = self._admin.status(queue)
            if status.missing_shards:
                return None
            count = status.sizes.pending if state is JobState.PENDING else status.sizes.running
            # Ask for more messages than were counted: some may arrive in the meantime.
            for job in self._admin.jobs(queue, state, limit=count + MAX_TOKENS_PER_STEP):
                result.update(tokens_in_job(job))
        return result


def tokens_in_job(job: JobInfo) -> Iterator[str]:
    """Yield the spool tokens in a job's message; none for other programs' messages."""
    try:
        message = orjson.loads(b64decode(orjson.loads(job.body)["body"]))[0][0]
    except (ValueError, LookupError, TypeError):
        return
    yield from tokens_in(message)


def tokens_in(message: Any) -> Iterator[str]:
    """Yield the spool tokens in a message (JSON values)."""
    if not isinstance(message, dict):
        return
    tokens: Iterable[Any] = [
        message.get("token"),
        *message.get("bodies", ()),
        *(result.get("token") for result in message.get("results", ())),
    ]
    yield from (token for token in tokens if token)


def sweep(spool: Spool, messages: TokenSource | None, *, idle_s: float) -> int:
    """
    Free idle bodies without a message. Returns how many.

    Args:
        spool: the spool to sweep.
        messages: the messages on the broker, or None if the broker cannot list them.
        idle_s: `pipeline.spool_ttl_s`.

    Raises:
        TransientError: Redis or the broker did not respond.
    """
    idle_s = idle_s if messages is None else min(idle_s, MIN_IDLE_S)
    if not spool.idle_tokens(idle_s, 1):
        return 0
    referenced = set[str]() if messages is None else messages.tokens()
    if referenced is None:
        return 0
    freed = 0
    while tokens := spool.idle_tokens(idle_s, MAX_TOKENS_PER_STEP):
        spool.touch([token for token in tokens if token in referenced])
        freed += spool.free_idle([token for token in tokens if token not in referenced], idle_s)
    return freed
