"""
Leases in Redis, for work that only one process may do at a time.

A lease belongs to a task, not to a process. The process that finishes the task releases the lease,
even if it is not the one that acquired it. A lease that is not released expires, by the server's
clock. A lease that its holder has renewed is *confirmed*. An unconfirmed lease can be taken over
early, because its holder probably died.

All leases of one kind are fields of one hash and take 80 bytes each. A scan removes expired ones.
`zengraph.records.CellLeases` provides similar leases for rows of the store.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import redis

from pinlater.redis.scripts import LuaScript, load_script

HELD, UNCONFIRMED = 0, -1
"""Results of `acquire` if another process holds the lease, confirmed or not confirmed yet."""
_GRANTS = {ord("0"): HELD, ord("?"): UNCONFIRMED} | {ord(str(n)): n for n in range(1, 10)}


def field(name: str) -> bytes:
    """Return the field name of a lease: a hash of 16 bytes, as long as a URL key."""
    return sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]


@dataclass(frozen=True, slots=True)
class Leases:
    """
    Leases by name. Each call takes one round trip and may raise `redis.RedisError`. Thread-safe.

    Args:
        client: a client of the server that stores the leases.
        key: the key of the hash.
        lease_s: how long an acquired lease lasts.
        patience_s: how long an unconfirmed lease cannot be taken over. None means until it expires,
            and 0 means that any `acquire` takes it over.
        fenced: if True, count how many times a lease has been acquired since its last release.
    """

    client: redis.Redis
    key: str
    lease_s: float
    patience_s: float | None = None
    fenced: bool = False

    def acquire(self, names: Sequence[str], *, renewed_s: float = 0.0) -> list[int]:
        """
        Acquire leases. Returns a number for each of `names`: the fencing token (1 to 9) if
        acquired, `UNCONFIRMED` if the holder has not renewed the lease yet, otherwise `HELD`.

        The fencing token is higher than the tokens of all holders since the last release, up to 9.
        Without `fenced` it is always 1. Confirmed leases that expire within `renewed_s` are taken
        over.
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
        return [_GRANTS[grant] for grant in grants]

    def renew(self, names: Sequence[str], lease_s: float) -> int:
        """
        Renew leases for `lease_s` from now. Returns how many existed. Released leases stay
        released.
        """
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
        """Return the seconds until each lease expires, in the order of `names`; 0 if it is free."""
        if not names:
            return []
        with self.client.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hmget(self.key, [field(name) for name in names])
            (now_s, now_us), values = pipe.execute()
        now = now_s + now_us / 1_000_000
        return [max(0.0, _until_s(value) - now) for value in values]

    def count(self) -> int:
        """Return the number of leases, including expired ones that have not been removed yet."""
        return int(self.client.hlen(self.key))

    def sweep(self) -> int:
        """Delete expired leases, about 500 per step. Returns how many were deleted."""
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
