"""
One Redis server, or several servers that share keys by consistent hashing.

A new server takes over 1/N of the keys, but not their values. The old values stay on the other
servers and are no longer read. The limiter moves its state itself (docs/adr/0085).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TypeVar

import redis
from uhashring import HashRing

from aragog.errors import ConfigError
from aragog.runtime.secret import without_password

T = TypeVar("T")


class RedisNodes:
    """
    Clients for all servers, and each key's server.

    Args:
        clients: clients by URL. All processes must use the same URLs, with the same one first; the
            order of the others does not matter.
    """

    def __init__(self, clients: Mapping[str, redis.Redis]) -> None:
        self._clients = dict(clients)
        self._ring = Ring(list(clients), setting="redis.nodes")

    @classmethod
    def connect(cls, urls: Sequence[str], open_client: Callable[[str], redis.Redis]) -> RedisNodes:
        return cls({url: open_client(url) for url in urls})

    @classmethod
    def wrap(cls, client: redis.Redis | RedisNodes) -> RedisNodes:
        """Wrap a client as the only node. Returns nodes unchanged."""
        return client if isinstance(client, RedisNodes) else cls({"": client})

    @property
    def clients(self) -> tuple[redis.Redis, ...]:
        return tuple(self._clients.values())

    @property
    def first(self) -> redis.Redis:
        """The first server's client, for keys that are not distributed."""
        return self.clients[0]

    def client(self, key: str) -> redis.Redis:
        return self._clients[self._ring.node_for(key)]

    def group(self, items: Iterable[tuple[str, T]]) -> list[tuple[redis.Redis, list[T]]]:
        """Group (key, item) pairs by server, in order."""
        groups = self._ring.group(items)
        return [(self._clients[node], node_items) for node, node_items in groups.items()]

    def close(self) -> None:
        for client in self.clients:
            client.close()


class Ring:
    """
    Assigns keys to nodes by consistent hashing. The order of the nodes does not matter.

    Args:
        nodes: the servers' URLs.
        setting: the setting that lists them, for error messages.

    Raises:
        ConfigError: the list is empty or contains duplicates.
    """

    def __init__(self, nodes: Sequence[str], setting: str = "politeness.limiter_urls") -> None:
        if not nodes:
            raise ConfigError(f"{setting}: is empty; list at least one Redis server")
        duplicates = sorted({node for node in nodes if list(nodes).count(node) > 1})
        if duplicates:
            masked_url = without_password(duplicates[0])
            raise ConfigError(f"{setting}: {masked_url!r} is listed twice; remove one")
        self.nodes = tuple(nodes)
        self._ring = HashRing(list(nodes))

    def node_for(self, key: str) -> str:
        """Return the node of `key`, the same in every process. Takes about 1 µs."""
        return self.nodes[0] if len(self.nodes) == 1 else str(self._ring.get_node(key))

    def group(self, items: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
        """Group (key, item) pairs by node, in order."""
        grouped: dict[str, list[T]] = {}
        for key, item in items:
            grouped.setdefault(self.node_for(key), []).append(item)
        return grouped
