"""
Several Redis servers that share keys by consistent hashing, or a single one.

A server that is added takes over its share of the keys without their values: what the others hold
for these keys is not read any more. Change the list on all machines at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import redis

from aragog.redis_kit.ring import Ring

T = TypeVar("T")


class RedisNodes:
    """
    Clients of the servers, and which of them has a key.

    Args:
        clients: by URL. The same URLs in every process; only which is the first matters of their
            order.
    """

    def __init__(self, clients: Mapping[str, redis.Redis]) -> None:
        self._clients = dict(clients)
        self._ring = Ring(list(clients), setting="redis.nodes")

    @classmethod
    def connect(cls, urls: Sequence[str], open_client: Callable[[str], redis.Redis]) -> RedisNodes:
        """The nodes at these URLs, each with a client from `open_client`."""
        return cls({url: open_client(url) for url in urls})

    @classmethod
    def of(cls, client: redis.Redis | RedisNodes) -> RedisNodes:
        """One client as a single node; nodes as they are."""
        return client if isinstance(client, RedisNodes) else cls({"": client})

    @property
    def clients(self) -> tuple[redis.Redis, ...]:
        """The client of each server."""
        return tuple(self._clients.values())

    @property
    def first(self) -> redis.Redis:
        """The client of the first server, for what is not shared."""
        return self.clients[0]

    def client(self, key: str) -> redis.Redis:
        """The client of the server that has `key`."""
        return self._clients[self._ring.node_for(key)]

    def group(self, items: Iterable[tuple[str, T]]) -> list[tuple[redis.Redis, list[T]]]:
        """Group (key, item) pairs by the server of the key; keeps the order within a server."""
        return [(self._clients[node], part) for node, part in self._ring.group(items).items()]

    def close(self) -> None:
        """Close the connections."""
        for client in self.clients:
            client.close()
