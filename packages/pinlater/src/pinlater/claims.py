"""
The claims that this process holds.

Claims belong to the process, not to a connection, because jobs continue to run after their channel
has failed or been closed. Their acks must still reach the server with the same claim token. A
process has one registry for each cluster (`claims_for`).
"""

from __future__ import annotations

import logging
import os
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress

from pinlater.acks import AckBuffer, Claim, Disposition
from pinlater.claim_upkeep import ClaimMaintenance, ClaimRenewer, Reaper
from pinlater.clock import Clock, SystemClock
from pinlater.cluster import Cluster, connect_shards
from pinlater.health import ReapGuard
from pinlater.models import Claimed
from pinlater.shard import Shard
from pinlater.worker_names import worker_name

logger = logging.getLogger(__name__)
TAG = "pinlater:"
"""Prefix of a job's delivery tag."""


class ClaimRegistry:
    """
    The claims that this process holds on one cluster.

    Args:
        cluster: the shards.
        claim_timeout_ms: how long a claim lasts without a renewal.
        max_claim_ms: older claims are not renewed, so that another worker runs a job that hangs.
        clock: only its monotonic clock is used.
        still_running: returns whether the delivery with this tag is running. Called only after its
            channel is closed.
    """

    def __init__(
        self,
        cluster: Cluster,
        *,
        claim_timeout_ms: int = 60_000,
        max_claim_ms: int = 86_400_000,
        clock: Clock | None = None,
        still_running: Callable[[str], bool] = lambda _tag: False,
    ) -> None:
        clock = clock or SystemClock()
        self.cluster = cluster
        self.claim_timeout_ms = claim_timeout_ms
        self.worker = f"{worker_name(os.getpid())}{uuid.uuid4().hex[:6]}"
        self._clock = clock
        self._still_running = still_running
        self._claims: dict[str, Claim] = {}
        guards = {shard.name: ReapGuard(claim_timeout_ms) for shard in cluster.shards}
        self.acks = AckBuffer(cluster, clock)
        self.renewer = ClaimRenewer(
            cluster=cluster,
            claims=self._claims,
            guards=guards,
            claim_timeout_ms=claim_timeout_ms,
            max_claim_ms=max_claim_ms,
            clock=clock,
            still_running=still_running,
        )
        self.reaper = Reaper(cluster, guards, clock=clock, renew=self.renewer.renew)
        self._maintenance = ClaimMaintenance(
            self.acks, self.renewer, self.reaper,
            renew_every_s=claim_timeout_ms / 3000, clock=clock,
        )  # fmt: skip

    def add(self, shard: Shard, queue: str, job: Claimed) -> str:
        """
        Store a claim, and return its delivery tag.

        The tag contains shard and queue, because ids and tokens are unique only within those.
        """
        tag = f"{TAG}{shard.name}-{job.job_id}-{job.token}-{queue}"
        self._claims[tag] = Claim(tag, shard, queue, job, self._clock.monotonic_s())
        self._maintenance.start()
        return tag

    def watch(self, queue: str) -> None:
        self.reaper.watch(queue)
        self._maintenance.start()

    def __contains__(self, tag: object) -> bool:
        return tag in self._claims

    def __len__(self) -> int:
        return len(self._claims)

    def count_held(self, queue: str) -> int:
        """
        Return how many jobs of a queue this process has claimed. Takes 0.1 µs for each claim of the
        process.
        """
        return sum(claim.queue == queue for claim in list(self._claims.values()))

    def set_dispositions(
        self, tag: str, *, on_ack: Disposition | None, on_reject: Disposition | None
    ) -> None:
        """Set what an ack or a reject of `tag` will do to the job; None keeps the default."""
        claim = self._claims.get(tag)
        if claim is not None:
            claim.on_ack, claim.on_reject = on_ack, on_reject

    def record_start(self, tag: str, task: str) -> None:
        """Record that a job has started, so that its run is logged (`run_log.py`)."""
        claim = self._claims.get(tag)
        if claim is not None:
            claim.task = task
            claim.started_s = self._clock.monotonic_s()

    def record_end(self, tag: str) -> None:
        """Record that a job has run; its ack or reject follows."""
        claim = self._claims.get(tag)
        if claim is not None:
            claim.has_ended = True
            if claim.started_s is not None and claim.run_s is None:
                claim.run_s = self._clock.monotonic_s() - claim.started_s

    def ack(self, tag: str) -> None:
        """Mark the job SUCCEEDED, unless `set_dispositions` chose another outcome."""
        claim = self._claims.pop(tag, None)
        self._end(tag, claim, claim.on_ack if claim else None)

    def fail(self, tag: str, problem: str) -> None:
        """Mark the job FAILED, even if attempts are left."""
        self._end(tag, self._claims.pop(tag, None), Disposition("fail", 0, problem))

    def reject(self, tag: str, *, requeue: bool, problem: str = "rejected") -> None:
        """
        Run the job again immediately (the attempt counts), or mark it FAILED, unless
        `set_dispositions` chose another outcome.
        """
        claim = self._claims.pop(tag, None)
        default = Disposition("again") if requeue else Disposition("fail", 0, problem)
        self._end(tag, claim, (claim.on_reject if claim else None) or default)

    def on_channel_closed(self, tags: Iterable[str]) -> None:
        """
        Keep claims of jobs that are running or have run; their acks may follow.

        Jobs that were never started return to the queue, and the attempt does not count.
        """
        for tag in tags:
            claim = self._claims.get(tag)
            if claim is None:
                continue
            if claim.has_ended or self._still_running(tag):
                claim.is_orphan = True
            else:
                self._end(tag, self._claims.pop(tag, None), Disposition("release"))

    def _end(self, tag: str, claim: Claim | None, disposition: Disposition | None) -> None:
        if claim is None:
            logger.info("claim %s is no longer ours; its ack is ignored", tag)
            return
        self.acks.add(claim, disposition)

    def stop(self) -> None:
        """Send pending acks and stop the thread. Remaining claims will expire."""
        self._maintenance.stop()


_registries: dict[tuple[object, ...], ClaimRegistry] = {}


def claims_for(
    urls: Sequence[str], *, prefix: str, claim_timeout_s: float, max_claim_s: float
) -> ClaimRegistry:
    """Return this process's registry for these shards; a forked child gets its own."""
    key = (os.getpid(), tuple(urls), prefix)
    if key not in _registries:
        _registries[key] = ClaimRegistry(
            Cluster(connect_shards(urls, prefix=prefix)),
            claim_timeout_ms=round(claim_timeout_s * 1000),
            max_claim_ms=round(max_claim_s * 1000),
            still_running=is_running_in_celery,
        )
    return _registries[key]


def stop_claims() -> None:
    """Stop this process's registries. Using a connection after that creates a new registry."""
    while _registries:
        _registries.popitem()[1].stop()


def is_running_in_celery(tag: str) -> bool:
    """Return whether a Celery worker in this process is running a delivery."""
    state = sys.modules.get("celery.worker.state")
    while state is not None:
        # Compare delivery tags, because deliveries may share a task id.
        with suppress(RuntimeError):  # a thread has just started or ended a task
            return any(r.message.delivery_tag == tag for r in state.active_requests)
    return False
