"""
Admission control: refuses new URLs before Redis is full, so that work in progress can finish.

Only applies to producers. Later stages' messages are accepted, because they eventually free memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import redis

from aragog.crawl.pipeline.breaker import Breaker
from aragog.errors import BrokerUnavailable, SlowDown
from aragog.runtime.clock import Clock, SystemClock
from pinlater.redis.errors import redis_errors

# A fraction of `maxmemory`. The spool may use a quarter of `maxmemory` and contains some bodies
# when this fraction is reached.
REFUSE_ABOVE_SHARE = 0.8
# A producer sends 1,000 URLs (300 KB) in about 50 ms, which makes 6 MB between two checks.
CACHE_TTL_S = 1.0
RETRY_AFTER_S = 5.0


class Usage(NamedTuple):
    """A server's memory use."""

    server: str
    share: float
    """The fraction of its `maxmemory` that is in use; 0.0 if the server has no limit."""


class Admission:
    """
    Measures the memory use of the Redis servers that store new URLs.

    The shared servers have different data, so the fullest one counts. The broker's shards can
    replace each other, so the emptiest one counts, and shards that do not respond are skipped
    (docs/adr/0054).

    Args:
        shared: servers by display name. The first one must respond. Others that do not respond are
            skipped.
        shards: shards by display name; one of them must respond. Use clients with a short timeout:
            a server that hangs delays one call every five seconds.
        clock: only its monotonic time is used.
        retry_after_s: after how many seconds a refused producer should try again.
    """

    def __init__(
        self,
        shared: Mapping[str, redis.Redis],
        shards: Mapping[str, redis.Redis] | None = None,
        clock: Clock | None = None,
        *,
        retry_after_s: float = RETRY_AFTER_S,
    ) -> None:
        self._retry_after_s = retry_after_s
        self._shared = shared
        self._shards = shards or {}
        self._breakers = {name: Breaker() for name in (*self._shards, *shared)}
        self._clock = clock or SystemClock()
        self._cached: tuple[float, Usage] | None = None

    def usage(self) -> Usage:
        """
        Return the server that limits new URLs, and how full it is (measured at most 1 s ago).

        Raises:
            BrokerUnavailable: the first shared server, or every shard, did not respond.
        """
        now_s = self._clock.monotonic_s()
        if self._cached is None or now_s - self._cached[0] > CACHE_TTL_S:
            self._cached = now_s, self._measure()
        return self._cached[1]

    def refusal(self) -> SlowDown | None:
        """Return why new URLs are refused, or None. Raises `BrokerUnavailable`."""
        server, share = self.usage()
        # If a server is completely full, enqueuing raises `BrokerFull` instead: waiting may not
        # help.
        if REFUSE_ABOVE_SHARE < share < 1:
            return SlowDown(
                server,
                f"{share:.0%} of its maxmemory is in use; new URLs are accepted below "
                f"{REFUSE_ABOVE_SHARE:.0%}. Wait until some are stored, or raise maxmemory",
                self._retry_after_s,
            )
        return None

    def _measure(self) -> Usage:
        first, *others = self._shared.items()
        usages = [_measure_server(*first), *self._measure_servers(dict(others))]
        if self._shards:
            shards = self._measure_servers(self._shards)
            if not shards:
                names = ", ".join(self._shards)
                raise BrokerUnavailable(names, "no shard of the broker responds")
            usages.append(min(shards, key=lambda usage: usage.share))
        return max(usages, key=lambda usage: usage.share)

    def _measure_servers(self, servers: Mapping[str, redis.Redis]) -> list[Usage]:
        usages: list[Usage] = []
        for name, server in servers.items():
            breaker, now_s = self._breakers[name], self._clock.monotonic_s()
            if not breaker.can_call(now_s):
                continue
            try:
                usages.append(_measure_server(name, server))
                breaker.record_success(0.0, now_s)
            except BrokerUnavailable:
                breaker.record_failure(self._clock.monotonic_s(), is_fatal=True)
        return usages


def _measure_server(name: str, server: redis.Redis) -> Usage:
    with redis_errors(name):
        memory: Any = server.info("memory")
    maxmemory = int(memory.get("maxmemory", 0))
    return Usage(name, float(memory["used_memory"]) / maxmemory if maxmemory else 0.0)
