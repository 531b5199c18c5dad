"""A renewer that extends the claims of running jobs, so that no other worker receives them."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field

from aragog.clock import Clock
from aragog.errors import BrokerUnavailable
from aragog.pinlater.claims.claim import Claim
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.shards.health import ReapGuard
from aragog.pinlater.shards.shard import Shard

logger = logging.getLogger(__name__)


@dataclass(slots=True, eq=False, kw_only=True)
class ClaimRenewer:
    """
    Extends claims and drops those that were lost or are too old.

    Args:
        cluster: the shards of the claims.
        claims: by tag; shared with the registry.
        guards: by shard name; shared with the reaper, which must not reap after an outage until
            all workers had time to renew.
        claim_timeout_ms: for how long a claim is extended.
        max_claim_ms: a claim is not extended beyond this age, so that a job that hangs runs
            elsewhere.
        clock: only its stopwatch is used.
        still_running: returns whether the delivery with this tag is running; used for orphans.
    """

    cluster: Cluster
    claims: dict[str, Claim]
    guards: dict[str, ReapGuard]
    claim_timeout_ms: int
    max_claim_ms: int
    clock: Clock
    still_running: Callable[[str], bool]
    behind: bool = field(init=False, default=False)
    """True: a shard did not answer, so `renew` must be called again soon."""

    def renew(self) -> None:
        """Extend all claims, in one round trip per shard and queue."""
        self.behind = False
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
        current = [claim for claim in claims if claim.tag in self.claims]
        tokens = [(claim.job.job_id, claim.job.token) for claim in current]
        try:
            with self.cluster.watched(shard):
                extended = shard.extend(queue, tokens, timeout_ms=self.claim_timeout_ms)
        except BrokerUnavailable as error:
            guard = self.guards[shard.name]
            level = logging.DEBUG if guard.needs_connecting else logging.WARNING
            logger.log(level, "%d claims could not be extended: %s", len(current), error)
            guard.lost()
            self.behind = True
            return
        for claim, kept in zip(current, extended, strict=True):
            # A claim that was acknowledged in the meantime is not lost.
            if not kept and self.claims.pop(claim.tag, None) is not None:
                logger.warning("the claim on job %s of %s was lost", claim.job.job_id, queue)
            elif claim.orphan:
                self._forget_if_ended(claim)

    def _forget_if_ended(self, orphan: Claim) -> None:
        """
        Drop an orphan whose job ended a claim timeout ago.

        Its ack may have to wait until the worker's event loop runs again, on a new connection.
        """
        now_s = self.clock.monotonic_s()
        if self.still_running(orphan.tag):
            orphan.ended_s = None
        elif orphan.ended_s is None:
            orphan.ended_s = now_s
        elif (now_s - orphan.ended_s) * 1000 >= self.claim_timeout_ms:
            self.claims.pop(orphan.tag, None)
