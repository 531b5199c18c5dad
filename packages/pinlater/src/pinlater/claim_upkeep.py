"""
A thread that renews and reaps claims, even while the event loop is busy.

The renewer extends running jobs' claims, so that no other worker receives the jobs. The reaper ends
dead workers' expired claims, returns their jobs to the queue, and deletes old jobs.
"""

from __future__ import annotations

import atexit
import logging
import random
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field

from pinlater.acks import AckBuffer, Claim
from pinlater.clock import Clock
from pinlater.cluster import Cluster
from pinlater.errors import BrokerUnavailable
from pinlater.health import ReapGuard
from pinlater.shard import ServerShard, Shard

logger = logging.getLogger(__name__)
MAX_SWEPT_CLAIMS = 100
"""Claims per call. The server handles other clients between calls."""
MAX_SWEEPS_PER_ROUND = 50
"""Calls per round: enough for all claims of a dead host."""
PERIOD_S = 0.25
REAP_EVERY_S = 1.0


@dataclass(slots=True, eq=False, kw_only=True)
class ClaimRenewer:
    """
    Extends claims, and drops those that were lost or are too old.

    Args:
        cluster: the shards of the claims.
        claims: the claims by tag, shared with the registry.
        guards: the guards by shard name, shared with the reaper. After an outage, the reaper waits
            until all workers have had time to renew.
        claim_timeout_ms: how long a claim lasts after each renewal.
        max_claim_ms: older claims are not renewed, so that another worker runs a job that hangs.
        clock: only its monotonic clock is used.
        still_running: returns whether the delivery with this tag is running. Called only after its
            channel is closed.
    """

    cluster: Cluster
    claims: dict[str, Claim]
    guards: dict[str, ReapGuard]
    claim_timeout_ms: int
    max_claim_ms: int
    clock: Clock
    still_running: Callable[[str], bool]
    must_renew_again: bool = field(init=False, default=False)
    """True if a shard did not answer, so `renew` must be called again soon."""

    def renew(self) -> None:
        """Extend all claims, in one round trip per shard and queue."""
        self.must_renew_again = False
        groups: dict[tuple[Shard, str], list[Claim]] = defaultdict(list)
        now_s = self.clock.monotonic_s()
        for tag, claim in list(self.claims.items()):
            if (now_s - claim.claimed_s) * 1000 > self.max_claim_ms:
                self.claims.pop(tag, None)
            else:
                groups[claim.shard, claim.queue].append(claim)
        for (shard, queue), claims in groups.items():
            self._extend(shard, queue, claims)

    def _extend(self, shard: Shard, queue: str, claims: list[Claim]) -> None:
        held = [claim for claim in claims if claim.tag in self.claims]
        tokens = [(claim.job.job_id, claim.job.token) for claim in held]
        try:
            with self.cluster.track(shard):
                extended = shard.extend(queue, tokens, timeout_ms=self.claim_timeout_ms)
        except BrokerUnavailable as error:
            guard = self.guards[shard.name]
            level = logging.DEBUG if guard.needs_connecting else logging.WARNING
            logger.log(level, "%d claims could not be extended: %s", len(held), error)
            guard.record_loss()
            self.must_renew_again = True
            return
        for claim, was_extended in zip(held, extended, strict=True):
            # A claim acknowledged in the meantime is not lost.
            if not was_extended and self.claims.pop(claim.tag, None) is not None:
                logger.warning("the claim on job %s of %s was lost", claim.job.job_id, queue)
            elif claim.is_orphan:
                self._forget_if_ended(claim)

    def _forget_if_ended(self, orphan: Claim) -> None:
        """
        Drop an orphaned claim whose job ended one claim timeout ago.

        Until then, its ack may wait for the worker's event loop to run again, on a new connection.
        """
        now_s = self.clock.monotonic_s()
        if self.still_running(orphan.tag):
            orphan.ended_s = None
        elif orphan.ended_s is None:
            orphan.ended_s = now_s
        elif (now_s - orphan.ended_s) * 1000 >= self.claim_timeout_ms:
            self.claims.pop(orphan.tag, None)


