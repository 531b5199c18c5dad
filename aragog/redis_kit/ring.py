"""
A ring of Redis servers: consistent hashing assigns each key to one of them.

Adding a server moves 1/N of the keys. For the limiter, whose keys are domains: a domain that moves
starts with empty state at its new node, and while workers have different lists, two nodes may each
grant a permit. Change the list on all workers at once (docs/adr/0006).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from uhashring import HashRing

from aragog.errors import ConfigError
from aragog.secret import without_password

T = TypeVar("T")


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
        """Return the node of `key`, which is the same in every process; about 1 µs."""
        return self.nodes[0] if len(self.nodes) == 1 else str(self._ring.get_node(key))

    def group(self, items: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
        """Group (key, item) pairs by the node of the key; keeps the order within a node."""
        grouped: dict[str, list[T]] = {}
        for key, item in items:
            grouped.setdefault(self.node_for(key), []).append(item)
        return grouped
