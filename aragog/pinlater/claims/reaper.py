"""A reaper that returns the expired claims of dead workers to the queue and deletes old jobs."""

from __future__ import annotations

import logging
from collections.abc import Callable

from aragog.clock import Clock
from aragog.errors import BrokerUnavailable
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.shards.health import ReapGuard
from aragog.pinlater.shards.redis_shard import RedisShard
from aragog.pinlater.shards.shard import Shard

logger = logging.getLogger(__name__)

SWEEP_SIZE = 100
"""Claims per call; the server handles other clients between two calls."""
SWEEPS = 50
"""Maximum calls per round; enough to return all claims of a dead host in one round."""


class Reaper:
    """
    Reaps the queues that this process consumes.

    Args:
        cluster: all its shards are reaped.
        guards: by shard name; shared with the renewer.
        clock: only its stopwatch is used.
        renew: extends the claims of this process; called when a shard is available again.
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
        """Reap this queue from now on."""
        self._queues.add(queue)

    def reap(self) -> None:
        """Run one round over all shards and watched queues; skips unavailable shards."""
        for shard in self._cluster.shards:
            try:
                self._cluster.require(shard)
                with self._cluster.watched(shard):
                    self._reap(shard, self._guards[shard.name])
            except BrokerUnavailable as error:
                self._guards[shard.name].lost()
                logger.debug("not reaped: %s", error)

    def _reap(self, shard: Shard, guard: ReapGuard) -> None:
        if guard.needs_connecting and isinstance(shard, RedisShard):
            self._connected(shard, guard)
        for queue in list(self._queues):
            given_back = failed = 0
            for _ in range(SWEEPS):
                before_ms = guard.reap_before_ms(self._stopwatch_ms())
                swept = shard.sweep(queue, reap_before_ms=before_ms, limit=SWEEP_SIZE)
                guard.observe_clock(swept.now_ms, self._stopwatch_ms())
                given_back += swept.given_back
                failed += swept.failed
                if swept.given_back + swept.failed < SWEEP_SIZE:
                    break
            if given_back or failed:
                logger.warning(
                    "claims expired on %s: %d returned, %d failed", queue, given_back, failed
                )

    def _connected(self, shard: RedisShard, guard: ReapGuard) -> None:
        server_ms, uptime_ms = shard.age_ms()
        guard.connected(server_ms, uptime_ms, self._stopwatch_ms())
        for remark in shard.remarks():
            logger.warning("shard %s: %s", shard.name, remark)
        if guard.lost_before:
            self._renew()

    def _stopwatch_ms(self) -> float:
        return self._clock.monotonic_s() * 1000
