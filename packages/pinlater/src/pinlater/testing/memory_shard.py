"""
`MemoryShard`, a shard in this process's memory, for tests and as a reference implementation.

Not thread-safe.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pinlater import job_codec
from pinlater.clock import Clock, SystemClock
from pinlater.models import (
    LATENESS_BOUNDS_MS,
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
    SweepResult,
)
from pinlater.shard import ClaimKey
from pinlater.testing.memory_queue import CollectedJob, MemoryQueue, MemoryQueues, StoredJob


class MemoryShard:
    """A shard in this process's memory."""

    def __init__(self, clock: Clock | None = None, *, name: str = "0") -> None:
        self.name = name
        self._clock = clock or SystemClock()
        self._queues = MemoryQueues()

    def enqueue(self, queue: str, jobs: Sequence[NewJob]) -> list[Enqueued]:
        return [self._enqueue(self._queues[queue], job) for job in jobs]

    def _enqueue(self, q: MemoryQueue, job: NewJob) -> Enqueued:
        if other := q.find_by_unique_key(job.unique_key):
            q.stats["existing"] += 1
            return Enqueued(other.job_id, already_there=True)
        job_id, now_ms = f"{q.next_number():016x}", self._clock.now_ms()
        record = job_codec.encode(job, now_ms)
        q.add(StoredJob(job_id, job, record, now_ms + job.delay_ms))
        return Enqueued(job_id, already_there=False)

    def collect(self, queue: str, frame: JobFrame, items: Sequence[JobItem]) -> None:
        # Larger jobs for items due much later would only save memory, so this shard makes none.
        for item in items:
            self._collect(self._queues[queue], frame, item)

    def _collect(self, q: MemoryQueue, frame: JobFrame, item: JobItem) -> None:
        now_ms = self._clock.now_ms()
        due_ms = now_ms + item.delay_ms
        span = (frame.priority, frame.group, due_ms // frame.span_ms)
        collected = q.collecting.get(span)
        if collected is None or not _can_collect(q, collected, frame):
            new = NewJob(b"", frame.priority, item.delay_ms, frame.max_attempts)
            job = StoredJob(f"{q.next_number():016x}", new, b"", due_ms)
            q.add(job)
            collected = q.collecting[span] = CollectedJob(job, frame, now_ms)
        collected.add(due_ms, item.data)

    def claim(self, queue: str, request: ClaimRequest) -> ClaimResult:
        q, now_ms = self._queues[queue], self._clock.now_ms()
        if q.settings.get("paused"):
            return ClaimResult(now_ms, None, more=False, claims=())
        limit, rate = request.limit, q.settings.get("rate")
        if rate is not None:
            limit = min(limit, int(q.fill_bucket(rate * request.share, request.share, now_ms)))
        candidates = [j for j in q.jobs_in(JobState.PENDING) if j.job.priority <= request.lowest]
        due = [j for j in candidates if j.at_ms <= now_ms][:limit]
        for job in due:
            late_ms = now_ms - job.at_ms
            q.stats["late_ms"] += late_ms
            q.stats.update(
                f"later_than_{bound}_ms" for bound in LATENESS_BOUNDS_MS if late_ms > bound
            )
            job.state, job.at_ms = JobState.RUNNING, now_ms + request.timeout_ms
            job.token = q.next_number()
            job.attempts, job.claimed_at_ms, job.worker = job.attempts + 1, now_ms, request.worker
        q.stats["claimed"] += len(due)
        next_due_ms = min(
            (j.at_ms for j in candidates if j.state is JobState.PENDING), default=None
        )
        more = next_due_ms is not None and next_due_ms <= now_ms
        if rate is not None and q.tokens is not None:
            q.tokens -= len(due)
            if more and q.tokens < 1:
                q.stats["limited"] += 1
                more = False
                next_due_ms = now_ms + math.ceil((1 - q.tokens) * 1000 / (rate * request.share))
        claims = tuple(Claimed(j.job_id, j.token, j.attempts, j.record, now_ms) for j in due)
        return ClaimResult(now_ms, next_due_ms, more, claims)

    def ack(self, queue: str, claim_keys: Sequence[ClaimKey]) -> list[bool]:
        q, accepted = self._queues[queue], []
        if not claim_keys:
            return []
        for job_id, token in claim_keys:
            job = q.find_claimed(job_id, token)
            if job:
                q.finish(job, JobState.SUCCEEDED, "", self._clock.now_ms())
            accepted.append(job is not None)
        delete_limit = 2 * sum(accepted) + 1
        q.delete_old(JobState.SUCCEEDED, delete_limit, self._clock.now_ms())
        return accepted

    def nack(self, queue: str, nacks: Sequence[Nack]) -> list[JobState | None]:
        q = self._queues[queue]
        states: list[JobState | None] = []
        for nack in nacks:
            job = q.find_claimed(nack.job_id, nack.token)
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
                counts=nack.step != "release",
            )
            q.stats["retried"] += state is JobState.PENDING and nack.step != "release"
            states.append(state)
        return states

    def extend(self, queue: str, claim_keys: Sequence[ClaimKey], *, timeout_ms: int) -> list[bool]:
        q, extended = self._queues[queue], []
        for job_id, token in claim_keys:
            job = q.find_claimed(job_id, token, stale=0)
            if job:
                job.at_ms = self._clock.now_ms() + timeout_ms
            extended.append(job is not None)
        return extended

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> SweepResult:
        q, now_ms = self._queues[queue], self._clock.now_ms()
        expired = [
            j for j in q.jobs_in(JobState.RUNNING) if j.at_ms <= min(now_ms, reap_before_ms)
        ][:limit]
        states = [q.end_attempt(job, f"claim timed out: {job.worker}", now_ms) for job in expired]
        q.stats["expired"] += len(states)
        deleted = q.delete_old(JobState.SUCCEEDED, limit, now_ms)
        deleted += q.delete_old(JobState.FAILED, limit, now_ms)
        returned, failed = states.count(JobState.PENDING), states.count(JobState.FAILED)
        return SweepResult(now_ms, returned, failed, deleted)

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        q = self._queues[queue]
        dead = [
            j
            for j in q.jobs_in(JobState.RUNNING)
            if j.job_id in ids and j.worker.startswith(worker)
        ]
        for job in dead:
            q.end_attempt(job, f"its worker died: {job.worker}", self._clock.now_ms())
        q.stats["expired"] += len(dead)
        return len(dead)

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        q = self._queues[queue]
        jobs = q.select_jobs(JobState.FAILED, ids, limit)
        jobs = [job for job in jobs if self._retry(q, job)]
        return len(jobs)

    def _retry(self, q: MemoryQueue, job: StoredJob) -> bool:
        if q.find_by_unique_key(job.job.unique_key):
            return False
        job.state, job.at_ms, job.attempts = JobState.PENDING, self._clock.now_ms(), 0
        job.token, job.worker, job.problem = 0, "", ""
        return True

    def delete(
        self, queue: str, state: JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        q = self._queues[queue]
        jobs = [] if state is JobState.RUNNING else q.select_jobs(state, ids, limit)
        for job in jobs:
            del q.jobs[job.job_id]
        q.stats["deleted"] += len(jobs)
        return len(jobs)

    def jobs(self, queue: str, state: JobState, *, limit: int, offset: int = 0) -> list[JobInfo]:
        jobs = self._queues[queue].jobs_in(state)
        if state in (JobState.SUCCEEDED, JobState.FAILED):
            jobs.reverse()
        return [self._info(queue, job) for job in jobs[offset : offset + limit]]

    def jobs_by_id(self, queue: str, state: JobState, ids: Sequence[str]) -> list[JobInfo]:
        jobs = self._queues[queue].jobs_in(state)
        return [replace(self._info(queue, job), at_ms=0) for job in jobs if job.job_id in ids]

    def delayed_jobs(self, queue: str, *, limit: int) -> list[JobInfo]:
        now_ms = self._clock.now_ms()
        jobs = [job for job in self._queues[queue].jobs_in(JobState.PENDING) if job.at_ms > now_ms]
        jobs.sort(key=lambda job: job.at_ms)
        return [self._info(queue, job) for job in jobs[:limit]]

    @staticmethod
    def _info(queue: str, job: StoredJob) -> JobInfo:
        position = job_codec.JobPosition(queue, job.job_id, job.state, job.at_ms)
        entry = f"{job.token}|{job.attempts}|{job.claimed_at_ms}|{job_codec.escape(job.worker)}|"
        info = job_codec.unfinished_job(position, job.record, (entry + job.problem).encode())
        if job.state is JobState.SUCCEEDED:
            match = job_codec.HEADER.match(job.record)
            header = job.record[: match.end()] if match else b""
            return job_codec.unfinished_job(position, header, (entry + job.problem).encode())
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


def _can_collect(q: MemoryQueue, collected: CollectedJob, frame: JobFrame) -> bool:
    job = collected.job
    return job.job_id in q.jobs and not job.claimed_at_ms and len(collected.items) < frame.max_items
