"""The limiter's nodes, each of which decides for its share of the domains."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from aragog.politeness.ratelimit.nodes.node import LimiterNode
from aragog.redis_kit.nodes import Ring

T = TypeVar("T")


class NodeRing:
    """
    Nodes by domain, by consistent hashing. Nothing is connected before a node's first call.

    Args:
        urls: of the Redis servers.
        prefix: the start of every key.
        hold_us: how long a pre-granted permit lasts.

    Raises:
        ConfigError: `urls` is empty, has duplicates, or one that is not a Redis URL.
    """

    def __init__(self, urls: Sequence[str], prefix: str, hold_us: int) -> None:
        self._ring = Ring(urls)
        self._nodes = {url: LimiterNode(url, prefix, hold_us) for url in urls}

    def __iter__(self) -> Iterator[LimiterNode]:
        return iter(self._nodes.values())

    def of(self, key: str) -> LimiterNode:
        """The node that decides for a domain."""
        return self._nodes[self._ring.node_for(key)]

    def first(self) -> LimiterNode:
        """The node that was named first."""
        return self._nodes[self._ring.nodes[0]]

    def group(self, items: Iterable[tuple[str, T]]) -> Iterator[tuple[LimiterNode, list[T]]]:
        """(domain, item) pairs by node, in their order within a node."""
        for url, group in self._ring.group(items).items():
            yield self._nodes[url], group
