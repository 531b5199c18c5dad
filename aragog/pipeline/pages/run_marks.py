"""
Marks of batches whose analysis began, to find those whose process was killed during it.

A mark is a counter in Redis under the batch's body tokens, made before the first page is read and
dropped when the run ends, however it ends; only the loss of the process leaves it. The next run
then knows, on whichever machine it is. Marks expire after `pipeline.spool_ttl_s`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import redis

MAX_RUNS_LOST = 2
"""Of a page on its own. One may be lost to a restart or a full machine, hardly two."""


class RunMarks:
    """The marks. Best effort: where Redis does not answer or is full, no run counts as lost."""

    def __init__(self, client: redis.Redis, *, prefix: str, ttl_s: float) -> None:
        self._redis = client
        self._prefix = f"{prefix}run:"
        self._ttl_ms = int(ttl_s * 1000)

    def begin(self, tokens: Sequence[str]) -> int:
        """Mark a run of the batch; how many earlier ones never ended. One round trip."""
        with suppress(redis.RedisError), self._redis.pipeline(transaction=False) as pipe:
            key = self._key(tokens)
            pipe.incr(key)
            pipe.pexpire(key, self._ttl_ms)
            counts: list[Any] = pipe.execute()
            return int(counts[0]) - 1
        return 0

    def end(self, tokens: Sequence[str]) -> None:
        """The run is over. Doing it twice is harmless."""
        with suppress(redis.RedisError):
            self._redis.delete(self._key(tokens))

    def _key(self, tokens: Sequence[str]) -> str:
        return self._prefix + hashlib.sha256(" ".join(tokens).encode()).hexdigest()[:24]
