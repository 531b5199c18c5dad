"""
Leases in Redis: what only one process may do at a time, until it releases it or its time is over.

A lease belongs to a task, not to a process: whoever finishes the task releases it, on whichever
machine received its message. What nobody releases expires, by the server's clock. A lease that was
acquired and then renewed to a longer time is *confirmed*; one that was never renewed may be taken
over earlier, because its process probably died before it could.

All leases of one kind are fields of a hash: 80 bytes each, and a scan removes the expired ones.
`zengraph.records.CellLeases` is the same for rows of the store.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

import redis

from pinlater.redis.scripts import LuaScript, load_script

HELD, UNCONFIRMED = 0, -1
"""The results of `acquire` for a lease of another process: renewed, or not renewed yet."""
_GRANT = {ord("0"): HELD, ord("?"): UNCONFIRMED} | {ord(str(n)): n for n in range(1, 10)}


def field(name: str) -> bytes:
    """The field of a lease: 16 bytes, as of the key of a URL."""
    return sha256(name.encode("utf-8", "surrogatepass")).digest()[:16]


@dataclass(frozen=True, slots=True)
class Leases:
    """
    Leases by name. A call is one round trip and raises `redis.RedisError`; safe for threads.

    Args:
        client: of the server that has them.
        key: of their hash.
        lease_s: lifetime of a lease that was acquired.
        patience_s: how long a lease that was not renewed keeps others out; None: as long as it
            lives; 0: not at all, each `acquire` takes the lease over.
        fenced: count how often a lease was acquired since it was last released.
        whole: expire at whole seconds, which saves 8 bytes a lease.
    """

    client: redis.Redis
    key: str
    lease_s: float
    patience_s: float | None = None
    fenced: bool = False
    whole: bool = False

    def acquire(self, names: Sequence[str], *, renewed_s: float = 0.0) -> list[int]:
        """
        For each name in order: the fence, from 1, if the caller holds the lease now.

        Otherwise `HELD`, or `UNCONFIRMED` if its holder has not renewed it yet. The fence is higher
        than that of every earlier holder since the last release, up to 9; 1 without `fenced`.
        Renewed leases that expire within `renewed_s` are taken over.
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
            whole=int(self.whole),
            names=b"".join(map(field, names)),
        )
        return [_GRANT[grant] for grant in grants]

    def renew(self, names: Sequence[str], lease_s: float) -> int:
        """Let leases expire after some seconds; returns how many: a released one stays free."""
        if not names:
            return 0
        fields = b"".join(map(field, names))
        return int(
            _script("lease_renew").run(
                self.client, leases=self.key, lease_s=lease_s, whole=int(self.whole), names=fields
            )
        )

    def release(self, names: Sequence[str]) -> None:
        """Release leases; releasing a free one has no effect."""
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
        now = now_s + (0 if self.whole else now_us / 1_000_000)
        return [max(0.0, _until_s(value) - now) for value in values]

    def count(self) -> int:
        """How many leases there are, with expired ones that were not swept yet."""
        return int(self.client.hlen(self.key))

    def sweep(self) -> int:
        """Delete expired leases, in steps of about 500; returns how many."""
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
