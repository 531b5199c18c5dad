"""
Leases in Redis, for work that only one process may do at a time.

A lease belongs to a task, not to a process: whichever process finishes the task releases the lease.
A lease that is not released expires, according to the server's clock. A lease that its holder has
renewed is *confirmed*. An unconfirmed lease can be taken over early, because its holder probably
died.

Leases of one kind are fields of one hash and take 80 bytes each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import redis

from pinlater.redis.scripts import LuaScript, load_script

HELD, UNCONFIRMED = 0, -1
"""Results of `acquire` if another process holds the lease, confirmed or not."""
_GRANTS = {ord("0"): HELD, ord("?"): UNCONFIRMED} | {ord(str(n)): n for n in range(1, 10)}


def field(name: str) -> bytes:
    """Return a lease's field name, a hash of 16 bytes."""
    return sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]


@dataclass(frozen=True, slots=True)
class Leases:
    """
    Leases by name. Thread-safe. Each call may raise `redis.RedisError`. Each call except `sweep`
    takes one round trip.

    Args:
        client: the server of the leases.
        key: the hash's key.
        lease_s: how long an acquired lease lasts.
        patience_s: how long an unconfirmed lease cannot be taken over. None: until it expires; 0:
            any `acquire` takes it over.
        fenced: if True, count how often a lease was acquired since its last release.
    """

    client: redis.Redis
    key: str
    lease_s: float
    patience_s: float | None = None
    fenced: bool = False

    def acquire(self, names: Sequence[str], *, renewed_s: float = 0.0) -> list[int]:
        """
        Acquire leases. Returns for each name the fencing token (1 to 9) if acquired, `UNCONFIRMED`
        if the holder has not renewed the lease yet, otherwise `HELD`.

        The fencing token is higher than all tokens since the last release, up to 9; without
        `fenced` it is 1. Confirmed leases that expire within `renewed_s` are taken over.
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
        """Renew leases for `lease_s` from now, except released ones. Returns how many existed."""
        if not names:
            return 0
        fields = b"".join(map(field, names))
        return int(
            _script("lease_renew").run(self.client, leases=self.key, lease_s=lease_s, names=fields)
        )

    def release(self, names: Sequence[str]) -> None:
        """Release leases. Has no effect on free ones."""
        if names:
            self.client.hdel(self.key, *map(field, names))

    def remaining_s(self, names: Sequence[str]) -> list[float]:
        """Return the seconds until each lease expires, in order; 0 if it is free."""
        if not names:
            return []
        with self.client.pipeline(transaction=False) as pipe:
            pipe.time()
            pipe.hmget(self.key, [field(name) for name in names])
            (seconds, micros), values = pipe.execute()
        now_s = seconds + micros / 1_000_000
        return [max(0.0, _expiry_s(value) - now_s) for value in values]

    def count(self) -> int:
        """Return the number of leases, including expired ones that were not removed yet."""
        return int(self.client.hlen(self.key))

    def sweep(self) -> int:
        """Delete expired leases, about 500 per step. Returns how many."""
        cursor, removed_count = b"0", 0
        while True:
            cursor, step = _script("lease_sweep").run(self.client, leases=self.key, cursor=cursor)
            removed_count += step
            if int(cursor) == 0:
                return int(removed_count)


def _script(name: str) -> LuaScript:
    return load_script("aragog.crawl.shared_redis", name)


def _expiry_s(value: bytes | None) -> float:
    return -math.inf if value is None else float(value.partition(b":")[0])
