"""
Walks through sites' sitemaps: which sitemap files were requested, and how many URLs they listed.

A walk starts when a user enqueues a sitemap. Sitemap indexes may list each other, so a walk
requests each file only once. The numbers of files and URLs are limited. A walk is identified by the
request ID of its call and the site's registered domain.

Tasks may run twice. Files are recorded after they were enqueued, so none is lost. A file's entries
are counted only when it is first read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import redis

from pinlater.redis.errors import redis_errors
from urlspelling import url_key
from urlspelling.domain import registered_domain

TTL_S = 7 * 86_400
"""How long a walk is kept after its last file."""
ERROR_SOURCE = "redis, sitemap walks"
_URLS = b"urls"
_ENQUEUED, _READ = b"0", b"1"


class Walk(NamedTuple):
    """One walk."""

    request_id: str
    domain: str
    """The site's registered domain."""


class WalkSize(NamedTuple):
    """How much of a site a walk has found so far."""

    files: int
    urls: int


class SitemapWalks:
    """
    The walks of one installation.
    Each call takes one round trip and may raise `BrokerUnavailable`.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}walk:"

    def forget_earlier(self, request_id: str, urls: Iterable[str]) -> None:
        """Forget earlier walks with the same request ID through these sitemaps' sites."""
        keys = {self._key(Walk(request_id, registered_domain(url))) for url in urls}
        if keys:
            with redis_errors(ERROR_SOURCE):
                self._redis.delete(*keys)

    def unseen_files(self, walk: Walk, files: Sequence[str]) -> list[str]:
        """Return the files (normalized URLs) not recorded yet, without duplicates, in order."""
        distinct = list(dict.fromkeys(files))
        if not distinct:
            return []
        with redis_errors(ERROR_SOURCE):
            states: Any = self._redis.hmget(self._key(walk), [url_key(url) for url in distinct])
        return [url for url, state in zip(distinct, states, strict=True) if state is None]

    def record_enqueued(self, walk: Walk, files: Sequence[str]) -> None:
        if not files:
            return
        key = self._key(walk)
        with redis_errors(ERROR_SOURCE), self._redis.pipeline() as pipe:
            for url in files:
                pipe.hsetnx(key, url_key(url), _ENQUEUED)
            pipe.expire(key, TTL_S)
            pipe.execute()

    def record_read(self, walk: Walk, files: Sequence[str], urls: int) -> WalkSize:
        """
        Record that a file was read, and that it lists this many `urls`.

        `files` are the URLs of this file, before and after redirects.

        Returns:
            The walk's size, not counting this file's URLs.
        """
        key, first_file_key = self._key(walk), url_key(files[0])
        with redis_errors(ERROR_SOURCE), self._redis.pipeline() as pipe:
            pipe.hget(key, first_file_key)
            for url in files:
                pipe.hset(key, url_key(url), _READ)
            pipe.hget(key, _URLS)
            pipe.hlen(key)
            pipe.expire(key, TTL_S)
            state, *_, urls_before, fields, _ = pipe.execute()
            if state != _READ:
                self._redis.hincrby(key, _URLS, urls)
        other_urls = int(urls_before or 0) - (urls if state == _READ else 0)
        return WalkSize(fields - (urls_before is not None), max(0, other_urls))

    def _key(self, walk: Walk) -> str:
        return f"{self._prefix}{walk.request_id}:{walk.domain}"
