"""The `Shard` interface to one server's queues."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pinlater import models

MAX_BATCH = 200
"""
Maximum jobs in one claim or script call. Redis serves no other client while a script runs (3 ms).
"""

ClaimKey = tuple[str, int]
"""A job's id and the token of its claim."""


class Shard(Protocol):
    """
    One server's queues. A queue exists once it has had a job or a setting.

    Every method raises `BrokerUnavailable` when the server does not answer or refuses. The
    operation may have taken effect. Repeating it is safe, but `enqueue` may add a job twice (a
    `unique_key` prevents this).
    """

    name: str

    def enqueue(self, queue: str, jobs: Sequence[models.NewJob]) -> list[models.Enqueued]:
        """Enqueue new jobs, in order, in one round trip."""

    def collect(self, queue: str, frame: models.JobFrame, items: Sequence[models.JobItem]) -> None:
        """
        Enqueue items in one round trip. Items that are due in the same span share a job.

        A job is due with its first item. It accepts more items until it has `frame.max_items` or is
        claimed. It is acknowledged and retried as a whole. Items due far in the future wait in jobs
        of up to 100 items, which count as PENDING.
        """

    def claim(self, queue: str, request: models.ClaimRequest) -> models.ClaimResult:
        """Claim due jobs by priority, then by due time. Atomic."""

    def ack(self, queue: str, claim_keys: Sequence[ClaimKey]) -> list[bool]:
        """
        Mark jobs SUCCEEDED. Returns False for each claim that the caller had lost.

        Also returns False for claims from before the server's start. Their jobs become PENDING
        again, because the worker's writes may be lost, and the attempts do not count.
        """

    def nack(self, queue: str, nacks: Sequence[models.Nack]) -> list[models.JobState | None]:
        """
        End claims.

        Returns the new states; None for each claim that the caller had lost.
        """

    def extend(self, queue: str, claim_keys: Sequence[ClaimKey], *, timeout_ms: int) -> list[bool]:
        """Extend claims to now + `timeout_ms`. Returns False for each lost claim."""

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> models.SweepResult:
        """Reap claims that expired before both `reap_before_ms` and now; delete old jobs."""

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        """End these jobs' claims if the worker's name has this prefix; return how many."""

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        """Run these FAILED jobs again, or the `limit` oldest; return how many."""

    def delete(
        self, queue: str, state: models.JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        """Delete these jobs, or the `limit` oldest, but never RUNNING ones; return how many."""

    def sizes(self, queue: str) -> models.Sizes:
        """Return the number of jobs in each state."""

    def jobs(
        self, queue: str, state: models.JobState, *, limit: int, offset: int = 0
    ) -> list[models.JobInfo]:
        """List jobs: PENDING by priority and due time, RUNNING by deadline, others latest first."""

    def jobs_by_id(
        self, queue: str, state: models.JobState, ids: Sequence[str]
    ) -> list[models.JobInfo]:
        """Return the jobs with these ids, with `at_ms` 0. Some may be in another state."""

    def delayed_jobs(self, queue: str, *, limit: int) -> list[models.JobInfo]:
        """Return PENDING jobs of any priority that are not yet due, soonest first."""

    def settings(self, queue: str) -> dict[str, float]:
        """Return the changed settings. All others have their defaults."""

    def configure(self, queue: str, changes: Mapping[str, float | None]) -> None:
        """Change a queue's settings; None restores a default. Takes effect at the next claim."""

    def stats(self, queue: str) -> dict[str, int]:
        """Return the counters since the queue was created."""

    def ping(self) -> None:
        """Check that the server accepts writes; a server with full memory passes."""

    def queues(self) -> set[str]:
        """Return the queues' names."""

    def drop(self, queue: str) -> None:
        """Delete a queue with its jobs. Ids and tokens are not reused."""


class ShardPoller(Protocol):
    """
    A separate connection to one shard, which becomes readable when there may be jobs.

    Methods raise `OSError` when the connection is lost. Not thread-safe.
    """

    connection: Any
    """The current connection; None while disconnected. Compare it by identity."""
    waiting_since_s: float | None
    """When it last started to wait, on the monotonic clock; None while not waiting."""
    check_every_s: float
    """A queue must be checked after this many seconds even if the poller has not reported it."""

    @property
    def shard(self) -> ServerShard:
        """The shard that the poller belongs to."""

    @property
    def fileno(self) -> int | None:
        """Return the socket to watch; None if disconnected."""

    def must_send(self, now_s: float) -> bool:
        """Return whether more jobs are reported only after another `send`."""

    def is_overdue(self, now_s: float) -> bool:
        """Return whether the server has not answered for too long."""

    def send(self, queues: Sequence[str], now_s: float) -> None:
        """Start to wait for jobs of any of the queues."""

    def read(self) -> tuple[str, ...]:
        """Return the queues to check. Call this when the socket is readable."""

    def drop(self) -> None:
        """Close the connection; the next `send` opens a new one."""


@runtime_checkable
class ServerShard(Shard, Protocol):
    """A shard on a server that several workers use."""

    def poller(self) -> ShardPoller:
        """Return a new, disconnected poller."""

    def wake(self, queue: str) -> None:
        """Wake one waiting worker to check the queue."""

    def time_and_uptime_ms(self) -> tuple[int, int]:
        """Return the server's time, and its uptime (on Redis in whole seconds)."""

    def config_warnings(self) -> list[str]:
        """Return the server's configuration problems, with remedies."""


@runtime_checkable
class UpgradableShard(Shard, Protocol):
    """A shard whose tables have a version and can be upgraded."""

    def upgrade(self, report: Callable[[str], None]) -> int:
        """
        Upgrade the tables to this program's version, and return it. Calls `report` before each
        step.
        """
