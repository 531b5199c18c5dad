"""
Records the pages whose links an enqueue call has followed, and to what depth.

A call that follows links may reach a page through many links. Without these records, it would
follow the page's links again each time. If the call refreshes pages, it would also fetch the page
once per link.

Each call that follows links has one Redis hash per server, with about 65 bytes per page. The hash
expires two days after its last page was added. A page is recorded after its links were enqueued. If
the task is killed in between, they are enqueued again, which is harmless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import redis

from aragog.crawl.shared_redis.nodes import RedisNodes
from pinlater.redis.errors import redis_errors
from urlspelling import url_key

TTL_S = 172_800
"""As long as an entry of the in-flight set, because URLs of the call may wait that long."""
MAX_PAGES = 5_000_000
"""Maximum number of pages that a server records per call. They take 330 MB."""
FULL = -1
ERROR_SOURCE = "redis, followed pages"


class FollowedPages:
    """
    The records of one installation. Each call takes one round trip per server and may raise
    `BrokerUnavailable`.
    """

    def __init__(
        self, nodes: redis.Redis | RedisNodes, *, prefix: str, max_pages: int = MAX_PAGES
    ) -> None:
        self._nodes = RedisNodes.wrap(nodes)
        self._prefix = f"{prefix}followed_pages:"
        self._max_pages = max_pages

    def depths(self, request_id: str, urls: Sequence[str]) -> list[int | None]:
        """
        Return the depth to which each normalized URL's links were followed.

        If they were not followed yet, the depth is None, or `FULL` if the call has recorded its
        maximum number of pages.
        """
        depths: list[int | None] = [None] * len(urls)
        with redis_errors(ERROR_SOURCE):
            for client, indexes in self._nodes.group(
                (url, index) for index, url in enumerate(urls)
            ):
                values, pages = self._read_server(
                    client, request_id, [urls[index] for index in indexes]
                )
                default = None if pages < self._max_pages else FULL
                for index, value in zip(indexes, values, strict=True):
                    depths[index] = default if value is None else int(value)
        return depths

    def _read_server(
        self, client: redis.Redis, request_id: str, urls: Sequence[str]
    ) -> tuple[list[bytes | None], int]:
        with client.pipeline(transaction=False) as pipe:
            pipe.hmget(self._prefix + request_id, [_hash_field(url) for url in urls])
            pipe.hlen(self._prefix + request_id)
            values, pages = pipe.execute()
        return values, pages

    def add(self, request_id: str, depths: Mapping[str, int]) -> None:
        with redis_errors(ERROR_SOURCE):
            for client, urls in self._nodes.group((url, url) for url in depths):
                mapping: dict[Any, Any] = {_hash_field(url): depths[url] for url in urls}
                # In one transaction, so that the hash expires even if the worker is killed.
                with client.pipeline() as pipe:
                    pipe.hset(self._prefix + request_id, mapping=mapping)
                    pipe.expire(self._prefix + request_id, TTL_S)
                    pipe.execute()


def _hash_field(url: str) -> bytes:
    """Return half of the URL key. With 5 million pages, one in a million calls has a collision."""
    return url_key(url)[8:]