class Reaper:
    """
    Ends expired claims in the queues that this process consumes.

    Args:
        cluster: the shards to reap.
        guards: the guards by shard name, shared with the renewer.
        clock: only its monotonic clock is used.
        renew: extends this process's claims when a shard is available again.
    """

    def __init__(
        self,
        cluster: Cluster,
        guards: dict[str, ReapGuard],
        *,
        clock: Clock,
        renew: Callable[[], None],
    ) -> None:
        self._cluster = cluster
        self._guards = guards
        self._clock = clock
        self._renew = renew
        self._queues: set[str] = set()

    def watch(self, queue: str) -> None:
        self._queues.add(queue)

    def reap(self) -> None:
        """Reap all watched queues once; skips unavailable shards."""
        for shard in self._cluster.shards:
            try:
                self._cluster.check_usable(shard)
                with self._cluster.track(shard):
                    self._reap(shard, self._guards[shard.name])
            except BrokerUnavailable as error:
                self._guards[shard.name].record_loss()
                logger.debug("expired claims were not returned: %s", error)

    def _reap(self, shard: Shard, guard: ReapGuard) -> None:
        if guard.needs_connecting and isinstance(shard, ServerShard):
            self._on_connected(shard, guard)
        for queue in list(self._queues):
            returned_count = failed_count = 0
            for _ in range(MAX_SWEEPS_PER_ROUND):
                before_ms = guard.reap_before_ms(self._monotonic_ms())
                swept = shard.sweep(queue, reap_before_ms=before_ms, limit=MAX_SWEPT_CLAIMS)
                guard.observe_clock(swept.now_ms, self._monotonic_ms())
                returned_count += swept.returned
                failed_count += swept.failed
                if swept.returned + swept.failed < MAX_SWEPT_CLAIMS:
                    break
            if returned_count or failed_count:
                logger.warning(
                    "claims expired on %s: %d returned, %d failed",
                    queue,
                    returned_count,
                    failed_count,
                )

    def _on_connected(self, shard: ServerShard, guard: ReapGuard) -> None:
        server_ms, uptime_ms = shard.time_and_uptime_ms()
        guard.record_connection(server_ms, uptime_ms, self._monotonic_ms())
        for warning in shard.config_warnings():
            logger.warning("shard %s: %s", shard.name, warning)
        if guard.was_lost:
            self._renew()

    def _monotonic_ms(self) -> float:
        return self._clock.monotonic_s() * 1000


@dataclass(slots=True, eq=False)
class ClaimMaintenance:
    """
    Runs renewer and reaper in one daemon thread, started by the first claim or watched queue.

    Args:
        renew_every_s: a third of the claim timeout, so two renewals may fail.
    """

    acks: AckBuffer
    renewer: ClaimRenewer
    reaper: Reaper
    _: KW_ONLY
    renew_every_s: float
    clock: Clock
    _rng: random.Random = field(init=False, default_factory=random.Random)
    _thread: threading.Thread | None = field(init=False, default=None)
    _stopped: threading.Event = field(init=False, default_factory=threading.Event)

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="pinlater-claims", daemon=True)
            self._thread.start()
            atexit.register(self.acks.flush)

    def _run(self) -> None:
        renewed_s = reaped_s = self.clock.monotonic_s()
        while not self._stopped.wait(PERIOD_S):
            now_s = self.clock.monotonic_s()
            try:
                self.acks.flush()
                # When a server is back, renew claims before other workers reap them.
                if self.renewer.must_renew_again or now_s - renewed_s >= self.renew_every_s:
                    renewed_s = now_s
                    self.renewer.renew()
                if now_s - reaped_s >= REAP_EVERY_S:
                    # Jitter spreads workers' rounds.
                    reaped_s = now_s + self._rng.uniform(-0.1, 0.1)
                    self.reaper.reap()
            except Exception:
                logger.exception("claim maintenance continues after an unexpected error")

    def stop(self) -> None:
        """Send pending acks and stop the thread. Remaining claims will expire."""
        self.acks.flush()
        self._stopped.set()
        atexit.unregister(self.acks.flush)
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(5)
