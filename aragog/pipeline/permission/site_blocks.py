"""
The hosts and domains that were taken down: a copy in Redis of the store's, for producers.

It saves messages and informs callers immediately. If Redis lost the copy, or does not have a new
takedown yet, the fetch and store stages refuse the URLs: they ask the store itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import redis

from aragog.redis_kit.errors import redis_errors
from aragog.urls.domain import host
from aragog.urlstore.takedowns.tombstones import DOMAIN, HOST, parents


class SiteBlocks:
    """One Redis set. Every call raises `BrokerUnavailable` when Redis does not answer."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}taken_down"

    def refused(self, urls: Sequence[str]) -> set[str]:
        """The normalized URLs whose site was taken down; usually one round trip."""
        with redis_errors("taken down hosts"):
            if not urls or not self._redis.scard(self._key):
                return set()
            names = {name: _entries(name) for name in map(host, urls)}
            entries = sorted(set().union(*names.values()))
            with self._redis.pipeline(transaction=False) as pipe:
                for entry in entries:
                    pipe.sismember(self._key, entry)
                blocked_entries = {
                    e for e, blocked in zip(entries, pipe.execute(), strict=True) if blocked
                }
        return {url for url in urls if blocked_entries & names[host(url)]}

    def replace(self, sites: Iterable[tuple[str, str]]) -> None:
        """Replace the copy by the sites of the store: (kind, name) each."""
        entries = [f"{kind}:{name}" for kind, name in sites]
        with redis_errors("taken down hosts"), self._redis.pipeline() as pipe:
            pipe.delete(self._key)
            if entries:
                pipe.sadd(self._key, *entries)
            pipe.execute()


def _entries(name: str) -> set[str]:
    return {f"{HOST}:{name}", *(f"{DOMAIN}:{parent}" for parent in parents(name))}
