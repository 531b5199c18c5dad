"""
The spool: bodies that wait in Redis between two stages, each under a token (a claim check).

Its size is bounded (`aragog.pipeline.spool.bounds`). It accepts the bodies of fetches while there
is room. It always accepts the bodies of later stages, because only they free space again. A body
stays until it is freed. A body is an orphan when nobody has written or read it for a while and no
message names it, for example because its worker was killed or its queue was purged.
`aragog.pipeline.spool.reclaim` frees orphans.

Tokens are random, so a stage that runs twice never overwrites a body that another run announced.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, cast

import redis

from aragog.clock import Clock, SystemClock
from aragog.errors import SpoolUnavailable
from aragog.pipeline.spool.bounds import OVERHEAD_BYTES, SpoolBounds, bounds_of
from aragog.redis_kit.errors import redis_errors
from aragog.redis_kit.scripts import LuaScript, load_script

# `maxmemory` may change while the process runs.
BOUNDS_FRESH_S = 60.0
# Assumed size of a compressed body until the first one is measured.
FIRST_GUESS_BYTES = 16_384.0


class SpoolState(NamedTuple):
    """How full the spool is."""

    used_bytes: int
    closed: bool
    """It reached its high mark and has not yet fallen to its low mark: ordinary fetches wait."""
    full: bool
    """Urgent fetches wait as well."""


class Spool:
    """
    Stores blobs under tokens. A call costs one or two round trips; it may raise `SpoolUnavailable`.

    Args:
        client: a client that returns bytes.
        prefix: put before every key.
        max_bytes: `pipeline.spool_max_bytes`; None: a share of the server's memory.
        clock: only its monotonic time is used.
    """

    def __init__(
        self,
        client: redis.Redis,
        *,
        prefix: str,
        max_bytes: int | None = None,
        clock: Clock | None = None,
    ) -> None:
        self._redis = client
        self._prefix = f"{prefix}spool:"
        self._spool_key = f"{prefix}spool"
        self._index_key = f"{prefix}spool.index"
        self._max_bytes = max_bytes
        self._clock = clock or SystemClock()
        self._bounds: tuple[float, SpoolBounds] | None = None
        self._mean_bytes = FIRST_GUESS_BYTES

    def put_many(self, blobs: Sequence[bytes]) -> list[str]:
        """Store the blobs of a later stage, in any case; returns their tokens in order."""
        return self._put_within(blobs, 0)

    def reserve(self, count: int) -> str | None:
        """
        Reserve room for `count` bodies of a fetch, by their recent mean size; None: no room.

        The reservation counts as used until it is passed to `offer_many` or `free`.
        """
        size = count * int(self._mean_bytes)
        tokens = self._put_within([b""], self.bounds().fetch_bytes, sizes=[size])
        return tokens[0] if tokens else None

    def offer_many(self, blobs: Sequence[bytes], reservation: str = "") -> list[str] | None:
        """
        Store the bodies of a fetch, in place of a reservation if there is one.

        Returns their tokens in order, or None if there is no room for all; then nothing changes.
        """
        for blob in blobs:
            self._mean_bytes += (len(blob) + OVERHEAD_BYTES - self._mean_bytes) / 100
        tokens = self._put_within(blobs, self.bounds().fetch_bytes, reservation=reservation)
        return None if blobs and not tokens else tokens

    def _put_within(
        self,
        blobs: Sequence[bytes],
        limit_bytes: int,
        *,
        sizes: Sequence[int] | None = None,
        reservation: str = "",
    ) -> list[str]:
        if not blobs:
            return []
        sizes = sizes or [len(blob) + OVERHEAD_BYTES for blob in blobs]
        tokens = [f"{secrets.token_urlsafe(12)}.{size}" for size in sizes]
        with _our_errors():
            taken = _script("put").run(
                self._redis,
                spool=self._spool_key,
                index=self._index_key,
                bodies=self._bodies(tokens),
                limit_bytes=limit_bytes,
                prefix_bytes=len(self._prefix.encode()),
                reservation=reservation,
                blobs=blobs,
            )
        return tokens if taken else []

    def get_many(self, tokens: Sequence[str]) -> list[bytes | None]:
        """The blobs, in order; None for a freed token. Reading a blob resets its idle time."""
        if not tokens:
            return []
        with _our_errors(), self._redis.pipeline(transaction=False) as pipe:
            pipe.mget(self._bodies(tokens))
            _script("touch").queue(
                pipe, spool=self._spool_key, index=self._index_key, tokens=tokens
            )
            found, _ = pipe.execute()
        return cast("list[bytes | None]", found)

    def free(self, tokens: Sequence[str]) -> None:
        """Delete the blobs; unknown tokens are ignored."""
        self._forget(tokens, 0)

    def state(self) -> SpoolState:
        """How full the spool is; also closes or opens it for all processes, by its marks."""
        bounds = self.bounds()
        with _our_errors():
            used, closed = _script("state").run(
                self._redis,
                spool=self._spool_key,
                high_bytes=bounds.high_bytes,
                low_bytes=bounds.low_bytes,
            )
        return SpoolState(used, bool(closed), used >= bounds.fetch_bytes)

    def idle(self, for_s: float, limit: int) -> list[str]:
        """Tokens that nobody has written or read for `for_s`, the longest idle first."""
        with _our_errors():
            found = _script("idle").run(
                self._redis, index=self._index_key, idle_ms=int(for_s * 1000), limit=limit
            )
        return [token.decode() for token in found]

    def touch(self, tokens: Sequence[str]) -> None:
        """Reset the idle time of the tokens."""
        if tokens:
            with _our_errors():
                _script("touch").run(
                    self._redis, spool=self._spool_key, index=self._index_key, tokens=tokens
                )

    def free_idle(self, tokens: Sequence[str], for_s: float) -> int:
        """Delete those that nobody has written or read for `for_s`; returns how many."""
        return self._forget(tokens, int(for_s * 1000))

    def _forget(self, tokens: Sequence[str], idle_ms: int) -> int:
        if not tokens:
            return 0
        with _our_errors():
            freed = _script("free").run(
                self._redis,
                spool=self._spool_key,
                index=self._index_key,
                bodies=self._bodies(tokens),
                prefix_bytes=len(self._prefix.encode()),
                idle_ms=idle_ms,
            )
        return int(freed)

    def bounds(self) -> SpoolBounds:
        """The bounds; without `pipeline.spool_max_bytes` they depend on the server's memory."""
        now_s = self._clock.monotonic_s()
        if self._bounds is None or now_s - self._bounds[0] > BOUNDS_FRESH_S:
            with _our_errors():
                memory: Any = {} if self._max_bytes else self._redis.info("memory")
            self._bounds = now_s, bounds_of(self._max_bytes, memory)
        return self._bounds[1]

    def _bodies(self, tokens: Sequence[str]) -> list[str]:
        return [self._prefix + token for token in tokens]


def _script(verb: str) -> LuaScript:
    return load_script("aragog.pipeline", f"spool_{verb}")


def _our_errors() -> AbstractContextManager[None]:
    return redis_errors("spool", SpoolUnavailable)
