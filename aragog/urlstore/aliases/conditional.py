"""
Conditional writes: one at a time a node, by a lock cell that runs out.

HBase compares one cell and puts one cell, so the version is compared under a lock. A writer that
writes without a condition meanwhile is not held up; the version that it sets is noticed up to the
moment of the comparison.
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
    """Writes if the version is as expected."""

    def __init__(self, zen: Zen, clock: Clock) -> None:
        self._zen = zen
        self._properties = zen.nodes
        self._lock = zen.nodes.lock(nodes.LOCK, LOCK_MS, clock)

    def write(self, url: str, expected: str, puts: Sequence[Mutation]) -> None:
        """
        Write `puts` if the node of `url` has the version `expected`; "" means none.

        Raises:
            VersionConflict: it has another, or is being written; nothing changed.
        """
        row = node_id(url)
        token = self._lock.acquire(row)
        if token is None:
            raise VersionConflict(url, expected, "one that is being written")
        try:
            found = text(self._properties.get(row, [nodes.VERSION]), nodes.VERSION) or ""
            if found != expected:
                raise VersionConflict(url, expected, found)
            self._zen.mutate(puts)
        finally:
            self._lock.release(row, token)
