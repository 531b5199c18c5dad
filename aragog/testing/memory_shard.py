"""
`MemoryShard`: a shard in the memory of this process, for tests, and a reference for each operation.

It works in one thread, and takes its time from the given clock.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aragog.clock import Clock, SystemClock
from aragog.pinlater import job_codec
from aragog.pinlater.models import (
    LATENESS_BOUNDS_MS,
    PRIORITIES,
    Claimed,
    ClaimRequest,
    ClaimResult,
    Enqueued,
    JobFrame,
    JobInfo,
    JobItem,
    JobState,
    Nack,
    NewJob,
    Sizes,
    Swept,
)
from aragog.pinlater.shard import MAX_BATCH, Hold

DEFAULTS = {
    "max_attempts": 10.0,
    "keep_succeeded_ms": 86_400_000.0,
    "keep_succeeded_max": 100_000.0,
    "keep_failed_ms": 604_800_000.0,
    "keep_failed_max": 1_000_000.0,
}
"""The default of each queue setting; the Lua scripts contain the same values."""


@dataclass(slots=True)
class StoredJob:
    """A job and its state; `at_ms` orders the jobs of a state."""

    job_id: str
    job: NewJob
    record: bytes
    at_ms: int
    state: JobState = JobState.PENDING
    token: int = 0
    """The token of its claim, or of the last one; 0: it was not claimed since it became PENDING."""
    attempts: int = 0
    since_ms: int = 0
    """When it was claimed last; 0: never."""
    worker: str = ""
    problem: str = ""


@dataclass(slots=True)
class Collected:
    """The items of a job that collects them."""

    job: StoredJob
    frame: JobFrame
    created_ms: int
    items: list[tuple[int, bytes]] = field(default_factory=list)
    """When each is due, and its data."""

    def add(self, due_ms: int, data: bytes) -> None:
        """Add an item; the job is due with the first of its items."""
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
    last: int = 0
    """The last number that a job or a claim got."""
    tokens: float | None = None
    """The tokens in the bucket of its rate limit; None: the bucket was not used yet."""
    filled_at_ms: int = 0
    collecting: dict[tuple[int, str, int], Collected] = field(default_factory=dict)
    """What takes the items of a priority, a group and a span."""

    def of(self, state: JobState) -> list[StoredJob]:
        """Return the jobs of a state, soonest first."""
        jobs = [j for j in self.jobs.values() if j.state is state]
        priority = state is JobState.PENDING
        return sorted(jobs, key=lambda j: (j.job.priority * priority, j.at_ms, j.job_id))

    def named(self, state: JobState, ids: Sequence[str], limit: int) -> list[StoredJob]:
        """Return the jobs of a state with these ids, or the first `limit` if there are no ids."""
        jobs = self.of(state)
        return [j for j in jobs if j.job_id in ids] if ids else jobs[: min(limit, MAX_BATCH)]

    def holder(self, unique_key: str) -> StoredJob | None:
        """Return the waiting or running job with this unique key."""
        alive = (j for j in self.jobs.values() if j.state in (JobState.PENDING, JobState.RUNNING))
        return next((j for j in alive if unique_key and j.job.unique_key == unique_key), None)

    def claimed(self, job_id: str, token: int, *, stale: int = 1) -> StoredJob | None:
        """Return the job of a claim that is in force; otherwise count `stale` and return None."""
        job = self.jobs.get(job_id)
        if job and job.state is JobState.RUNNING and job.token == token:
            return job
        self.stats["stale"] += stale
        return None

    def setting(self, name: str) -> float:
        return self.settings.get(name, DEFAULTS[name])

    def next_number(self) -> int:
        self.last += 1
        return self.last

    def add(self, job: StoredJob) -> None:
        self.jobs[job.job_id] = job
        self.stats["enqueued"] += 1

    def fill_bucket(self, rate: float, share: float, now_ms: int) -> float:
        """Return the number of tokens that the bucket has now."""
        burst = max(1.0, self.settings["burst"] * share if "burst" in self.settings else rate / 4)
        before = burst if self.tokens is None else self.tokens
        passed_ms = max(0, now_ms - self.filled_at_ms)
        self.tokens, self.filled_at_ms = min(burst, before + passed_ms * rate / 1000), now_ms
        return self.tokens

    def finish(self, job: StoredJob, state: JobState, problem: str, now_ms: int) -> None:
        """End a job as SUCCEEDED or FAILED."""
        job.state, job.at_ms, job.problem = state, now_ms, problem
        self.stats[state.lower()] += 1

    def end_attempt(
        self, job: StoredJob, problem: str, now_ms: int, *, delay_ms: int = 0, fail: bool = False
    ) -> JobState:
        """Make a job PENDING again, or FAILED if no attempt is left; returns its state."""
        allowed = job.job.max_attempts or self.setting("max_attempts")
        if fail or job.attempts >= allowed:
            self.finish(job, JobState.FAILED, job_codec.cut(problem), now_ms)
        else:
            job.state, job.at_ms = JobState.PENDING, now_ms + delay_ms
            job.token, job.worker, job.problem = 0, "", job_codec.cut(problem)
        return job.state

    def forget(self, state: JobState, limit: int, now_ms: int) -> int:
        """Delete ended jobs that are too old or too many, the oldest first; returns how many."""
        ended = self.of(state)
        before_ms = now_ms - self.setting(f"keep_{state.lower()}_ms")
        old = sum(j.at_ms < before_ms for j in ended)
        over = len(ended) - int(self.setting(f"keep_{state.lower()}_max"))
        expired = ended[: min(limit, max(old, over, 0))]
        for job in expired:
            del self.jobs[job.job_id]
        self.stats["swept"] += len(expired)
        return len(expired)

    def sizes(self, now_ms: int) -> Sizes:
        pending = self.of(JobState.PENDING)
        due = [j for j in pending if j.at_ms <= now_ms]
        return Sizes(
            due=len(due),
            later=len(pending) - len(due),
            running=len(self.of(JobState.RUNNING)),
            succeeded=len(self.of(JobState.SUCCEEDED)),
            failed=len(self.of(JobState.FAILED)),
            by_priority=tuple(sum(j.job.priority == p for j in pending) for p in PRIORITIES),
            oldest_due_ms=now_ms - min((j.at_ms for j in due), default=now_ms),
        )


class MemoryQueues(defaultdict[str, MemoryQueue]):
    """Queues by name; a dropped queue continues its numbers when it is created again."""

    def __init__(self) -> None:
        super().__init__(MemoryQueue)
        self._last: dict[str, int] = {}

    def __missing__(self, name: str) -> MemoryQueue:
        self[name] = queue = MemoryQueue(last=self._last.get(name, 0))
        return queue

    def drop(self, name: str) -> None:
        dropped = self.pop(name, None)
        if dropped is not None:
            self._last[name] = dropped.last


class MemoryShard:
    """A shard in the memory of this process."""

    def __init__(self, clock: Clock | None = None, *, name: str = "0") -> None:
        self.name = name
        self._clock = clock or SystemClock()
        self._queues = MemoryQueues()

    def enqueue(self, queue: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return [self._enqueue(self._queues[queue], job) for job in jobs]

    def _enqueue(self, q: MemoryQueue, job: NewJob) -> Enqueued:
        if other := q.holder(job.unique_key):
            q.stats["existing"] += 1
            return Enqueued(other.job_id, already_there=True)
        job_id, now_ms = f"{q.next_number():016x}", self._clock.now_ms()
        record = job_codec.encode(job, now_ms)
        q.add(StoredJob(job_id, job, record, now_ms + job.delay_ms))
        return Enqueued(job_id, already_there=False)

    def collect(self, queue: str, frame: JobFrame, items: Sequence[JobItem]) -> None:
        # Without the wide jobs of the Redis shard, which only save memory.
        for item in items:
            self._collect(self._queues[queue], frame, item)

    def _collect(self, q: MemoryQueue, frame: JobFrame, item: JobItem) -> None:
        now_ms = self._clock.now_ms()
        due_ms = now_ms + item.delay_ms
        span = (frame.priority, frame.group, due_ms // frame.span_ms)
        taker = q.collecting.get(span)
        if taker is None or not _takes_more(q, taker, frame):
            new = NewJob(b"", frame.priority, item.delay_ms, frame.max_attempts)
            job = StoredJob(f"{q.next_number():016x}", new, b"", due_ms)
            q.add(job)
            taker = q.collecting[span] = Collected(job, frame, now_ms)
        taker.add(due_ms, item.data)

    def claim(self, queue: str, request: ClaimRequest) -> ClaimResult:
        q, now_ms = self._queues[queue], self._clock.now_ms()
        if q.settings.get("paused"):
            return ClaimResult(now_ms, None, more=False, claims=())
        limit, rate = request.limit, q.settings.get("rate")
        if rate is not None:
            limit = min(limit, int(q.fill_bucket(rate * request.share, request.share, now_ms)))
        offered = [j for j in q.of(JobState.PENDING) if j.job.priority <= request.lowest]
        due = [j for j in offered if j.at_ms <= now_ms][:limit]
        for job in due:
            late_ms = now_ms - job.at_ms
            q.stats["late_ms"] += late_ms
            q.stats.update(
                f"later_than_{bound}_ms" for bound in LATENESS_BOUNDS_MS if late_ms > bound
            )
            job.state, job.at_ms = JobState.RUNNING, now_ms + request.timeout_ms
            job.token = q.next_number()
            job.attempts, job.since_ms, job.worker = job.attempts + 1, now_ms, request.worker
        q.stats["claimed"] += len(due)
        next_due_ms = min((j.at_ms for j in offered if j.state is JobState.PENDING), default=None)
        more = next_due_ms is not None and next_due_ms <= now_ms
        if rate is not None and q.tokens is not None:
            q.tokens -= len(due)
            if more and q.tokens < 1:
                q.stats["limited"] += 1
                more = False
                next_due_ms = now_ms + math.ceil((1 - q.tokens) * 1000 / (rate * request.share))
        claims = tuple(Claimed(j.job_id, j.token, j.attempts, j.record) for j in due)
        return ClaimResult(now_ms, next_due_ms, more, claims)

    def ack(self, queue: str, holds: Sequence[Hold]) -> list[bool]:
        q, accepted = self._queues[queue], []
        if not holds:
            return []
        for job_id, token in holds:
            job = q.claimed(job_id, token)
            if job:
                q.finish(job, JobState.SUCCEEDED, "", self._clock.now_ms())
            accepted.append(job is not None)
        room = 2 * sum(accepted) + 1
        q.forget(JobState.SUCCEEDED, room, self._clock.now_ms())
        return accepted

    def nack(self, queue: str, nacks: Sequence[Nack]) -> list[JobState | None]:
        q = self._queues[queue]
        states: list[JobState | None] = []
        for nack in nacks:
            job = q.claimed(nack.job_id, nack.token)
            if job is None:
                states.append(None)
                continue
            if nack.step == "release":
                job.attempts -= 1
                q.stats["released"] += 1
            state = q.end_attempt(
                job,
                nack.problem,
                self._clock.now_ms(),
                delay_ms=nack.delay_ms,
                fail=nack.step == "fail",
            )
            q.stats["retried"] += state is JobState.PENDING and nack.step != "release"
            states.append(state)
        return states

    def extend(self, queue: str, holds: Sequence[Hold], *, timeout_ms: int) -> list[bool]:
        q, extended = self._queues[queue], []
        for job_id, token in holds:
            job = q.claimed(job_id, token, stale=0)
            if job:
                job.at_ms = self._clock.now_ms() + timeout_ms
            extended.append(job is not None)
        return extended

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> Swept:
        q, now_ms = self._queues[queue], self._clock.now_ms()
        late = [j for j in q.of(JobState.RUNNING) if j.at_ms <= min(now_ms, reap_before_ms)][:limit]
        ends = [q.end_attempt(job, f"claim timed out: {job.worker}", now_ms) for job in late]
        q.stats["expired"] += len(ends)
        forgotten = q.forget(JobState.SUCCEEDED, limit, now_ms)
        forgotten += q.forget(JobState.FAILED, limit, now_ms)
        return Swept(now_ms, ends.count(JobState.PENDING), ends.count(JobState.FAILED), forgotten)

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        q = self._queues[queue]
        dead = [
            j for j in q.of(JobState.RUNNING) if j.job_id in ids and j.worker.startswith(worker)
        ]
        for job in dead:
            q.end_attempt(job, f"its worker died: {job.worker}", self._clock.now_ms())
        q.stats["expired"] += len(dead)
        return len(dead)

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        q = self._queues[queue]
        jobs = q.named(JobState.FAILED, ids, limit)
        jobs = [job for job in jobs if self._retry(q, job)]
        return len(jobs)

    def _retry(self, q: MemoryQueue, job: StoredJob) -> bool:
        if q.holder(job.job.unique_key):
            return False
        job.state, job.at_ms, job.attempts = JobState.PENDING, self._clock.now_ms(), 0
        job.token, job.worker, job.problem = 0, "", ""
        return True

    def delete(
        self, queue: str, state: JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        q = self._queues[queue]
        jobs = [] if state is JobState.RUNNING else q.named(state, ids, limit)
        for job in jobs:
            del q.jobs[job.job_id]
        q.stats["deleted"] += len(jobs)
        return len(jobs)

    def jobs(self, queue: str, state: JobState, *, limit: int, offset: int = 0) -> list[JobInfo]:
        jobs = self._queues[queue].of(state)
        if state in (JobState.SUCCEEDED, JobState.FAILED):
            jobs.reverse()
        return [self._info(queue, job) for job in jobs[offset : offset + limit]]

    def named(self, queue: str, state: JobState, ids: Sequence[str]) -> list[JobInfo]:
        jobs = self._queues[queue].of(state)
        return [replace(self._info(queue, job), at_ms=0) for job in jobs if job.job_id in ids]

    def later(self, queue: str, *, limit: int) -> list[JobInfo]:
        now_ms = self._clock.now_ms()
        jobs = [job for job in self._queues[queue].of(JobState.PENDING) if job.at_ms > now_ms]
        jobs.sort(key=lambda job: job.at_ms)
        return [self._info(queue, job) for job in jobs[:limit]]

    @staticmethod
    def _info(queue: str, job: StoredJob) -> JobInfo:
        place = job_codec.JobPosition(queue, job.job_id, job.state, job.at_ms)
        line = f"{job.token}|{job.attempts}|{job.since_ms}|{job_codec.escape(job.worker)}|"
        info = job_codec.waiting(place, job.record, (line + job.problem).encode())
        if job.state is JobState.SUCCEEDED:
            match = job_codec.HEADER.match(job.record)
            head = job.record[: match.end()] if match else b""
            return job_codec.waiting(place, head, (line + job.problem).encode())
        return info

    def settings(self, queue: str) -> dict[str, float]:
        return dict(self._queues[queue].settings)

    def configure(self, queue: str, changes: Mapping[str, float | None]) -> None:
        q = self._queues[queue]
        for name, value in changes.items():
            if value is None:
                q.settings.pop(name, None)
            else:
                q.settings[name] = float(value)
        if "rate" in changes or "burst" in changes:
            q.tokens, q.filled_at_ms = None, 0

    def stats(self, queue: str) -> dict[str, int]:
        return {name: n for name, n in self._queues[queue].stats.items() if n}

    def ping(self) -> None:
        pass

    def queues(self) -> set[str]:
        return set(self._queues)

    def sizes(self, queue: str) -> Sizes:
        return self._queues[queue].sizes(self._clock.now_ms())

    def drop(self, queue: str) -> None:
        self._queues.drop(queue)


def _takes_more(q: MemoryQueue, taker: Collected, frame: JobFrame) -> bool:
    """False if the job was deleted or claimed once, or is full."""
    job = taker.job
    return job.job_id in q.jobs and not job.since_ms and len(taker.items) < frame.most
