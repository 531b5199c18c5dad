"""
The spool: where bodies wait between two stages, in Redis, each under a token (a claim check).

A blob is kept for `pipeline.spool_ttl_s` and no longer: whoever finds its token expired sends the
URL back to `fetch`. Tokens are random, so a stage that runs twice never overwrites what another
run has announced.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import cast

import redis

from aragog.errors import SpoolUnavailable


class Spool:
    """Blobs under tokens. One round trip a call; every call raises `SpoolUnavailable`."""

    def __init__(self, client: redis.Redis, *, prefix: str, ttl_s: float) -> None:
        self._redis = client
        self._prefix = f"{prefix}spool:"
        self._ttl_ms = int(ttl_s * 1000)

    def put_many(self, blobs: Sequence[bytes]) -> list[str]:
        """Keep the blobs; their tokens, in order."""
        tokens = [secrets.token_urlsafe(12) for _ in blobs]
        if not blobs:
            return tokens
        with _our_errors(), self._redis.pipeline(transaction=False) as pipe:
            for token, blob in zip(tokens, blobs, strict=True):
                pipe.set(self._prefix + token, blob, px=self._ttl_ms)
            pipe.execute()
        return tokens

    def get_many(self, tokens: Sequence[str]) -> list[bytes | None]:
        """The blobs, in order; None where a token has expired or was freed."""
        if not tokens:
            return []
        with _our_errors():
            found = self._redis.mget([self._prefix + token for token in tokens])
        return cast("list[bytes | None]", found)

    def free(self, tokens: Sequence[str]) -> None:
        """Forget the blobs; unknown tokens do no harm."""
        if tokens:
            with _our_errors():
                self._redis.unlink(*[self._prefix + token for token in tokens])


@contextmanager
def _our_errors() -> Iterator[None]:
    try:
        yield
    except redis.RedisError as error:
        raise SpoolUnavailable("spool", str(error)) from error
