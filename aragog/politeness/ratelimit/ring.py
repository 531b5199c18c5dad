"""
Which limiter node decides for a domain: consistent hashing, so that adding one moves 1/N of them.

A domain that moves starts afresh at its new node: while settings differ between workers, two nodes
may each let a request go. Change the list everywhere at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from uhashring import HashRing

from aragog.errors import ConfigError
from aragog.settings.secret import without_password

T = TypeVar("T")


class Ring:
    """
    Domains to nodes, by name; the order in which nodes are listed does not matter.

    Raises:
        ConfigError: no node, or one listed twice.
    """

    def __init__(self, nodes: Sequence[str]) -> None:
        if not nodes:
            raise ConfigError("politeness.limiter_urls: is empty; name one Redis server at least")
        twice = sorted({node for node in nodes if list(nodes).count(node) > 1})
        if twice:
            shown = without_password(twice[0])
            raise ConfigError(f"politeness.limiter_urls: {shown!r} is listed twice; remove one")
        self.nodes = tuple(nodes)
        self._ring = HashRing(list(nodes))

    def node_for(self, key: str) -> str:
        """The node that decides for `key`, the same in every process; about 1 µs."""
        return self.nodes[0] if len(self.nodes) == 1 else str(self._ring.get_node(key))

    def group(self, items: Iterable[tuple[str, T]]) -> dict[str, list[T]]:
        """The second parts of `items` by the node of their key; order is kept within a node."""
        grouped: dict[str, list[T]] = {}
        for key, item in items:
            grouped.setdefault(self.node_for(key), []).append(item)
        return grouped
