"""
Free what the spool holds for nobody: bodies of killed fetches, of purged queues, of failed jobs.

Such a body has not been put or read for a while, and no message that waits or runs names it. Only
pinlater can be asked what waits; on other brokers a body's age decides. Safe to run at any time and
twice: what is read meanwhile is no longer idle, and stays.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import orjson

from aragog.pinlater.admin import Admin
from aragog.pinlater.models import JobInfo, JobState
from aragog.pipeline.routing import Destination
from aragog.pipeline.spool.spool import Spool

# A body is put before its message is sent, and read by each stage when it begins.
IDLE_S = 300.0
STEP = 1000
# In this order a message that goes from one to the other meanwhile is seen in one of them.
_WHERE = tuple(
    (destination.queue, state)
    for destination in (Destination.CANONICALIZE, Destination.STORE)
    for state in (JobState.PENDING, JobState.RUNNING, JobState.PENDING)
)


class Waiting(Protocol):
    """What waits on the broker."""

    def tokens(self) -> set[str] | None:
        """Tokens that messages name; None: nobody can say."""


class WaitingJobs:
    """The messages on a pinlater broker."""

    def __init__(self, admin: Admin) -> None:
        self._admin = admin

    def tokens(self) -> set[str] | None:
        found: set[str] = set()
        for queue, state in _WHERE:
            status = self._admin.status(queue)
            if status.missing_shards:
                return None
            most = status.sizes.pending if state is JobState.PENDING else status.sizes.running
            # Some more than there are: others come in meanwhile.
            for job in self._admin.jobs(queue, state, limit=most + STEP):
                found.update(tokens_of(job))
        return found


def tokens_of(job: JobInfo) -> Iterator[str]:
    """The tokens that a job's message names; none of one that is no message of ours. Pure."""
    try:
        message = orjson.loads(b64decode(orjson.loads(job.body)["body"]))[0][0]
    except (ValueError, LookupError, TypeError):
        return
    yield from _tokens(message)


def _tokens(message: Any) -> Iterator[str]:
    if not isinstance(message, dict):
        return
    named: Iterable[Any] = [
        message.get("token"),
        *message.get("bodies", ()),
        *(result.get("token") for result in message.get("results", ())),
    ]
    yield from (token for token in named if token)


def sweep(spool: Spool, waiting: Waiting | None, *, idle_s: float) -> int:
    """
    Free what is idle and named by no message; how many bodies.

    Args:
        spool: swept.
        waiting: None on a broker that cannot be asked.
        idle_s: `pipeline.spool_ttl_s`.

    Raises:
        TransientError: Redis or the broker did not answer.
    """
    idle_s = idle_s if waiting is None else min(idle_s, IDLE_S)
    if not spool.idle(idle_s, 1):
        return 0
    named = set[str]() if waiting is None else waiting.tokens()
    if named is None:
        return 0
    freed = 0
    while found := spool.idle(idle_s, STEP):
        spool.touch([token for token in found if token in named])
        freed += spool.free_idle([token for token in found if token not in named], idle_s)
    return freed
