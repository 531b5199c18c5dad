"""
`MemoryShard`: an in-memory `RedisShard` for tests, and a reference for each operation.

It works in one process and one thread, and takes its time from the given clock.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aragog.clock import Clock, SystemClock
from aragog.pinlater.models import (
    LATENESS_BOUNDS_MS,
    PRIORITIES,
    ClaimAnswer,
    Claimed,
    ClaimRequest,
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
from aragog.pinlater.shards import job_codec
from aragog.pinlater.shards.shard import MAX_BATCH, Hold

DEFAULTS = {
    "max_attempts": 10.0,
    "keep_succeeded_ms": 86_400_000.0,
    "keep_succeeded_max": 100_000.0,
    "keep_failed_ms": 604_800_000.0,
    "keep_failed_max": 1_000_000.0,
}
"""The default of each queue setting; the Lua scripts contain the same values."""


@dataclass(slots=True)
class _Job:
    """A job and its state; `at_ms` orders the jobs of a state."""

    job_id: str
    job: NewJob
    record: bytes
    state: JobState
    at_ms: int
    token: int = 0
    attempts: int = 0
    since_ms: int = 0
    worker: str = ""
    problem: str = ""
    created_ms: int = 0
    frame: JobFrame | None = None
    items: list[tuple[int, bytes]] = field(default_factory=list)
    """Of a job that collects items: when each is due, and its data."""


@dataclass(slots=True)
class _Queue:
    jobs: dict[str, _Job] = field(default_factory=dict)
    settings: dict[str, float] = field(default_factory=dict)
    stats: Counter[str] = field(default_factory=Counter)
    last: int = 0
    tokens: float | None = None
    filled_at_ms: int = 0
    collecting: dict[tuple[int, str, int], _Job] = field(default_factory=dict)
    """By priority, group and span: the job that takes its items."""

    def of(self, state: JobState) -> list[_Job]:
        """Return the jobs of a state, soonest first."""
        found = [j for j in self.jobs.values() if j.state is state]
        priority = state is JobState.PENDING
        return sorted(found, key=lambda j: (j.job.priority * priority, j.at_ms, j.job_id))

    def setting(self, name: str) -> float:
        return self.settings.get(name, DEFAULTS[name])


class _Queues(defaultdict[str, _Queue]):
    """Queues by name; a dropped queue continues its id counter when it is created again."""

    def __init__(self, last: Mapping[str, int]) -> None:
        super().__init__(_Queue)
        self._last = last

    def __missing__(self, name: str) -> _Queue:
        self[name] = queue = _Queue(last=self._last.get(name, 0))
        return queue


class MemoryShard:
    """A shard in the memory of this process."""

    def __init__(self, clock: Clock | None = None, *, name: str = "0") -> None:
        self.name = name
        self._clock = clock or SystemClock()
        self._last: dict[str, int] = {}
        """The last id of each dropped queue."""
        self._queues = _Queues(self._last)

    def enqueue(self, queue: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return [self._enqueue(self._queues[queue], job) for job in jobs]

    def _enqueue(self, q: _Queue, job: NewJob) -> Enqueued:
        if other := self._holder(q, job.unique_key):
            q.stats["existing"] += 1
            return Enqueued(other.job_id, already_there=True)
        q.last += 1
        job_id, now_ms = f"{q.last:016x}", self._clock.now_ms()
        record = job_codec.encode(job, now_ms)
        q.jobs[job_id] = _Job(job_id, job, record, JobState.PENDING, now_ms + job.delay_ms)
        q.stats["enqueued"] += 1
        return Enqueued(job_id, already_there=False)

    def collect(self, queue: str, frame: JobFrame, items: Sequence[JobItem]) -> None:
        # Without the wide jobs of the Redis shard, which only save memory.
        for item in items:
            self._collect(self._queues[queue], frame, item)

    def _collect(self, q: _Queue, frame: JobFrame, item: JobItem) -> None:
        now_ms = self._clock.now_ms()
        due_ms = now_ms + item.delay_ms
        span = (frame.priority, frame.group, due_ms // frame.span_ms)
        job = q.collecting.get(span)
        # Deleted, claimed once, or full: the next job of the span takes the item.
        if job is None or job.job_id not in q.jobs or job.since_ms or len(job.items) >= frame.most:
            q.last += 1
            new = NewJob(b"", frame.priority, item.delay_ms, frame.max_attempts)
            job = _Job(f"{q.last:016x}", new, b"", JobState.PENDING, due_ms)
            job.created_ms, job.frame = now_ms, frame
            q.jobs[job.job_id] = q.collecting[span] = job
            q.stats["enqueued"] += 1
        job.items.append((due_ms, item.data))
        job.at_ms = min(job.at_ms, due_ms)
        job.record = job_codec.encode_collected(
            job.frame or frame, job.items, job.created_ms, job.created_ms + job.job.delay_ms
        )

    @staticmethod
    def _holder(q: _Queue, unique_key: str) -> _Job | None:
        """Return the waiting or running job with this unique key."""
        alive = (j for j in q.jobs.values() if j.state in (JobState.PENDING, JobState.RUNNING))
        return next((j for j in alive if unique_key and j.job.unique_key == unique_key), None)

    def claim(self, queue: str, request: ClaimRequest) -> ClaimAnswer:
        q, now_ms = self._queues[queue], self._clock.now_ms()
        if q.settings.get("paused"):
            return ClaimAnswer(now_ms, None, more=False, claims=())
        limit, rate = request.limit, q.settings.get("rate")
        if rate is not None:
            limit = min(limit, int(self._fill(q, rate * request.share, request.share, now_ms)))
        offered = [j for j in q.of(JobState.PENDING) if j.job.priority <= request.lowest]
        due = [j for j in offered if j.at_ms <= now_ms][:limit]
        for job in due:
            late_ms = now_ms - job.at_ms
            q.stats["late_ms"] += late_ms
            q.stats.update(
                f"later_than_{bound}_ms" for bound in LATENESS_BOUNDS_MS if late_ms > bound
            )
            q.last += 1
            job.state, job.at_ms, job.token = JobState.RUNNING, now_ms + request.timeout_ms, q.last
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
        return ClaimAnswer(now_ms, next_due_ms, more, claims)

    def _fill(self, q: _Queue, rate: float, share: float, now_ms: int) -> float:
        """Return the current number of tokens in the bucket."""
        burst = max(1.0, q.settings["burst"] * share if "burst" in q.settings else rate / 4)
        before = burst if q.tokens is None else q.tokens
        passed_ms = max(0, now_ms - q.filled_at_ms)
        q.tokens, q.filled_at_ms = min(burst, before + passed_ms * rate / 1000), now_ms
        return q.tokens

    @staticmethod
    def _held(q: _Queue, job_id: str, token: int, *, stale: int = 1) -> _Job | None:
        job = q.jobs.get(job_id)
        if job and job.state is JobState.RUNNING and job.token == token:
            return job
        q.stats["stale"] += stale
        return None

    def ack(self, queue: str, held: Sequence[Hold]) -> list[bool]:
        q, answers = self._queues[queue], []
        if not held:
            return []
        for job_id, token in held:
            job = self._held(q, job_id, token)
            if job:
                self._finish(q, job, JobState.SUCCEEDED, "")
            answers.append(job is not None)
        room = 2 * sum(answers) + 1
        self._forget(q, JobState.SUCCEEDED, "succeeded", room)
        return answers

    def _finish(self, q: _Queue, job: _Job, state: JobState, problem: str) -> None:
        job.state, job.at_ms, job.problem = state, self._clock.now_ms(), problem
        q.stats[state.lower()] += 1

    def nack(self, queue: str, nacks: Sequence[Nack]) -> list[JobState | None]:
        q = self._queues[queue]
        states: list[JobState | None] = []
        for nack in nacks:
            job = self._held(q, nack.job_id, nack.token)
            if job is None:
                states.append(None)
                continue
            if nack.step == "release":
                job.attempts -= 1
                q.stats["released"] += 1
            state = self._again(q, job, nack.delay_ms, nack.problem, fail=nack.step == "fail")
            q.stats["retried"] += state is JobState.PENDING and nack.step != "release"
            states.append(state)
        return states

    def _again(
        self, q: _Queue, job: _Job, delay_ms: int, problem: str, *, fail: bool = False
    ) -> JobState:
        allowed = job.job.max_attempts or q.setting("max_attempts")
        if fail or job.attempts >= allowed:
            self._finish(q, job, JobState.FAILED, job_codec.cut(problem))
        else:
            job.state, job.at_ms = JobState.PENDING, self._clock.now_ms() + delay_ms
            job.token, job.worker, job.problem = 0, "", job_codec.cut(problem)
        return job.state

    def extend(self, queue: str, held: Sequence[Hold], *, timeout_ms: int) -> list[bool]:
        q, answers = self._queues[queue], []
        for job_id, token in held:
            job = self._held(q, job_id, token, stale=0)
            if job:
                job.at_ms = self._clock.now_ms() + timeout_ms
            answers.append(job is not None)
        return answers

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> Swept:
        q, now_ms = self._queues[queue], self._clock.now_ms()
        late = [j for j in q.of(JobState.RUNNING) if j.at_ms <= min(now_ms, reap_before_ms)][:limit]
        ends = [self._again(q, job, 0, f"claim timed out: {job.worker}") for job in late]
        q.stats["expired"] += len(ends)
        forgotten = self._forget(q, JobState.SUCCEEDED, "succeeded", limit)
        forgotten += self._forget(q, JobState.FAILED, "failed", limit)
        return Swept(now_ms, ends.count(JobState.PENDING), ends.count(JobState.FAILED), forgotten)

    def _forget(self, q: _Queue, state: JobState, name: str, limit: int) -> int:
        ended = q.of(state)
        before_ms = self._clock.now_ms() - q.setting(f"keep_{name}_ms")
        old = sum(j.at_ms < before_ms for j in ended)
        over = len(ended) - int(q.setting(f"keep_{name}_max"))
        gone = ended[: min(limit, max(old, over, 0))]
        for job in gone:
            del q.jobs[job.job_id]
        q.stats["swept"] += len(gone)
        return len(gone)

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        q = self._queues[queue]
        dead = [
            j for j in q.of(JobState.RUNNING) if j.job_id in ids and j.worker.startswith(worker)
        ]
        for job in dead:
            self._again(q, job, 0, f"its worker died: {job.worker}")
        q.stats["expired"] += len(dead)
        return len(dead)

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        q = self._queues[queue]
        jobs = self._named(q, JobState.FAILED, ids, limit)
        jobs = [job for job in jobs if self._retry(q, job)]
        return len(jobs)

    def _retry(self, q: _Queue, job: _Job) -> bool:
        if self._holder(q, job.job.unique_key):
            return False
        job.state, job.at_ms, job.attempts = JobState.PENDING, self._clock.now_ms(), 0
        job.token, job.worker, job.problem = 0, "", ""
        return True

    def delete(
        self, queue: str, state: JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        q = self._queues[queue]
        jobs = [] if state is JobState.RUNNING else self._named(q, state, ids, limit)
        for job in jobs:
            del q.jobs[job.job_id]
        q.stats["deleted"] += len(jobs)
        return len(jobs)

    @staticmethod
    def _named(q: _Queue, state: JobState, ids: Sequence[str], limit: int) -> list[_Job]:
        jobs = q.of(state)
        return [j for j in jobs if j.job_id in ids] if ids else jobs[: min(limit, MAX_BATCH)]

    def sizes(self, queue: str) -> Sizes:
        q, now_ms = self._queues[queue], self._clock.now_ms()
        pending = q.of(JobState.PENDING)
        due = [j for j in pending if j.at_ms <= now_ms]
        return Sizes(
            due=len(due),
            later=len(pending) - len(due),
            running=len(q.of(JobState.RUNNING)),
            succeeded=len(q.of(JobState.SUCCEEDED)),
            failed=len(q.of(JobState.FAILED)),
            by_priority=tuple(sum(j.job.priority == p for j in pending) for p in PRIORITIES),
            oldest_due_ms=now_ms - min((j.at_ms for j in due), default=now_ms),
        )

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
    def _info(queue: str, job: _Job) -> JobInfo:
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

    def queues(self) -> set[str]:
        return set(self._queues)

    def drop(self, queue: str) -> None:
        dropped = self._queues.pop(queue, None)
        if dropped is not None:
            self._last[queue] = dropped.last
