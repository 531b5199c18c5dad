"""
The seeds of scheduled crawls, in the Redis of `redis.url`.

    crawls.seeds:<name>  hash  normalized URL -> its enqueue options, as JSON

Every URL enqueued under the name of a scheduled crawl is a seed. Links on pages are not seeds: they
carry only the crawl's number. Adding a seed twice has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import orjson
import redis

from aragog.errors import BadInput
from pinlater.redis.errors import redis_errors

MAX_SEEDS = 100_000
_GROUP_SIZE = 1_000


class CrawlSeeds:
    """The seeds of one installation. Every call may raise `BrokerUnavailable`."""

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._prefix = f"{prefix}crawls.seeds:"

    def add(self, name: str, urls: Sequence[str], options: Mapping[str, Any]) -> None:
        """
        Add normalized URLs. Each round enqueues them with these options.

        Raises:
            BadInput: the crawl would have more than `MAX_SEEDS` seeds, so none was added.
        """
        if not urls:
            return
        key, options_json = self._prefix + name, orjson.dumps(dict(options))
        with _translate_errors():
            if int(self._redis.hlen(key)) + len(urls) > MAX_SEEDS:
                stored: Any = self._redis.hmget(key, list(urls))
                if int(self._redis.hlen(key)) + stored.count(None) > MAX_SEEDS:
                    raise BadInput(
                        f"crawl: {name} runs on a schedule, so it can have at most "
                        f"{MAX_SEEDS:,} seeds; use hub pages or sitemaps as seeds"
                    )
            self._redis.hset(key, mapping=dict.fromkeys(urls, options_json))

    def count(self, name: str) -> int:
        with _translate_errors():
            return int(self._redis.hlen(self._prefix + name))

    def walk(self, name: str) -> Iterator[tuple[dict[str, Any], list[str]]]:
        """Yield pairs: enqueue options, and up to 1,000 of the crawl's seeds with these options."""
        groups: dict[bytes, list[str]] = {}
        with _translate_errors():
            for url, wire in self._redis.hscan_iter(self._prefix + name, count=_GROUP_SIZE):
                group = groups.setdefault(wire, [])
                group.append(url.decode())
                if len(group) >= _GROUP_SIZE:
                    yield orjson.loads(wire), groups.pop(wire)
        for wire, urls in groups.items():
            yield orjson.loads(wire), urls

    def delete(self, name: str) -> None:
        with _translate_errors():
            self._redis.unlink(self._prefix + name)


def _translate_errors() -> AbstractContextManager[None]:
    return redis_errors("redis.url, seeds of crawls")
