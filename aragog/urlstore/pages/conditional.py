"""
Conditional writes to a node, serialized by a lock cell that expires.

HBase compares one cell and puts one cell, so the version is compared under a lock. The lock does
not delay writers without a condition; a version that they set is noticed up to the moment of the
comparison.
"""

from __future__ import annotations

from collections.abc import Sequence

from aragog.clock import Clock
from aragog.errors import VersionConflict
from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.nodes import text
from aragog.zen.graph import Zen
from aragog.zen.mutations import Mutation
from aragog.zen.node_ids import node_id

LOCK_MS = 10_000


class Conditional:
    """Writes to a node if it has the expected version."""

    def __init__(self, zen: Zen, clock: Clock) -> None:
        self._zen = zen
        self._properties = zen.nodes
        self._lock = zen.nodes.lock(nodes.LOCK, LOCK_MS, clock)

    def write(self, url: str, expected: str, puts: Sequence[Mutation]) -> None:
        """
        Write `puts` if the node of `url` has the version `expected`; "" means no version.

        Raises:
            VersionConflict: it has another version, or is being written; nothing changed.
        """
        row = node_id(url)
        token = self._lock.acquire(row)
        if token is None:
            raise VersionConflict(url, expected, "one that is being written")
        try:
            version = text(self._properties.get(row, [nodes.VERSION]), nodes.VERSION) or ""
            if version != expected:
                raise VersionConflict(url, expected, version)
            self._zen.mutate(puts)
        finally:
            self._lock.release(row, token)
