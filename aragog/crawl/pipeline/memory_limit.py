"""
Admission: new URLs are refused before Redis is full, so that what is under way has room to end.

It applies to producers only, because the messages of later stages lead to memory being freed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import redis

from aragog.crawl.pipeline.breaker import Breaker
from aragog.errors import BrokerUnavailable, SlowDown
from aragog.runtime.clock import Clock, SystemClock
from pinlater.redis.errors import redis_errors

# Of `maxmemory`: the spool may come to fill a quarter of it, and is not empty by then.
REFUSED_FROM = 0.8
# A producer sends 1,000 URLs in some 50 ms, 300 KB: 6 MB in the time between two looks.
FRESH_S = 1.0
RETRY_AFTER_S = 5.0


class Usage(NamedTuple):
    """How full one server is."""

    server: str
    share: float
    """Used part of its `maxmemory`; 0.0 without one."""


class Admission:
    """
    How full the Redis servers are that new URLs are written to.

    A server of `shared` holds what no other one holds, so the fullest of them decides. The shards
    of the broker replace each other, so the emptiest decides, and those that do not answer are
    left out (docs/adr/0054).

    Args:
        shared: by a name for people. The first one must answer; the owner of the data that is on
            the others finds out whether it needs them.
        shards: by a name for people; one of them must answer. Clients with a short timeout: a
            server that hangs is waited for once every five seconds.
        clock: only its stopwatch is used.
        retry_after_s: after how long a refused producer should try again.
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
        self._seen: tuple[float, Usage] | None = None

    def usage(self) -> Usage:
        """
        The server that decides whether new URLs are accepted, and how full it is; at most 1 s old.

        Raises:
            BrokerUnavailable: the first shared server, or every shard, does not answer.
        """
        now_s = self._clock.monotonic_s()
        if self._seen is None or now_s - self._seen[0] > FRESH_S:
            self._seen = now_s, self._decisive()
        return self._seen[1]

    def refusal(self) -> SlowDown | None:
        """Why no new URL may come in just now; None: they may. Raises `BrokerUnavailable`."""
        server, share = self.usage()
        # A full one raises `BrokerFull` itself: waiting may not help.
        if REFUSED_FROM < share < 1:
            return SlowDown(
                server,
                f"{share:.0%} of its maxmemory is in use; new URLs are taken below "
                f"{REFUSED_FROM:.0%}. Wait until some are stored, or raise maxmemory",
                self._retry_after_s,
            )
        return None

    def _decisive(self) -> Usage:
        first, *others = self._shared.items()
        usages = [_usage(*first), *self._answers(dict(others))]
        if self._shards:
            shards = self._answers(self._shards)
            if not shards:
                names = ", ".join(self._shards)
                raise BrokerUnavailable(names, "no shard of the broker answers")
            usages.append(min(shards, key=lambda usage: usage.share))
        return max(usages, key=lambda usage: usage.share)

    def _answers(self, servers: Mapping[str, redis.Redis]) -> list[Usage]:
        """The usage of the servers that answer."""
        usages: list[Usage] = []
        for name, server in servers.items():
            breaker, now_s = self._breakers[name], self._clock.monotonic_s()
            if not breaker.worth_asking(now_s):
                continue
            try:
                usages.append(_usage(name, server))
                breaker.answered(0.0, now_s)
            except BrokerUnavailable:
                breaker.failed(self._clock.monotonic_s(), at_once=True)
        return usages


def _usage(name: str, server: redis.Redis) -> Usage:
    with redis_errors(name):
        memory: Any = server.info("memory")
    most = int(memory.get("maxmemory", 0))
    return Usage(name, float(memory["used_memory"]) / most if most else 0.0)
