"""
Data types of the job queue.

Times are milliseconds since the epoch, by the shard's clock. Names of durations contain the unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal, NamedTuple

PRIORITIES = range(10)
"""0 is the most urgent, as with Celery on Redis."""

LATENESS_BOUNDS_MS = (1000, 10_000, 60_000)
"""
For each bound, a queue counts the jobs that were claimed more than this long after they were due,
in counters such as `later_than_1000_ms`. The counter `late_ms` is the sum of all jobs' lateness.
"""

Step = Literal["again", "release", "fail"]
"""How a claim ends: `again` counts the attempt, `release` does not, `fail` makes the job FAILED."""


@dataclass(frozen=True, slots=True)
class NewJob:
    """A job to enqueue."""

    body: bytes
    priority: int = 0
    """0 to 9; 0 is the most urgent."""
    delay_ms: int = 0
    """Milliseconds until the job is due, measured by the server, so clock skew does not matter."""
    max_attempts: int = 0
    """Deliveries before the job is FAILED; 0 means the queue's setting."""
    unique_key: str = ""
    """While a job with this key is waiting or running, no other job with the key is added."""
    name: str = ""
    """
    The job type: the name of the task, or of the function that runs a plain body (`job_body.py`).
    """
    key: str = ""
    """The application's own id, such as the task's id, for display."""
    even_when_full: bool = False
    """
    True if the job is accepted even when the server's memory is full, because it will free memory.
    """


@dataclass(frozen=True, slots=True)
class JobFrame:
    """What all items collected in one job share."""

    prefix: bytes
    """The body up to the items, which are joined by commas."""
    suffix: bytes
    """The body after the items. Prefix, suffix and items must not contain the bytes 30 and 31."""
    span_ms: int
    """Items due in the same span (ms) of the server's clock share a job."""
    max_items: int
    """Maximum number of items in one job."""
    group: str = ""
    """Items of different groups or priorities never share a job."""
    priority: int = 0
    max_attempts: int = 0
    name: str = ""
    key: str = ""
    even_when_full: bool = False
    """A job takes this field and the four before it from its first item's frame; see `NewJob`."""


class JobItem(NamedTuple):
    """An item to collect into a job."""

    data: bytes
    delay_ms: int = 0
    """Milliseconds until the item is due. A job is due when its earliest item is due."""


class JobState(StrEnum):
    """A job's state."""

    PENDING = "PENDING"
    """The job is waiting; it may already be due."""
    RUNNING = "RUNNING"
    """A worker has claimed the job."""
    SUCCEEDED = "SUCCEEDED"
    """The job was acknowledged; its body is deleted."""
    FAILED = "FAILED"
    """The job has no attempts left or was rejected; its body is kept for a manual retry."""


class Enqueued(NamedTuple):
    """The receipt for one new job."""

    job_id: str
    already_there: bool
    """
    True if the unique key was in use. Then `job_id` is the other job's id, and nothing changed.
    """


@dataclass(frozen=True, slots=True)
class Claimed:
    """A job that a worker has claimed."""

    job_id: str
    token: int
    """Identifies this claim. Ack, nack and extend work only with the current token."""
    attempt: int
    """1 for the first delivery."""
    record: bytes
    """Header and body as stored; see `pinlater.job_codec`."""
    claimed_at_ms: int = 0
    """When it was claimed, by the shard's clock."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimRequest:
    """How many jobs a worker claims, and for how long."""

    limit: int
    """Maximum number of jobs to claim, from 1 to 200."""
    timeout_ms: int
    """Claims expire after this time unless extended."""
    worker: str
    """The worker's name, stored in claims."""
    share: float = 1.0
    """This shard's fraction of the queue's rate, 0 to 1."""
    lowest: int = PRIORITIES[-1]
    """Less urgent jobs are skipped."""


@dataclass(frozen=True, slots=True)
class ClaimResult:
    """The result of one claim."""

    now_ms: int
    next_due_ms: int | None
    """When to claim again; None if no job is scheduled or the queue is paused."""
    more: bool
    """True if the claim reached its limit and due jobs remain."""
    claims: tuple[Claimed, ...]


@dataclass(frozen=True, slots=True)
class Nack:
    """How to end one claim without success."""

    job_id: str
    token: int
    step: Step = "again"
    delay_ms: int = 0
    problem: str = ""
    """The reason, stored with the job; cut to `MAX_PROBLEM_CHARACTERS`."""


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The result of one sweep."""

    now_ms: int
    returned: int
    failed: int
    deleted: int


@dataclass(frozen=True, slots=True)
class JobInfo:
    """The details of one job."""

    queue: str
    job_id: str
    state: JobState
    at_ms: int
    """When it is due (PENDING), when its claim expires (RUNNING), or when it ended."""
    name: str
    key: str
    priority: int
    created_at_ms: int
    due_at_ms: int
    """
    The due time originally requested. For a retried job, `at_ms` is the next attempt's due time.
    """
    attempts: int
    max_attempts: int
    """Maximum attempts; 0 means the queue's setting."""
    unique_key: str
    worker: str
    problem: str
    body: bytes


@dataclass(frozen=True, slots=True)
class Sizes:
    """How many jobs a queue has, by state."""

    due: int = 0
    """PENDING jobs that are due."""
    later: int = 0
    """PENDING jobs that are not yet due."""
    running: int = 0
    """RUNNING jobs: claimed, but not yet acknowledged."""
    succeeded: int = 0
    """SUCCEEDED jobs that are still kept."""
    failed: int = 0
    """FAILED jobs that are still kept."""
    by_priority: tuple[int, ...] = (0,) * len(PRIORITIES)
    """PENDING jobs of each priority."""
    oldest_due_ms: int = 0
    """How long the oldest due job has been due; 0 if no job is due."""

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


EVENTS = (
    "claimed", "deleted", "divided", "enqueued", "existing", "expired", "failed", "limited",
    "released", "restarted", "retried", "stale", "succeeded", "swept",
)  # fmt: skip
"""The job events that a queue counts, in addition to claims' lateness."""


@dataclass(frozen=True, slots=True)
class QueueStatus:
    """A queue's status, summed over all shards that answered."""

    queue: str
    sizes: Sizes
    settings: Mapping[str, float]
    stats: Mapping[str, int] = field(default_factory=dict)
    missing_shards: tuple[str, ...] = ()
    """Names of shards that did not answer and are not in the sums."""

    @property
    def paused(self) -> bool:
        return bool(self.settings.get("paused"))

    @property
    def events(self) -> dict[str, int]:
        """Return the counters of `EVENTS` since the queue was created."""
        return {name: n for name, n in self.stats.items() if not name.startswith("late")}

    def claimed_within(self, max_late_ms: int) -> int:
        """Return how many jobs were claimed at most `max_late_ms` (a bound) late."""
        return self.stats.get("claimed", 0) - self.stats.get(f"later_than_{max_late_ms}_ms", 0)

    @property
    def rate_per_s(self) -> float | None:
        """Maximum jobs per second across all workers; None means no limit."""
        return self.settings.get("rate")
