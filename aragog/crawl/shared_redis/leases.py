"""
Leases in Redis, for work that only one process may do at a time.

A lease belongs to a task instead of a process: the process that finishes the task releases the
lease, on whichever machine received its message. A lease that is not released expires, by the
server's clock. A lease that was acquired and then renewed to a longer time is *confirmed*. A lease
that was never renewed may be taken over earlier, because its process probably died before it could.

All leases of one kind are fields of a hash and take 80 bytes each. A scan removes expired ones.
`zengraph.records.CellLeases` does the same for rows of the store.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import redis

from pinlater.redis.scripts import LuaScript, load_script

HELD, UNCONFIRMED = 0, -1
"""Results of `acquire` if another process holds the lease: renewed, or not renewed yet."""
_GRANT = {ord("0"): HELD, ord("?"): UNCONFIRMED} | {ord(str(n)): n for n in range(1, 10)}


def field(name: str) -> bytes:
    """The field of a lease: 16 bytes, like the key of a URL."""
    return sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]


@dataclass(frozen=True, slots=True)
class Leases:
    """
    Leases by name. Each call is one round trip and may raise `redis.RedisError`. Thread-safe.

    Args:
        client: a client of the server that stores the leases.
        key: the key of their hash.
        lease_s: lifetime of an acquired lease.
        patience_s: how long a lease that was not renewed excludes others. None: until it expires;
            0: not at all, so that each `acquire` takes it over.
        fenced: count how often a lease was acquired since it was last released.
    """

    client: redis.Redis
    key: str
    lease_s: float
    patience_s: float | None = None
    fenced: bool = False

    def acquire(self, names: Sequence[str], *, renewed_s: float = 0.0) -> list[int]:
        """
        Acquire leases. Returns for each name, in order, the fence (at least 1) if acquired.

        Otherwise the result is `HELD`, or `UNCONFIRMED` if its holder has not renewed it yet. The
        fence is higher than the fence of every earlier holder since the last release, up to 9; it
        is always 1 without `fenced`. Renewed leases that expire within `renewed_s` are taken over.
        """
        if not names:
            return []
        patience_s = self.lease_s if self.patience_s is None else self.patience_s
        grants = _script("lease_acquire").run(
            self.client,
            leases=self.key,
            lease_s=self.lease_s,
            patience_s=patience_s,
            renewed_s=renewed_s,
            fenced=int(self.fenced),
            names=b"".join(map(field, names)),
        )
        return [_GRANT[grant] for grant in grants]

    def renew(self, names: Sequence[str], lease_s: float) -> int:
        """Let leases expire after some seconds. Returns their number; free ones stay free."""
        if not names:
            return 0
        fields = b"".join(map(field, names))
        return int(
            _script("lease_renew").run(self.client, leases=self.key, lease_s=lease_s, names=fields)
        )

    def release(self, names: Sequence[str]) -> None:
        """Release leases. Releasing a free lease has no effect."""
        if names:
            self.client.hdel(self.key, *map(field, names))

    def left_s(self, names: Sequence[str]) -> list[float]:
        """The seconds until the lease of each name expires, in order; 0 if it is free."""
        if not names:
            return []
        with self.client.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hmget(self.key, [field(name) for name in names])
            (now_s, now_us), values = pipe.execute()
        now = now_s + now_us / 1_000_000
        return [max(0.0, _until_s(value) - now) for value in values]

    def count(self) -> int:
        """The number of leases, including expired ones that were not removed yet."""
        return int(self.client.hlen(self.key))

    def sweep(self) -> int:
        """Delete expired leases, in steps of about 500. Returns their number."""
        cursor, dropped = b"0", 0
        while True:
            cursor, step = _script("lease_sweep").run(self.client, leases=self.key, cursor=cursor)
            dropped += step
            if int(cursor) == 0:
                return int(dropped)


def _script(name: str) -> LuaScript:
    return load_script("aragog.crawl.shared_redis", name)


def _until_s(value: bytes | None) -> float:
    return -math.inf if value is None else float(value.partition(b":")[0])
