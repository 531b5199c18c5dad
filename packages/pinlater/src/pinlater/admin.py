"""
Queue administration without a restart.

Operations run on all shards that answer; `status` names the others. Long operations run in steps of
200 jobs per shard and report progress after each step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeVar

from pinlater.brokers import shard_urls
from pinlater.cluster import Cluster, connect_shards
from pinlater.errors import BrokerUnavailable, InvalidArgument
from pinlater.models import JobInfo, JobState, QueueStatus, Sizes
from pinlater.queue_settings import check_settings, rate_settings
from pinlater.retry_policy import RetryPolicy
from pinlater.shard import MAX_BATCH, Shard, UpgradableShard

BeforeDelete = Callable[[str, Sequence[JobInfo]], None]
"""
Called with a queue and jobs before the jobs are deleted. A worker may still start one of them.
"""
Progress = Callable[[int], None]
"""Called after each step with its number of jobs."""
T = TypeVar("T")


def _ignore_progress(_count: int) -> None:
    """Do nothing."""


class Admin:
    """
    Administers the queues of one pinlater cluster.

    >>> from pinlater.cluster import Cluster
    >>> from pinlater.models import JobState, NewJob
    >>> from pinlater.testing.memory_shard import MemoryShard
    >>> cluster = Cluster([MemoryShard()])
    >>> _ = cluster.enqueue("mail", [NewJob(b"hello", name="greet", delay_ms=60_000)])
    >>> admin = Admin(cluster)
    >>> admin.pause("mail")
    >>> admin.status("mail").sizes.later
    1
    >>> [(job.name, job.priority) for job in admin.jobs("mail", JobState.PENDING)]
    [('greet', 0)]

    Methods raise `BrokerUnavailable` if no shard answers or a change did not reach all shards.
    """

    def __init__(self, cluster: Cluster, before_delete: BeforeDelete | None = None) -> None:
        self.cluster = cluster
        self._before_delete = before_delete

    @classmethod
    def connect(
        cls,
        broker_url: str,
        shards: Sequence[str] = (),
        *,
        prefix: str = "",
        before_delete: BeforeDelete | None = None,
    ) -> Admin:
        """
        Create an `Admin` for a broker URL, without connecting.

        Args:
            broker_url: a `pinlater://` URL in any of its forms.
            shards: URLs of more servers, as for `celery_settings`.
            prefix: `global_keyprefix` of the transport.
            before_delete: called with jobs before they are deleted.

        Raises:
            InvalidConfig: the URL belongs to another broker.
        """
        cluster = Cluster(connect_shards((*shard_urls(broker_url), *shards), prefix=prefix))
        return cls(cluster, before_delete)

    def _call_shards(self, operation: Callable[[Shard], T]) -> tuple[dict[str, T], tuple[str, ...]]:
        results: dict[str, T] = {}
        missing: list[str] = []
        last_error: BrokerUnavailable | None = None
        for shard in self.cluster.shards:
            try:
                with self.cluster.track(shard):
                    results[shard.name] = operation(shard)
            except BrokerUnavailable as error:
                missing.append(shard.name)
                last_error = error
        if last_error and not results:
            raise last_error
        return results, tuple(missing)

    def _change_shards(self, operation: Callable[[Shard], T]) -> None:
        _, missing = self._call_shards(operation)
        if missing:
            raise BrokerUnavailable(
                f"shards {', '.join(missing)}", "did not apply the change; the others did"
            )

    def upgrade(self, report: Callable[[str], None] = lambda _: None) -> dict[str, int]:
        """
        Upgrade PostgreSQL shards' tables to this program's version. Workers may keep running.

        Returns the version by shard name, without Redis shards, because their keys contain the
        version.

        Args:
            report: called with a line of text before each step. A step may take a long time.

        Raises:
            BrokerUnavailable: a shard does not answer, refuses, or has a newer version. Shards
                before it are already upgraded.
        """
        versions: dict[str, int] = {}
        for shard in self.cluster.shards:
            if isinstance(shard, UpgradableShard):
                report(f"checking shard {shard.name}")
                versions[shard.name] = shard.upgrade(report)
        return versions

    def queues(self) -> list[str]:
        """Return the names of all queues, sorted."""
        names, _ = self._call_shards(lambda shard: shard.queues())
        return sorted(set().union(*names.values()))

    def status(self, queue: str) -> QueueStatus:
        """Return a queue's status; sizes and counters are summed over the shards."""
        statuses, missing = self._call_shards(
            lambda s: (s.sizes(queue), s.settings(queue), s.stats(queue)),
        )
        sizes, settings, stats = Sizes(), dict[str, float](), dict[str, int]()
        for size, setting, stat in statuses.values():
            sizes += size
            settings |= setting
            for name, count in stat.items():
                stats[name] = stats.get(name, 0) + count
        return QueueStatus(queue, sizes, settings, stats, missing)

    def statuses(self) -> list[QueueStatus]:
        return [self.status(queue) for queue in self.queues()]

    def pause(self, queue: str) -> None:
        """
        Stop delivering jobs until `resume`.

        New jobs are still accepted, and running jobs continue.
        """
        self._change_shards(lambda shard: shard.configure(queue, {"paused": 1}))

    def resume(self, queue: str) -> None:
        self._change_shards(lambda shard: shard.configure(queue, {"paused": None}))

    def limit(self, queue: str, rate_per_s: float | None, burst: float | None = None) -> None:
        """Limit the jobs per second across all workers; None removes the limit."""
        changes = rate_settings(rate_per_s, burst)
        self._change_shards(lambda shard: shard.configure(queue, changes))

    def configure(self, queue: str, **changes: float | None) -> None:
        """Change settings from `queue_settings.SETTINGS`; None restores a default."""
        check_settings(changes)
        self._change_shards(lambda shard: shard.configure(queue, changes))

    def retry_policy(self, queue: str, job_type: str = "") -> RetryPolicy:
        """Return the retry policy of a queue, or of one job type in it."""
        return RetryPolicy.of(self.status(queue).settings, job_type)

    def set_retry_policy(
        self, queue: str, word: str = "", *, job_type: str = "", **changes: float | None
    ) -> None:
        """
        Change the retry policy of a queue, or of one job type in it; effective immediately.

        Args:
            queue: the queue's name.
            word: a policy in `RetryPolicy.PRESETS`, such as `pinlater`, which replaces the whole
                policy before `changes` apply. If empty, the current policy is kept.
            job_type: the job type to change; if empty, all types without their own policy.
            changes: fields of `RetryPolicy`; None restores the default, or for a job type the
                queue's value.

        Raises:
            InvalidArgument: an unknown policy or field.
        """
        if word:
            preset = RetryPolicy.PRESETS.get(word)
            if preset is None:
                words = ", ".join(RetryPolicy.PRESETS)
                raise InvalidArgument(f"{word}: not a retry policy; use {words}")
            changes = {**dict.fromkeys(RetryPolicy.fields()), **preset, **changes}
        self.configure(queue, **RetryPolicy.settings(changes, job_type))

    def jobs(self, queue: str, state: JobState, *, limit: int = 50) -> list[JobInfo]:
        """
        Return up to `limit` jobs in a state, sorted by priority and time.

        Jobs that have ended are sorted by time only, latest first.
        """
        pages, _ = self._call_shards(lambda shard: shard.jobs(queue, state, limit=limit))
        jobs = [
            replace(job, job_id=f"{name}-{job.job_id}")
            for name, page in pages.items()
            for job in page
        ]
        has_ended = state in (JobState.SUCCEEDED, JobState.FAILED)
        jobs.sort(key=lambda job: (job.priority * (not has_ended), job.at_ms), reverse=has_ended)
        return jobs[:limit]

    def find(self, queue: str, key: str, *, scan_limit: int = 10_000) -> JobInfo | None:
        """
        Return the job with this id or key (the id of a Celery task), or None.

        Reads up to `scan_limit` jobs in each state, so it is meant for people, not programs.
        """
        for state in JobState:
            for job in self.jobs(queue, state, limit=scan_limit):
                if key in (job.job_id, job.key):
                    return job
        return None

    def purge(self, queue: str, *, progress: Progress = _ignore_progress) -> int:
        """Delete all PENDING jobs; return how many."""
        return self.delete(queue, JobState.PENDING, progress=progress)

    def retry(
        self, queue: str, ids: Sequence[str] = (), *, progress: Progress = _ignore_progress
    ) -> int:
        """Run the FAILED jobs with these ids again, or all FAILED jobs; return how many."""
        if ids:
            return self._sum_over_shards(
                ids, lambda shard, shard_ids: shard.retry(queue, ids=shard_ids)
            )
        return self._run_in_steps(
            queue, JobState.FAILED, progress, lambda shard, n: shard.retry(queue, limit=n)
        )

    def delete(
        self,
        queue: str,
        state: JobState,
        ids: Sequence[str] = (),
        *,
        progress: Progress = _ignore_progress,
    ) -> int:
        """
        Delete jobs in a state, all of them or only those with these ids; return how many.

        Raises:
            InvalidArgument: the state is RUNNING.
        """
        if state is JobState.RUNNING:
            raise InvalidArgument("state: a RUNNING job cannot be deleted; revoke its task instead")
        if ids:
            return self._sum_over_shards(
                ids, lambda shard, shard_ids: self._delete(shard, queue, state, shard_ids)
            )

        def delete_step(shard: Shard, limit: int) -> int:
            return delete_some(shard, queue, state, limit, self._before_delete)

        return self._run_in_steps(queue, state, progress, delete_step)

    def _delete(self, shard: Shard, queue: str, state: JobState, ids: list[str]) -> int:
        if not ids:
            return 0
        if self._before_delete is not None:
            self._before_delete(queue, shard.jobs_by_id(queue, state, ids))
        return shard.delete(queue, state, ids=ids)

    def release(self, worker: str) -> int:
        """
        Return a dead worker's jobs to their queues immediately; return how many.

        The attempts count. Use this only after the process has ended, because a live process's jobs
        would run twice.

        Args:
            worker: the start of the worker's name in `jobs`: `host:pid:` (see `worker_name`).
        """
        if worker.count(":") < 2:
            raise InvalidArgument(f"worker: {worker!r} is not host:pid:…, as RUNNING jobs show it")
        total = 0

        def release_on(shard: Shard) -> None:
            nonlocal total
            for queue in shard.queues():
                running = shard.jobs(
                    queue, JobState.RUNNING, limit=count_jobs(shard.sizes(queue), JobState.RUNNING)
                )
                ids = [job.job_id for job in running if job.worker.startswith(worker)]
                total += shard.release(queue, worker, ids) if ids else 0

        self._change_shards(release_on)
        return total

    def _sum_over_shards(
        self, ids: Sequence[str], operation: Callable[[Shard, list[str]], int]
    ) -> int:
        total = 0
        for shard, shard_ids in self._group_by_shard(ids):
            for start in range(0, len(shard_ids), MAX_BATCH):
                total += operation(shard, shard_ids[start : start + MAX_BATCH])
        return total

    def _group_by_shard(self, ids: Sequence[str]) -> Iterator[tuple[Shard, list[str]]]:
        ids_by_shard: dict[str, list[str]] = {}
        for job_id in ids:
            name, dash, shard_job_id = job_id.rpartition("-")
            if not dash or self.cluster.find(name) is None:
                raise InvalidArgument(
                    f"job id: {job_id!r} is not <shard>-<number>, as `jobs` shows it"
                )
            ids_by_shard.setdefault(name, []).append(shard_job_id)
        return ((s, ids_by_shard[s.name]) for s in self.cluster.shards if s.name in ids_by_shard)

    def _run_in_steps(
        self,
        queue: str,
        state: JobState,
        progress: Progress,
        operation: Callable[[Shard, int], int],
    ) -> int:
        total = 0

        def run_on(shard: Shard) -> None:
            nonlocal total
            # Only current jobs. A job that fails again would cause an endless loop.
            remaining = count_jobs(shard.sizes(queue), state)
            while remaining > 0 and (done := operation(shard, min(remaining, MAX_BATCH))):
                remaining -= done
                total += done
                progress(done)

        self._change_shards(run_on)
        return total

    def messages(self, queues: Sequence[str]) -> list[dict[str, str | int]]:
        result: list[dict[str, str | int]] = []
        for queue in queues:
            sizes = self.status(queue).sizes
            result.append(
                {
                    "name": queue,
                    "messages": sizes.pending + sizes.running,
                    "messages_ready": sizes.pending,
                    "messages_due": sizes.due,
                    "messages_later": sizes.later,
                    "messages_unacknowledged": sizes.running,
                }
            )
        return result


def delete_some(
    shard: Shard, queue: str, state: JobState, limit: int, before_delete: BeforeDelete | None
) -> int:
    """Delete up to `limit` (1 to 200) jobs, not in state RUNNING; return how many."""
    if before_delete is None:
        return shard.delete(queue, state, limit=limit)
    jobs = shard.jobs(queue, state, limit=limit)
    if not jobs:
        return 0
    before_delete(queue, jobs)
    return shard.delete(queue, state, ids=[job.job_id for job in jobs])


def count_jobs(sizes: Sizes, state: JobState) -> int:
    """Return the number of jobs in a state."""
    return {
        JobState.PENDING: sizes.pending,
        JobState.RUNNING: sizes.running,
        JobState.SUCCEEDED: sizes.succeeded,
        JobState.FAILED: sizes.failed,
    }[state]
