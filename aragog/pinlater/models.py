"""
The values of the job layer: what is enqueued, what a claim hands out, what is known about a job.

Instants are milliseconds since the epoch by the shard's own clock; durations carry their unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

PRIORITIES = range(10)
"""0 is the most urgent, as with Celery on Redis."""

Step = Literal["again", "release", "fail"]
"""How a claim is given back: the attempt counts, it does not, or the job is FAILED at once."""


class JobState(StrEnum):
    """Where a job is in its life."""

    PENDING = "PENDING"
    """Waits, due or not."""
    RUNNING = "RUNNING"
    """Claimed by a worker."""
    SUCCEEDED = "SUCCEEDED"
    """Acknowledged; its body is gone."""
    FAILED = "FAILED"
    """Given up; its body is kept, so that it can be retried by hand."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """What a producer hands over."""

    body: bytes
    priority: int = 0
    """0 to 9, 0 first."""
    delay_ms: int = 0
    """Not before so many milliseconds from now, by the server's clock: skew does not matter."""
    max_attempts: int = 0
    """Deliveries before it is FAILED; 0: as the queue says."""
    unique_key: str = ""
    """While a job with this key waits or runs, another one is not taken."""
    name: str = ""
    """What kind of job it is, for people: a task's name."""
    key: str = ""
    """The application's own id, for people: a task's id."""
    even_when_full: bool = False
    """Taken although the server's memory is full: what it leads to gives memory back."""


class Enqueued(NamedTuple):
    """The answer to one new job."""

    job_id: str
    already_there: bool
    """Its unique key was taken: the id is the other job's, and nothing changed."""


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job in a worker's hands."""

    job_id: str
    token: int
    """Proof of this claim; ack, nack and extend work with the current one only."""
    attempt: int
    """1 for the first delivery."""
    record: bytes
    """Header and body as stored; see `aragog.pinlater.job_codec`."""


@dataclass(frozen=True, slots=True)
class ClaimAnswer:
    """What one claim came to."""

    now_ms: int
    next_due_ms: int | None
    """When to ask again; None: nothing is known to come (or the queue is paused)."""
    more: bool
    """Due jobs remain that this claim's limit left behind."""
    claims: tuple[Claimed, ...]


@dataclass(frozen=True, slots=True)
class Nack:
    """A claim to give back."""

    job_id: str
    token: int
    step: Step = "again"
    delay_ms: int = 0
    problem: str = ""
    """Why, for people; kept with the job, cut to `records.MAX_PROBLEM` characters."""


@dataclass(frozen=True, slots=True)
class Swept:
    """What one sweep did."""

    now_ms: int
    given_back: int
    failed: int
    forgotten: int


@dataclass(frozen=True, slots=True)
class JobInfo:
    """What is known of one job."""

    queue: str
    job_id: str
    state: JobState
    at_ms: int
    """PENDING: when it is due; RUNNING: when its claim runs out; else when it ended."""
    name: str
    key: str
    priority: int
    created_at_ms: int
    due_at_ms: int
    """As first asked for; a retried job's next time is `at_ms`."""
    attempts: int
    max_attempts: int
    """0: as the queue says."""
    unique_key: str
    worker: str
    problem: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Sizes:
    """Jobs of one queue."""

    due: int = 0
    """PENDING, and their time has come."""
    later: int = 0
    """PENDING, not yet due."""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    by_priority: tuple[int, ...] = (0,) * len(PRIORITIES)
    """PENDING, of each priority."""
    oldest_due_ms: int = 0
    """For how long the oldest due job has been due; 0 when none is."""

    @property
    def pending(self) -> int:
        return self.due + self.later

    def __add__(self, other: Sizes) -> Sizes:
        return Sizes(
            self.due + other.due,
            self.later + other.later,
            self.running + other.running,
            self.succeeded + other.succeeded,
            self.failed + other.failed,
            tuple(a + b for a, b in zip(self.by_priority, other.by_priority, strict=True)),
            max(self.oldest_due_ms, other.oldest_due_ms),
        )


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """One queue, over all shards that answered."""

    queue: str
    sizes: Sizes
    settings: Mapping[str, float]
    stats: Mapping[str, int] = field(default_factory=dict)
    missing_shards: tuple[str, ...] = ()
    """Shards that did not answer: the figures are without them."""

    @property
    def paused(self) -> bool:
        return bool(self.settings.get("paused"))

    @property
    def rate_per_s(self) -> float | None:
        """Dequeues a second, over all workers; None: as fast as they can."""
        return self.settings.get("rate")
