"""
What an operator does to queues: look, pause, limit, purge, retry, delete. All of it is live.

Everything is asked of all shards that answer; which ones did not is part of the answer. Long work
goes in steps of 200 jobs a shard and reports each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import TypeVar

from aragog.errors import BadInput, BrokerUnavailable
from aragog.pinlater.address import redis_urls
from aragog.pinlater.cluster import Cluster, connect_shards
from aragog.pinlater.models import JobInfo, JobState, QueueStatus, Sizes
from aragog.pinlater.policy import RetryPolicy
from aragog.pinlater.shard import MAX_BATCH, Shard

SETTINGS: Mapping[str, str] = {
    "paused": "1: nothing is handed out",
    "rate": "jobs handed out a second, over all workers and shards",
    "burst": "jobs handed out at once after a lull; default a quarter of a second's worth",
    "keep_succeeded_ms": "how long a finished job is remembered; default a day",
    "keep_succeeded_max": "how many finished jobs a shard remembers; default 100,000",
    "keep_failed_ms": "how long a failed job is kept; default 7 days",
    "keep_failed_max": "how many failed jobs a shard keeps; default 1,000,000",
    **{field.name: f"retry policy; default {field.default:g}" for field in fields(RetryPolicy)},
}
"""What `configure` takes, each with its meaning."""

BeforeDelete = Callable[[str, Sequence[JobInfo]], None]
"""Told of jobs, and their queue, that are about to be deleted; one of them may yet begin to run."""
Progress = Callable[[int], None]
"""Told after each step how many jobs it was for."""
T = TypeVar("T")


def _quiet(_count: int) -> None:
    """Report to nobody."""


class Admin:
    """
    The queues of one job layer.

    Methods raise `BrokerUnavailable` when no shard answers, or when a change did not reach all.
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
        The queues behind a broker URL; nothing is sent yet.

        Args:
            broker_url: of `pinlater://`, in any of its forms.
            shards: further Redis URLs, as in `broker.shards`.
            prefix: `global_keyprefix` of the transport.
            before_delete: where an application keeps its own books on jobs.

        Raises:
            ConfigError: the URL is of another broker.
        """
        cluster = Cluster(connect_shards((*redis_urls(broker_url), *shards), prefix=prefix))
        return cls(cluster, before_delete)

    def _ask(self, what: Callable[[Shard], T]) -> tuple[dict[str, T], tuple[str, ...]]:
        """Answers by shard name, and the shards that gave none."""
        answers: dict[str, T] = {}
        missing: list[str] = []
        problem: BrokerUnavailable | None = None
        for shard in self.cluster.shards:
            try:
                with self.cluster.watched(shard):
                    answers[shard.name] = what(shard)
            except BrokerUnavailable as error:
                missing.append(shard.name)
                problem = error
        if problem and not answers:
            raise problem
        return answers, tuple(missing)

    def _tell(self, what: Callable[[Shard], T]) -> None:
        _, missing = self._ask(what)
        if missing:
            raise BrokerUnavailable(
                f"shards {', '.join(missing)}", "did not hear of the change; the others did"
            )

    def queues(self) -> list[str]:
        """Names of all queues, in order."""
        names, _ = self._ask(lambda shard: shard.queues())
        return sorted(set().union(*names.values()))

    def status(self, queue: str) -> QueueStatus:
        """One queue; sizes and counters are sums over the shards."""
        answers, missing = self._ask(
            lambda s: (s.sizes(queue), s.settings(queue), s.stats(queue)),
        )
        sizes, settings, stats = Sizes(), dict[str, float](), dict[str, int]()
        for size, setting, stat in answers.values():
            sizes += size
            settings |= setting
            for name, count in stat.items():
                stats[name] = stats.get(name, 0) + count
        return QueueStatus(queue, sizes, settings, stats, missing)

    def statuses(self) -> list[QueueStatus]:
        """Every queue."""
        return [self.status(queue) for queue in self.queues()]

    def pause(self, queue: str) -> None:
        """Hand out nothing until `resume`; what is enqueued waits, what runs goes on."""
        self._tell(lambda shard: shard.configure(queue, {"paused": 1}))

    def resume(self, queue: str) -> None:
        """Hand out jobs again, at once."""
        self._tell(lambda shard: shard.configure(queue, {"paused": None}))

    def limit(self, queue: str, rate_per_s: float | None, burst: float | None = None) -> None:
        """At most so many jobs a second over all workers; None: as fast as they can."""
        if rate_per_s is not None and rate_per_s <= 0:
            raise BadInput("rate: must be above 0; pause the queue to stop it")
        self._tell(lambda shard: shard.configure(queue, {"rate": rate_per_s, "burst": burst}))

    def configure(self, queue: str, **changes: float | None) -> None:
        """Set, or with None unset, any of `SETTINGS`."""
        unknown = changes.keys() - SETTINGS.keys()
        if unknown:
            known = ", ".join(SETTINGS)
            raise BadInput(
                f"{', '.join(sorted(unknown))}: no setting of a queue; there are {known}"
            )
        self._tell(lambda shard: shard.configure(queue, changes))

    def jobs(self, queue: str, state: JobState, *, limit: int = 50) -> list[JobInfo]:
        """Up to `limit` jobs of a state; the soonest, or of ended ones the latest, first."""
        pages, _ = self._ask(lambda shard: shard.jobs(queue, state, limit=limit))
        found = [
            replace(job, job_id=f"{name}-{job.job_id}")
            for name, page in pages.items()
            for job in page
        ]
        late = state in (JobState.SUCCEEDED, JobState.FAILED)
        found.sort(key=lambda job: (job.priority * (not late), job.at_ms), reverse=late)
        return found[:limit]

    def find(self, queue: str, key: str, *, look_at: int = 10_000) -> JobInfo | None:
        """
        The job with this id, or with this key (a task's id), looked for among `look_at` of each
        state; a search reads them all, so it is for people, not for programs.
        """
        for state in JobState:
            for job in self.jobs(queue, state, limit=look_at):
                if key in (job.job_id, job.key):
                    return job
        return None

    def purge(self, queue: str, *, progress: Progress = _quiet) -> int:
        """Delete all PENDING jobs; how many."""
        return self.delete(queue, JobState.PENDING, progress=progress)

    def retry(self, queue: str, ids: Sequence[str] = (), *, progress: Progress = _quiet) -> int:
        """FAILED jobs run again: those named, or all that are FAILED now. How many."""
        if ids:
            return self._of_shards(ids, lambda shard, own: shard.retry(queue, ids=own))
        return self._in_steps(
            queue, JobState.FAILED, progress, lambda shard, n: shard.retry(queue, limit=n)
        )

    def delete(
        self, queue: str, state: JobState, ids: Sequence[str] = (), *, progress: Progress = _quiet
    ) -> int:
        """Forget jobs of a state: those named, or all. RUNNING ones are their workers'."""
        if state is JobState.RUNNING:
            raise BadInput("state: a RUNNING job cannot be deleted; revoke its task instead")
        if ids:
            return self._of_shards(ids, lambda shard, own: self._delete(shard, queue, state, own))

        def step(shard: Shard, most: int) -> int:
            if self._before_delete is None:
                return shard.delete(queue, state, limit=most)
            found = shard.jobs(queue, state, limit=most)
            return self._delete(shard, queue, state, [job.job_id for job in found])

        return self._in_steps(queue, state, progress, step)

    def _delete(self, shard: Shard, queue: str, state: JobState, ids: list[str]) -> int:
        if not ids:
            return 0
        if self._before_delete is not None:
            self._before_delete(queue, shard.named(queue, state, ids))
        return shard.delete(queue, state, ids=ids)

    def release(self, worker: str) -> int:
        """
        Give back at once what a dead worker held, in all queues; the attempts count. How many jobs.

        Only for a process that has ended: what a living one is at work on would run twice.

        Args:
            worker: how its name begins, as `jobs` shows it: `host:pid:` (`claims.worker_name`).
        """
        if worker.count(":") < 2:
            raise BadInput(f"worker: {worker!r} is not host:pid:…, as RUNNING jobs show it")
        total = 0

        def work(shard: Shard) -> None:
            nonlocal total
            for queue in shard.queues():
                held = shard.jobs(
                    queue, JobState.RUNNING, limit=count_of(shard.sizes(queue), JobState.RUNNING)
                )
                own = [job.job_id for job in held if job.worker.startswith(worker)]
                total += shard.release(queue, worker, own) if own else 0

        self._tell(work)
        return total

    def _of_shards(self, ids: Sequence[str], act: Callable[[Shard, list[str]], int]) -> int:
        done = 0
        for shard, own in self._by_shard(ids):
            for at in range(0, len(own), MAX_BATCH):
                done += act(shard, own[at : at + MAX_BATCH])
        return done

    def _by_shard(self, ids: Sequence[str]) -> Iterator[tuple[Shard, list[str]]]:
        own: dict[str, list[str]] = {}
        for job_id in ids:
            name, dash, local = job_id.rpartition("-")
            if not dash or self.cluster.find(name) is None:
                raise BadInput(f"job id: {job_id!r} is not <shard>-<number>, as `jobs` shows it")
            own.setdefault(name, []).append(local)
        return ((s, own[s.name]) for s in self.cluster.shards if s.name in own)

    def _in_steps(
        self, queue: str, state: JobState, progress: Progress, act: Callable[[Shard, int], int]
    ) -> int:
        total = 0

        def work(shard: Shard) -> None:
            nonlocal total
            # Only what is there now: a job that fails again meanwhile is not chased in a circle.
            left = count_of(shard.sizes(queue), state)
            while left > 0 and (done := act(shard, min(left, MAX_BATCH))):
                left -= done
                total += done
                progress(done)

        self._tell(work)
        return total

    def messages(self, queues: Sequence[str]) -> list[dict[str, str | int]]:
        """Queues as Flower lists them: name and messages, ready and unacknowledged."""
        found: list[dict[str, str | int]] = []
        for queue in queues:
            sizes = self.status(queue).sizes
            found.append(
                {
                    "name": queue,
                    "messages": sizes.pending + sizes.running,
                    "messages_ready": sizes.pending,
                    "messages_unacknowledged": sizes.running,
                }
            )
        return found


def count_of(sizes: Sizes, state: JobState) -> int:
    """The number of jobs in a state."""
    return {
        JobState.PENDING: sizes.pending,
        JobState.RUNNING: sizes.running,
        JobState.SUCCEEDED: sizes.succeeded,
        JobState.FAILED: sizes.failed,
    }[state]
