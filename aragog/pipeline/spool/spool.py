"""
The spool: where bodies wait between two stages, in Redis, each under a token (a claim check).

It is bounded (`aragog.pipeline.spool.bounds`). What a fetch brings is taken while there is room for
it; what later stages put is always taken, for only they make room again. A body stays until it is
freed. One that nobody has put or read for a while and no waiting message names is an orphan (its
worker was killed, its queue purged), and `aragog.pipeline.spool.reclaim` frees it.

Tokens are random, so a stage that runs twice never overwrites what another run has announced.
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

# `maxmemory` may be changed while we run.
BOUNDS_FRESH_S = 60.0
# Of a compressed body, before any was seen.
FIRST_GUESS_BYTES = 16_384.0


class SpoolState(NamedTuple):
    """How full the spool is."""

    used_bytes: int
    closed: bool
    """It reached its high mark and is not below its low mark yet: ordinary fetches wait."""
    full: bool
    """Urgent fetches wait as well."""


class Spool:
    """
    Blobs under tokens. One or two round trips a call; every call raises `SpoolUnavailable`.

    Args:
        client: answers bytes.
        prefix: put before every key.
        max_bytes: `pipeline.spool_max_bytes`; None: a share of the server's memory.
        clock: only its stopwatch is used.
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
        """Keep the blobs of a later stage, in any case; their tokens, in order."""
        return self._put_within(blobs, 0)

    def reserve(self, count: int) -> str | None:
        """
        Room for so many bodies of a fetch, by what bodies took lately; None: there is none.

        The reservation counts until `offer_many` or `free` is given it.
        """
        size = count * int(self._mean_bytes)
        tokens = self._put_within([b""], self.bounds().fetch_bytes, sizes=[size])
        return tokens[0] if tokens else None

    def offer_many(self, blobs: Sequence[bytes], reservation: str = "") -> list[str] | None:
        """
        Keep the bodies of a fetch, in the place of a reservation if there is one.

        Their tokens, in order, or None: there is no room for all; then nothing has changed.
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
        """The blobs, in order; None where a token was freed. They count as in use from now."""
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
        """Forget the blobs; unknown tokens do no harm."""
        self._forget(tokens, 0)

    def state(self) -> SpoolState:
        """How full it is; closes and opens it for everybody, by its marks."""
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
        """Tokens that nobody has put or read for so long, the longest idle first."""
        with _our_errors():
            found = _script("idle").run(
                self._redis, index=self._index_key, idle_ms=int(for_s * 1000), limit=limit
            )
        return [token.decode() for token in found]

    def touch(self, tokens: Sequence[str]) -> None:
        """They are in use."""
        if tokens:
            with _our_errors():
                _script("touch").run(
                    self._redis, spool=self._spool_key, index=self._index_key, tokens=tokens
                )

    def free_idle(self, tokens: Sequence[str], for_s: float) -> int:
        """Forget those that nobody has put or read for so long; how many."""
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
        """Its bounds; without `pipeline.spool_max_bytes` they follow the server's memory."""
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
