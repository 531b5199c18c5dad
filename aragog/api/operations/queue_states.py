"""Read and change the state of job queues, for the operations in `job_administration.py`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from aragog.api.operations.jobs import Jobs, parse_job_id, public_body, public_job_id
from aragog.api.operations.queue_doors import DoorQueue
from aragog.errors import AccessDenied, InvalidMessage
from pinlater.admin import Admin
from pinlater.job_body import JobBody
from pinlater.models import JobInfo, JobState, Sizes
from pinlater.retry_policy import RetryPolicy


@dataclass(frozen=True, slots=True)
class QueueState:
    """A queue's job counts by state, its rate, and its retry policy."""

    queue: str
    paused: bool
    rate: float | None
    """Maximum jobs per second across all workers, or None if unlimited."""
    due: int
    """Number of PENDING jobs that are due."""
    later: int
    """Number of PENDING jobs that are not due yet."""
    running: int
    succeeded: int
    """Number of SUCCEEDED jobs that are still remembered."""
    failed: int
    """Number of FAILED jobs that are still kept."""
    oldest_due_ms: int
    """Time since the oldest due job became due, or 0 if none is due."""
    max_attempts: int
    linear_attempts: int
    retry_step_ms: int
    retry_growth: float
    retry_cap_ms: int
    max_age_ms: int
    missing_shards: tuple[str, ...] = ()
    """Servers that did not respond. Their jobs are not counted."""


@dataclass(frozen=True, slots=True)
class KeptJob:
    """A job, as `list_jobs` returns it."""

    job_id: str
    state: str
    at_ms: int
    """When the job is due (PENDING), when its claim expires (RUNNING), or when it ended."""
    name: str
    """The job type."""
    priority: int
    created_at_ms: int
    attempts: int
    unique_key: str
    worker: str
    problem: str
    """Why its last attempt failed."""
    body: bytes
    """The job's body, which is empty if the job has SUCCEEDED."""
    content_type: str


class QueueStates:
    """
    The queues that a door (interface) may use, including jobs that older versions left in them.

    Methods raise AccessDenied if the door may not use a queue, and BrokerUnavailable if no server
    responds or a change did not reach all servers.

    Args:
        jobs: the queues.
        door: `http`, `thrift`, or empty for Python.
    """

    def __init__(self, jobs: Jobs, door: str) -> None:
        self._jobs = jobs
        self._door = door
        self._admin = Admin(jobs.cluster)

    def _sources(self, queue: str) -> list[DoorQueue]:
        return self._jobs.doors.queues_to_read(queue, self._door)

    def state(self, queue: str) -> QueueState | None:
        if queue not in self._jobs.doors.open_queues(self._door):
            if queue in self._admin.queues():
                raise AccessDenied(f"queue {queue} is not open to other programs")
            return None
        return self._state(queue)

    def _state(self, queue: str) -> QueueState:
        sizes, missing = Sizes(), list[str]()
        for source in self._sources(queue):
            status = self._admin.status(source.broker_name)
            sizes += status.sizes
            missing += status.missing_shards
        policy = asdict(RetryPolicy.of(status.settings))
        del policy["retry_jitter"]
        return QueueState(
            queue=queue,
            paused=status.paused,
            rate=status.rate_per_s,
            due=sizes.due,
            later=sizes.later,
            running=sizes.running,
            succeeded=sizes.succeeded,
            failed=sizes.failed,
            oldest_due_ms=sizes.oldest_due_ms,
            missing_shards=tuple(sorted(set(missing))),
            **policy,
        )

    def jobs(self, queue: str, state: JobState, limit: int) -> list[KeptJob]:
        jobs = [
            _convert_job(job, source)
            for source in self._sources(queue)
            for job in self._admin.jobs(source.broker_name, state, limit=limit)
        ]
        return jobs[:limit]

    def retry(self, queue: str, ids: Sequence[str]) -> int:
        if ids:
            groups = self._group_by_queue(queue, ids)
            return sum(self._admin.retry(name, job_ids) for name, job_ids in groups.items())
        return sum(self._admin.retry(source.broker_name) for source in self._sources(queue))

    def delete(self, queue: str, state: JobState, ids: Sequence[str]) -> int:
        if ids:
            groups = self._group_by_queue(queue, ids)
            return sum(self._admin.delete(name, state, job_ids) for name, job_ids in groups.items())
        names = [source.broker_name for source in self._sources(queue)]
        return sum(self._admin.delete(name, state) for name in names)

    def _group_by_queue(self, queue: str, ids: Sequence[str]) -> dict[str, list[str]]:
        groups = defaultdict[str, list[str]](list)
        for job_id in ids:
            location = parse_job_id(job_id, queue)
            groups[location.broker_name].append(f"{location.shard}-{location.id}")
        self._sources(queue)
        return groups

    def configure(
        self,
        queue: str,
        *,
        paused: bool | None,
        rate: float | None,
        retry: str,
        job_type: str,
        policy: Mapping[str, float],
    ) -> QueueState:
        """Change the settings of a queue and of its predecessor from older versions."""
        changes: dict[str, float | None] = {}
        if paused is not None:
            changes["paused"] = 1 if paused else None
        if rate is not None:
            changes |= {"rate": rate or None, "burst": None}
        retry_settings: dict[str, float | None] = {**policy}
        if retry == "default":
            retry_settings = {**dict.fromkeys(RetryPolicy.fields()), **retry_settings}
        for source in self._sources(queue):
            if changes:
                self._admin.configure(source.broker_name, **changes)
            if retry_settings or retry:
                policy_name = "" if retry == "default" else retry
                self._admin.set_retry_policy(
                    source.broker_name, policy_name, job_type=job_type, **retry_settings
                )
        return self._state(queue)


def _convert_job(job: JobInfo, source: DoorQueue) -> KeptJob:
    try:
        body = public_body(job.body, source) if job.body else JobBody(b"")
    except InvalidMessage:
        body = JobBody(job.body)
    return KeptJob(
        job_id=public_job_id(job.job_id, source),
        state=job.state.value,
        at_ms=job.at_ms,
        name=job.name,
        priority=job.priority,
        created_at_ms=job.created_at_ms,
        attempts=job.attempts,
        unique_key=job.unique_key,
        worker=job.worker,
        problem=job.problem,
        body=body.data,
        content_type=body.content_type,
    )
