"""
Admission: new URLs are refused before Redis is full, so that what is under way has room to end.

It applies to producers only, because the messages of later stages lead to memory being freed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import redis

from aragog.clock import Clock, SystemClock
from aragog.errors import SlowDown
from aragog.redis_kit.errors import redis_errors

# Of `maxmemory`: the spool may come to fill a quarter of it, and is not empty by then.
REFUSED_FROM = 0.8
# A producer sends 1,000 URLs in some 50 ms, 300 KB: 6 MB in the time between two looks.
FRESH_S = 1.0
RETRY_AFTER_S = 5.0


class Admission:
    """
    How full the Redis servers are that new URLs are written to.

    Args:
        servers: by a name for people.
        clock: only its stopwatch is used.
        retry_after_s: after how long a refused producer should try again.
    """

    def __init__(
        self,
        servers: Mapping[str, redis.Redis],
        clock: Clock | None = None,
        *,
        retry_after_s: float = RETRY_AFTER_S,
    ) -> None:
        self._retry_after_s = retry_after_s
        self._servers = servers
        self._clock = clock or SystemClock()
        self._seen: tuple[float, dict[str, float]] | None = None

    def shares(self) -> dict[str, float]:
        """
        The part of its `maxmemory` that each server has in use; 0.0 for one without. At most 1 s
        old.

        Raises:
            BrokerUnavailable: one of them does not answer.
        """
        now_s = self._clock.monotonic_s()
        if self._seen is None or now_s - self._seen[0] > FRESH_S:
            self._seen = (
                now_s,
                {name: _share(name, server) for name, server in self._servers.items()},
            )
        return self._seen[1]

    def refusal(self) -> SlowDown | None:
        """Why no new URL may come in just now; None: they may. Raises `BrokerUnavailable`."""
        for name, share in self.shares().items():
            # A full one raises `BrokerFull` itself: waiting may not help.
            if REFUSED_FROM < share < 1:
                return SlowDown(
                    name,
                    f"{share:.0%} of its maxmemory is in use; new URLs are taken below "
                    f"{REFUSED_FROM:.0%}. Wait until some are stored, or raise maxmemory",
                    self._retry_after_s,
                )
        return None


def _share(name: str, server: redis.Redis) -> float:
    with redis_errors(name):
        memory: Any = server.info("memory")
    most = int(memory.get("maxmemory", 0))
    return float(memory["used_memory"]) / most if most else 0.0
