"""
URLs that workers enqueue for a run: followed links and entries of sitemaps.

A producer knows the URLs that it enqueues itself. One that waits until everything that came of them
is done, as `aragog run` does, begins a list in Redis, and takes from it the URLs that workers
enqueued. It expires soon after the producer has ended.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import redis

from aragog.redis_kit.errors import redis_errors

RUN = "run-"
"""The beginning of the request ids whose URLs are listed."""
KEPT_S = 600
WHERE = "redis, followed URLs"
_FIRST = b"-"
"""The first element, which is never taken, because Redis deletes an empty list."""


class FollowedUrls:
    """The lists of one system. Every call is one round trip and may raise `BrokerUnavailable`."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}followed:"

    def begin(self) -> str:
        """Begin a list; returns the request id whose URLs it gets."""
        request_id = RUN + secrets.token_urlsafe(9)
        with redis_errors(WHERE):
            self._redis.rpush(self._prefix + request_id, _FIRST)
            self._redis.expire(self._prefix + request_id, KEPT_S)
        return request_id

    def note(self, request_id: str, urls: Sequence[str]) -> None:
        """Add normalized URLs, if somebody waits for those of this request id."""
        if urls and request_id.startswith(RUN):
            with redis_errors(WHERE):
                self._redis.rpushx(self._prefix + request_id, *urls)

    def take(self, request_id: str) -> list[str]:
        """Remove and return the URLs that were added since the last call."""
        key = self._prefix + request_id
        with redis_errors(WHERE), self._redis.pipeline() as pipe:
            pipe.lrange(key, 1, -1)
            pipe.ltrim(key, 0, 0)
            pipe.expire(key, KEPT_S)
            urls, _, _ = pipe.execute()
        return [url.decode() for url in urls]

    def end(self, request_id: str) -> None:
        """Delete the list."""
        with redis_errors(WHERE):
            self._redis.delete(self._prefix + request_id)
