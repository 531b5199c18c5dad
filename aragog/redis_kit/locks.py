"""
Locks that expire, many in one round trip.

A lock belongs to a task, not to a process: the process that finishes the task releases the lock, on
whichever machine received its message. A lock that is not released expires.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import redis


class ExpiringLocks:
    """
    Locks by name. Every method is one round trip and raises `redis.RedisError`.

    Args:
        client: of the shared server.
        prefix: put before every name to make its key.
        ttl_ms: lifetime of a lock after it was acquired.
    """

    def __init__(self, client: redis.Redis, *, prefix: str, ttl_ms: int) -> None:
        self._redis = client
        self._prefix = prefix
        self.ttl_ms = ttl_ms

    def key(self, name: str) -> str:
        """The Redis key of a lock, for scripts that write data and release the lock in one step."""
        return self._prefix + name

    def acquire(self, names: Sequence[str]) -> list[bool]:
        """For each name in order: True if the caller now owns the lock."""
        if not names:
            return []
        with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.set(self.key(name), 1, nx=True, px=self.ttl_ms)
            return [bool(acquired) for acquired in pipe.execute()]

    def set_ttl(self, ttl_ms: Mapping[str, int]) -> None:
        """Make each lock expire in so many milliseconds from now, whether it existed or not."""
        if not ttl_ms:
            return
        with self._redis.pipeline(transaction=False) as pipe:
            for name, ms in ttl_ms.items():
                pipe.set(self.key(name), 1, px=ms)
            pipe.execute()

    def remaining_ms(self, names: Sequence[str]) -> list[int]:
        """For each name in order: milliseconds until its lock expires; 0 if it is free."""
        if not names:
            return []
        with self._redis.pipeline(transaction=False) as pipe:
            for name in names:
                pipe.pttl(self.key(name))
            return [max(0, ms) for ms in pipe.execute()]

    def release(self, names: Sequence[str]) -> None:
        """Release the locks; releasing a free one has no effect."""
        if names:
            self._redis.delete(*map(self.key, names))
