"""The queues of `MemoryShard`: jobs by state, settings and sizes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

from pinlater import job_codec
from pinlater.models import (
    PRIORITIES,
    JobFrame,
    JobState,
    NewJob,
    Sizes,
)
from pinlater.retry_policy import RetryPolicy
from pinlater.shard import MAX_BATCH

DEFAULTS = {
    "keep_succeeded_ms": 86_400_000.0,
    "keep_succeeded_max": 100_000.0,
    "keep_failed_ms": 604_800_000.0,
    "keep_failed_max": 1_000_000.0,
}
"""Queue settings' defaults; the Lua scripts contain the same values."""


@dataclass(slots=True)
class StoredJob:
    """A job and its state. Jobs in the same state are sorted by `at_ms`."""

    job_id: str
    job: NewJob
    record: bytes
    at_ms: int
    state: JobState = JobState.PENDING
    token: int = 0
    """The token of its current or last claim; 0 if not claimed since it became PENDING."""
    attempts: int = 0
    claimed_at_ms: int = 0
    """When it was last claimed; 0 if never."""
    worker: str = ""
    problem: str = ""


@dataclass(slots=True)
class CollectedJob:
    """A job that collects items."""

    job: StoredJob
    frame: JobFrame
    created_ms: int
    items: list[tuple[int, bytes]] = field(default_factory=list)
    """Due time (ms) and data of each item."""

    def add(self, due_ms: int, data: bytes) -> None:
        """Add an item. The job is due with its first item."""
        self.items.append((due_ms, data))
        self.job.at_ms = min(self.job.at_ms, due_ms)
        first_due_ms = self.created_ms + self.job.job.delay_ms
        self.job.record = job_codec.encode_collected(
            self.frame, self.items, self.created_ms, first_due_ms
        )


@dataclass(slots=True)
class MemoryQueue:
    """One queue. Times are in ms, by the shard's clock."""

    jobs: dict[str, StoredJob] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    stats: Counter[str] = field(default_factory=Counter)
    last_number: int = 0
    """The last number given to a job or a claim."""
    tokens: float | None = None
    """The tokens in the rate limit's bucket; None if never used."""
    filled_at_ms: int = 0
    collecting: dict[tuple[int, str, int], CollectedJob] = field(default_factory=dict)
    """The job that collects new items, by priority, group and span."""

    def jobs_in(self, state: JobState) -> list[StoredJob]:
        jobs = [j for j in self.jobs.values() if j.state is state]
        by_priority = state is JobState.PENDING
        return sorted(jobs, key=lambda j: (j.job.priority * by_priority, j.at_ms, j.job_id))

    def select_jobs(self, state: JobState, ids: Sequence[str], limit: int) -> list[StoredJob]:
        """Return the jobs of a state with these ids or, without ids, the first `limit`."""
        jobs = self.jobs_in(state)
        return [j for j in jobs if j.job_id in ids] if ids else jobs[: min(limit, MAX_BATCH)]

    def find_by_unique_key(self, unique_key: str) -> StoredJob | None:
        unfinished = (
            j for j in self.jobs.values() if j.state in (JobState.PENDING, JobState.RUNNING)
        )
        return next((j for j in unfinished if unique_key and j.job.unique_key == unique_key), None)

    def find_claimed(self, job_id: str, token: int, *, stale: int = 1) -> StoredJob | None:
        """Return a valid claim's job; otherwise count `stale` and return None."""
        job = self.jobs.get(job_id)
        if job and job.state is JobState.RUNNING and job.token == token:
            return job
        self.stats["stale"] += stale
        return None

    def setting(self, name: str) -> float:
        return self.settings.get(name, DEFAULTS[name])

    def next_number(self) -> int:
        self.last_number += 1
        return self.last_number

    def add(self, job: StoredJob) -> None:
        self.jobs[job.job_id] = job
        self.stats["enqueued"] += 1

    def fill_bucket(self, rate: float, share: float, now_ms: int) -> float:
        burst = max(1.0, self.settings["burst"] * share if "burst" in self.settings else rate / 4)
        previous = burst if self.tokens is None else self.tokens
        elapsed_ms = max(0, now_ms - self.filled_at_ms)
        self.tokens, self.filled_at_ms = min(burst, previous + elapsed_ms * rate / 1000), now_ms
        return self.tokens

    def finish(self, job: StoredJob, state: JobState, problem: str, now_ms: int) -> None:
        job.state, job.at_ms, job.problem = state, now_ms, problem
        self.stats[state.lower()] += 1

    def end_attempt(
        self, job: StoredJob, problem: str, now_ms: int, *, delay_ms: int = 0, fail: bool = False,
        counts: bool = True,
    ) -> JobState:  # fmt: skip
        """Make a job PENDING again or FAILED, according to its retry policy. Returns its state."""
        policy = RetryPolicy.of(self.settings, job.job.name)
        age_ms = now_ms + delay_ms - job_codec.decode(job.record).created_at_ms
        is_too_old = counts and 0 < policy.max_age_ms < age_ms
        if fail or is_too_old or job.attempts >= (job.job.max_attempts or policy.max_attempts):
            self.finish(job, JobState.FAILED, job_codec.shorten_problem(problem), now_ms)
        else:
            job.state, job.at_ms = JobState.PENDING, now_ms + delay_ms
            job.token, job.worker, job.problem = 0, "", job_codec.shorten_problem(problem)
        return job.state

    def delete_old(self, state: JobState, limit: int, now_ms: int) -> int:
        """Delete ended jobs that are too old or too many, oldest first; return how many."""
        ended = self.jobs_in(state)
        before_ms = now_ms - self.setting(f"keep_{state.lower()}_ms")
        old_count = sum(j.at_ms < before_ms for j in ended)
        excess = len(ended) - int(self.setting(f"keep_{state.lower()}_max"))
        expired = ended[: min(limit, max(old_count, excess, 0))]
        for job in expired:
            del self.jobs[job.job_id]
        self.stats["swept"] += len(expired)
        return len(expired)

    def sizes(self, now_ms: int) -> Sizes:
        pending = self.jobs_in(JobState.PENDING)
        due = [j for j in pending if j.at_ms <= now_ms]
        return Sizes(
            due=len(due),
            later=len(pending) - len(due),
            running=len(self.jobs_in(JobState.RUNNING)),
            succeeded=len(self.jobs_in(JobState.SUCCEEDED)),
            failed=len(self.jobs_in(JobState.FAILED)),
            by_priority=tuple(sum(j.job.priority == p for j in pending) for p in PRIORITIES),
            oldest_due_ms=now_ms - min((j.at_ms for j in due), default=now_ms),
        )


class MemoryQueues(defaultdict[str, MemoryQueue]):
    """Queues by name. A dropped queue that is created again continues its numbers."""

    def __init__(self) -> None:
        super().__init__(MemoryQueue)
        self._last: dict[str, int] = {}

    def __missing__(self, name: str) -> MemoryQueue:
        self[name] = queue = MemoryQueue(last_number=self._last.get(name, 0))
        return queue

    def drop(self, name: str) -> None:
        dropped = self.pop(name, None)
        if dropped is not None:
            self._last[name] = dropped.last_number
