"""
The `Shard` interface to one server's queues.

`pinlater.redis_shard` stores them in Redis, `pinlater.postgres.shard` in PostgreSQL, and
`pinlater.testing.memory_shard` in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from pinlater import models

MAX_BATCH = 200
"""
Maximum number of jobs in one claim or one script call. Redis serves no other client while a script
runs (3 ms).
"""

ClaimKey = tuple[str, int]
"""A job's id and the token of its claim."""


class Shard(Protocol):
    """
    One server's queues. A queue exists once it has had a job or a setting.

    Every method raises `BrokerUnavailable` when the server does not answer or refuses. The
    operation may or may not have taken effect. Repeating it is safe, except that `enqueue` may add
    a job twice (a `unique_key` prevents this).
    """

    name: str

    def enqueue(self, queue: str, jobs: Sequence[models.NewJob]) -> list[models.Enqueued]:
        """Enqueue new jobs, in order, in one round trip for any number."""

    def collect(self, queue: str, frame: models.JobFrame, items: Sequence[models.JobItem]) -> None:
        """
        Enqueue items in one round trip. Items that are due in the same span share a job.

        A job is due with the first of its items. It accepts more items until it has
        `frame.max_items` or is claimed. It is acknowledged and retried as a whole. Items that are
        due far in the future wait in jobs of up to 100 items, which are listed and counted as
        PENDING.
        """

    def claim(self, queue: str, request: models.ClaimRequest) -> models.ClaimResult:
        """Claim due jobs by priority, then by due time. This is atomic."""

    def ack(self, queue: str, claim_keys: Sequence[ClaimKey]) -> list[bool]:
        """
        Mark jobs SUCCEEDED. Returns False for each claim that the caller no longer owned.

        It also returns False for a claim that is older than the server's start. The job is PENDING
        again, because its worker's writes may be lost, and the attempt does not count.
        """

    def nack(self, queue: str, nacks: Sequence[models.Nack]) -> list[models.JobState | None]:
        """
        End claims.

        Returns the new states, or None for each claim that the caller no longer owned.
        """

    def extend(self, queue: str, claim_keys: Sequence[ClaimKey], *, timeout_ms: int) -> list[bool]:
        """
        Extend claims to now + `timeout_ms`; returns False for each claim that the caller no longer
        owned.
        """

    def sweep(self, queue: str, *, reap_before_ms: int, limit: int = 100) -> models.SweepResult:
        """Reap claims that expired before both `reap_before_ms` and now; delete old jobs."""

    def release(self, queue: str, worker: str, ids: Sequence[str]) -> int:
        """End these jobs' claims if the worker's name has this prefix; return how many it ended."""

    def retry(self, queue: str, *, ids: Sequence[str] = (), limit: int = 0) -> int:
        """Run the named FAILED jobs again, or the `limit` oldest, and return how many."""

    def delete(
        self, queue: str, state: models.JobState, *, ids: Sequence[str] = (), limit: int = 0
    ) -> int:
        """
        Delete named jobs, or the `limit` oldest, in a state other than RUNNING.

        Returns how many it deleted.
        """

    def sizes(self, queue: str) -> models.Sizes:
        """Return the number of jobs in each state."""

    def jobs(
        self, queue: str, state: models.JobState, *, limit: int, offset: int = 0
    ) -> list[models.JobInfo]:
        """List jobs: PENDING by priority and due time, RUNNING by deadline, others latest first."""

    def jobs_by_id(
        self, queue: str, state: models.JobState, ids: Sequence[str]
    ) -> list[models.JobInfo]:
        """Return the jobs with these ids that may be in this state; their `at_ms` is 0."""

    def delayed_jobs(self, queue: str, *, limit: int) -> list[models.JobInfo]:
        """Return PENDING jobs of any priority that are not yet due, soonest first."""

    def settings(self, queue: str) -> dict[str, float]:
        """Return the settings that were changed; all others have their defaults."""

    def configure(self, queue: str, changes: Mapping[str, float | None]) -> None:
        """Change settings of a queue; None unsets one. Takes effect at the next claim."""

    def stats(self, queue: str) -> dict[str, int]:
        """Return the counters since the queue was created."""

    def ping(self) -> None:
        """Check that the server accepts writes; a server with full memory passes."""

    def queues(self) -> set[str]:
        """Return the names of the queues on this shard."""

    def drop(self, queue: str) -> None:
        """Delete a queue with all its jobs; ids and tokens are not reused."""


class ShardPoller(Protocol):
    """
    A connection of its own to one shard, which becomes readable when there may be jobs.

    Its methods raise `OSError` when the connection is lost. Not thread-safe.
    """

    connection: Any
    """The current connection, or None while disconnected. Compare it by identity."""
    waiting_since_s: float | None
    """When it last started to wait, on the monotonic clock; None while it is not waiting."""
    check_every_s: float
    """Seconds after which a queue must be checked even if this poller has not reported it."""

    @property
    def shard(self) -> ServerShard:
        """The shard that the poller belongs to."""

    @property
    def fileno(self) -> int | None:
        """Return the socket to watch; None without a connection."""

    def must_send(self, now_s: float) -> bool:
        """Return whether `send` must be called before the poller can report more jobs."""

    def is_overdue(self, now_s: float) -> bool:
        """Return whether the server has not answered for too long."""

    def send(self, queues: Sequence[str], now_s: float) -> None:
        """Start to wait for jobs of any of the queues."""

    def read(self) -> tuple[str, ...]:
        """Return the queues to check; call this when the socket is readable."""

    def drop(self) -> None:
        """Close the connection; the next `send` opens a new one."""


@runtime_checkable
class ServerShard(Shard, Protocol):
    """A shard on a server that several workers use."""

    def poller(self) -> ShardPoller:
        """Return a new poller of this shard; it does not connect yet."""

    def wake(self, queue: str) -> None:
        """Wake one waiting worker to check the queue."""

    def time_and_uptime_ms(self) -> tuple[int, int]:
        """Return the server's time and its uptime (resolution 1 s)."""

    def config_warnings(self) -> list[str]:
        """Return the server's configuration problems, with remedies; empty if there are none."""


@runtime_checkable
class UpgradableShard(Shard, Protocol):
    """A shard whose tables have a version and can be upgraded."""

    def upgrade(self, report: Callable[[str], None]) -> int:
        """
        Upgrade the tables to this program's version, and return it; `report` is called before each
        step.
        """
