"""
Coordinates refreshes of robots.txt files, with claims and an index of expiring rules.

A claim keeps other workers from fetching the same robots.txt. The old rules stay in use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import cast

import redis

from aragog.crawl.politeness.shared_clock import SharedClock
from aragog.crawl.shared_redis.leases import Leases
from aragog.errors import RobotsUnavailable
from pinlater.redis.errors import redis_errors

# If a refresh takes longer than this, another process may claim it.
CLAIM_S = 60.0
# How long a claim may last while its request waits for a slot (time to send).
MAX_HOLD_MS = 600_000


class RobotsRefreshes:
    """
    The refreshes of all workers. Thread-safe. Every method may raise `RobotsUnavailable`.

    Args:
        client: the robots cache's Redis.
        prefix: the start of every key.
        shared: that server's clock.
    """

    def __init__(self, client: redis.Redis, prefix: str, shared: SharedClock) -> None:
        self._redis = client
        self._server_clock = shared
        self.claims = Leases(client, f"{prefix}robots.claims", CLAIM_S)
        """The leases that represent claims. `RobotsCache.put` releases them."""
        self._record_prefix = f"{prefix}robots:"
        self.due_key = f"{prefix}robots.due"
        """The key of a sorted set of origins, by the time at which their rules must be
        refreshed."""

    def claim(self, origins: Iterable[str]) -> list[str]:
        """
        Claim refreshes. Returns the origins that the caller must now fetch.

        The others are already claimed. Takes one round trip. A claim ends with `RobotsCache.put`,
        or after 60 s.
        """
        distinct = list(dict.fromkeys(origins))
        with robots_errors():
            grants = self.claims.acquire(distinct)
        return [origin for origin, grant in zip(distinct, grants, strict=True) if grant > 0]

    def release(self, origins: Iterable[str]) -> None:
        """Release claims on origins whose robots.txt will not be fetched."""
        with robots_errors():
            self.claims.release(list(origins))

    def hold(self, waits_ms: Mapping[str, int]) -> None:
        """
        Extend claims until 60 s after their slots, given in ms from now.

        A process that finds such a claim waits for it (`remaining_ms`) instead of reserving another
        slot. Claims end after 10 minutes in any case, because the job's message may be lost.
        """
        with robots_errors():
            for wait_ms in set(waits_ms.values()):
                origins = [origin for origin, ms in waits_ms.items() if ms == wait_ms]
                self.claims.renew(origins, min(wait_ms, MAX_HOLD_MS) / 1000 + CLAIM_S)

    def remaining_ms(self, origins: Sequence[str]) -> dict[str, int]:
        """Return the ms until each robots.txt is fetched; 0 if due now or not claimed."""
        with robots_errors():
            claims_s = self.claims.remaining_s(origins)
        waits_ms = [max(0, int((claim_s - CLAIM_S) * 1000)) for claim_s in claims_s]
        return dict(zip(origins, waits_ms, strict=True))

    def take_expiring(self, before_ms: int, limit: int = 100) -> list[str]:
        """
        Return origins whose rules are in use and must be refreshed before `before_ms`, soonest
        first. Stops when it has found `limit` or more.

        The same origins are not returned again for 60 s. Unused rules are left to expire. Takes
        three round trips per `limit` origins examined. Finally removes killed workers' claims.
        """
        expiring = list[str]()
        before_ms += self._server_clock.ahead_ms()
        with robots_errors():
            while len(expiring) < limit:
                names = cast(
                    "list[bytes]",
                    self._redis.zrangebyscore(self.due_key, "-inf", before_ms, 0, limit),
                )
                origins = [name.decode() for name in names]
                in_use = self._origins_in_use(origins)
                self._postpone(in_use, before_ms, idle=set(origins).difference(in_use))
                expiring += in_use
                if len(origins) < limit:
                    self.claims.sweep()
                    break
        return expiring

    def _origins_in_use(self, origins: Sequence[str]) -> list[str]:
        """
        Return the origins whose rules were used since they were fetched, according to the first
        byte of each record.
        """
        with self._redis.pipeline(transaction=False) as pipe:
            for origin in origins:
                pipe.getrange(self._record_prefix + origin, 0, 0)
            flags = pipe.execute()
        return [origin for origin, flag in zip(origins, flags, strict=True) if flag == b"\x01"]

    def _postpone(self, in_use: Sequence[str], before_ms: int, *, idle: Iterable[str]) -> None:
        """Reschedule origins in use by 60 s, in case their refresh fails. Remove idle ones."""
        due_at_ms = max(before_ms, self._server_clock.server_now_ms()) + int(CLAIM_S * 1000)
        with self._redis.pipeline(transaction=False) as pipe:
            if names := sorted(idle):
                pipe.zrem(self.due_key, *names)
            if in_use:
                pipe.zadd(self.due_key, dict.fromkeys(in_use, due_at_ms), xx=True)
            pipe.execute()


def robots_errors() -> AbstractContextManager[None]:
    """Convert Redis errors into `RobotsUnavailable`."""
    return redis_errors("robots cache", RobotsUnavailable)
