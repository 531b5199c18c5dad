"""
Several Redis servers that share keys by consistent hashing, or a single one.

Adding a server assigns 1/N of the keys to it, but does not move their values: the values on the
other servers are no longer read. The limiter moves its state itself (docs/adr/0085).
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
    Clients of the servers, and the assignment of keys to them.

    Args:
        clients: clients by URL. All processes must have the same URLs, with the same one first;
            the order of the others does not matter.
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
        """Wrap a client as a single node. Nodes are returned unchanged."""
        return client if isinstance(client, RedisNodes) else cls({"": client})

    @property
    def clients(self) -> tuple[redis.Redis, ...]:
        """The client of each server."""
        return tuple(self._clients.values())

    @property
    def first(self) -> redis.Redis:
        """The client of the first server, for keys that are not distributed."""
        return self.clients[0]

    def client(self, key: str) -> redis.Redis:
        """The client of the server to which `key` is assigned."""
        return self._clients[self._ring.node_for(key)]

    def group(self, items: Iterable[tuple[str, T]]) -> list[tuple[redis.Redis, list[T]]]:
        """Group (key, item) pairs by the key's server; keeps the order within a server."""
        return [(self._clients[node], part) for node, part in self._ring.group(items).items()]

    def close(self) -> None:
        """Close the connections."""
        for client in self.clients:
            client.close()


class Ring:
    """
    Assigns keys to nodes. The order of the nodes does not matter.

    Args:
        nodes: URLs of the servers.
        setting: the setting that lists them, for error messages.

    Raises:
        ConfigError: the list is empty or has duplicates.
    """

    def __init__(self, nodes: Sequence[str], setting: str = "politeness.limiter_urls") -> None:
        if not nodes:
            raise ConfigError(f"{setting}: is empty; name at least one Redis server")
        twice = sorted({node for node in nodes if list(nodes).count(node) > 1})
        if twice:
            shown = without_password(twice[0])
            raise ConfigError(f"{setting}: {shown!r} is listed twice; remove one")
        self.nodes = tuple(nodes)
        self._ring = HashRing(list(nodes))

    def node_for(self, key: str) -> str:
        """Return the node of `key`, which is the same in every process. Takes about 1 µs."""
        return self.nodes[0] if len(self.nodes) == 1 else str(self._ring.get_node(key))

    def group(self, items: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
        """Group (key, item) pairs by the key's node; keeps the order within a node."""
        grouped: dict[str, list[T]] = {}
        for key, item in items:
            grouped.setdefault(self.node_for(key), []).append(item)
        return grouped
