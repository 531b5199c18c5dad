"""
The followed links and sitemap entries that workers enqueue for a run.

A producer that also waits for linked pages, such as `aragog run`, creates a list in Redis. Workers
add the URLs that they enqueue for the run. The list expires soon after the producer has ended.

An element consists of `=`, a depth, a space and a URL. Without `=`, the URL was already in flight
for another call or with a smaller depth, so the run must enqueue it again when that fetch is done.
Version 0.1 wrote only the URL.
"""

from __future__ import annotations

import secrets
from collections import OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import redis

from pinlater.redis.errors import redis_errors

RUN_PREFIX = "run-"
"""Prefix of the request IDs of runs with a list."""
TTL_S = 600
ERROR_SOURCE = "redis, followed URLs"
_PLACEHOLDER = b"-"
"""The first element. It stays in the list, because Redis deletes empty lists."""


MAX_REMEMBERED_URLS = 65_536


class FollowedUrl(NamedTuple):
    """A URL that a worker enqueued for a run, or found in flight."""

    url: str
    depth: int = 0
    """The depth to which the run follows the URL's links."""
    was_in_flight: bool = False


class FollowedUrls:
    """
    The lists of one installation.
    Each call takes one round trip and may raise `BrokerUnavailable`.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}followed:"
        self._recently_added: OrderedDict[int, None] = OrderedDict()
        """Hashes of URLs that `add_in_flight` added. A site's pages often have the same links."""

    def create_list(self) -> str:
        """Create a list. Returns the request ID for its URLs."""
        request_id = RUN_PREFIX + secrets.token_urlsafe(9)
        # In one transaction: if the caller were killed in between, the list would grow forever.
        with redis_errors(ERROR_SOURCE), self._redis.pipeline() as pipe:
            pipe.rpush(self._prefix + request_id, _PLACEHOLDER)
            pipe.expire(self._prefix + request_id, TTL_S)
            pipe.execute()
        return request_id

    def add_enqueued(self, request_id: str, urls: Sequence[str], depth: int) -> None:
        """Add enqueued URLs (normalized), if a caller is waiting for this request ID."""
        self._push(request_id, [f"={depth} {url}" for url in urls])

    def add_in_flight(self, request_id: str, urls: Sequence[str], depth: int) -> None:
        """Add URLs already in flight (normalized), if a caller is waiting for this request ID."""
        if request_id.startswith(RUN_PREFIX):
            new_urls = [u for u in urls if self._remember_if_new(hash((request_id, u, depth)))]
            self._push(request_id, [f"{depth} {url}" for url in new_urls])

    def _push(self, request_id: str, elements: Sequence[str]) -> None:
        if elements and request_id.startswith(RUN_PREFIX):
            with redis_errors(ERROR_SOURCE):
                self._redis.rpushx(self._prefix + request_id, *elements)

    def _remember_if_new(self, key: int) -> bool:
        if key in self._recently_added:
            return False
        self._recently_added[key] = None
        if len(self._recently_added) > MAX_REMEMBERED_URLS:
            self._recently_added.popitem(last=False)
        return True

    def take(self, request_id: str) -> list[FollowedUrl]:
        """Remove and return the URLs added since the previous call. May contain duplicates."""
        key = self._prefix + request_id
        with redis_errors(ERROR_SOURCE), self._redis.pipeline() as pipe:
            pipe.lrange(key, 1, -1)
            pipe.ltrim(key, 0, 0)
            pipe.expire(key, TTL_S)
            urls, _, _ = pipe.execute()
        return [_parse_element(element.decode()) for element in urls]

    def delete_list(self, request_id: str) -> None:
        with redis_errors(ERROR_SOURCE):
            self._redis.delete(self._prefix + request_id)


def _parse_element(element: str) -> FollowedUrl:
    depth, space, url = element.partition(" ")
    if not space:
        return FollowedUrl(element)
    return FollowedUrl(url, int(depth.removeprefix("=")), was_in_flight=not depth.startswith("="))
