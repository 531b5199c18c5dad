"""
The hosts, domains and URLs that were taken down: a copy in Redis of the store's, for producers.

It saves messages and informs callers immediately. If Redis lost the copy, or does not have a new
takedown yet, the fetch and store stages refuse the URLs: they ask the store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import redis

from aragog.hosts import and_parents
from aragog.redis_kit.errors import redis_errors
from aragog.urls.domain import host
from aragog.urlstore.tombstones import DOMAIN, HOST, URL


class SiteBlocks:
    """One Redis set. Every call raises `BrokerUnavailable` when Redis does not answer."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}taken_down"

    def refused(self, urls: Sequence[str]) -> set[str]:
        """The normalized URLs that were taken down, or their site; usually one round trip."""
        with redis_errors("taken down hosts"):
            if not urls or not self._redis.scard(self._key):
                return set()
            names = {name: _entries(name) for name in map(host, urls)}
            entries = sorted(set().union(*names.values(), (f"{URL}:{url}" for url in urls)))
            found = self._redis.smismember(self._key, entries)
            blocked_entries = {entry for entry, is_in in zip(entries, found, strict=True) if is_in}
        return {
            url
            for url in urls
            if f"{URL}:{url}" in blocked_entries or blocked_entries & names[host(url)]
        }

    def replace(self, listed: Iterable[tuple[str, str]]) -> None:
        """Replace the copy by what the store lists: (kind, name) each (`Takedowns.listed`)."""
        entries = [f"{kind}:{name}" for kind, name in listed]
        with redis_errors("taken down hosts"), self._redis.pipeline() as pipe:
            pipe.delete(self._key)
            if entries:
                pipe.sadd(self._key, *entries)
            pipe.execute()


def _entries(name: str) -> set[str]:
    return {f"{HOST}:{name}", *(f"{DOMAIN}:{parent}" for parent in and_parents(name))}
