"""
Properties of nodes, each with the time of its value.

Layers that need the times use this module; applications use `_graph`. A property's name includes
its family: `m:` for properties set by applications, `s:` for system properties, `p:` for properties
of edges, `i:` for values stored with an index entry.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence

from zengraph._leases import CellLeases
from zengraph.clock import Clock
from zengraph.tables import Cell, CellSize, Row, RowSizes, Salvaged, Tables, newest_ms
from zengraph.tables.read_cache import CachedTables

__all__ = ["Cell", "CellSize", "Row", "Salvaged", "newest_ms"]


class NodeStore:
    """Reads and writes nodes. Every method may raise `StoreUnavailable`."""

    def __init__(self, tables: Tables) -> None:
        self._table = tables["n"]
        uncached = tables.uncached if isinstance(tables, CachedTables) else tables
        self._uncached = uncached["n"]

    def get(self, node_id: bytes, names: Sequence[bytes] | None = None) -> Row:
        """Return all or some properties of a node; empty if the node has none of them."""
        return self._table.get(node_id, names)

    def get_many(
        self, node_ids: Sequence[bytes], names: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        """`get` for many nodes, with one multi-get. Nodes with none of `names` are left out."""
        return self._table.get_many(node_ids, names)

    def values_many(
        self, node_ids: Sequence[bytes], names: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        """
        Return the values of `names` in that order, without times, for each node that has any of
        them.
        """
        return self._table.values_many(node_ids, names)

    def current_values_many(
        self, node_ids: Sequence[bytes], names: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        """Like `values_many`, but never from a read cache."""
        return self._uncached.values_many(node_ids, names)

    def sizes_many(self, node_ids: Sequence[bytes]) -> dict[bytes, RowSizes]:
        return self._table.sizes_many(node_ids)

    def get_prefix(
        self, node_id: bytes, prefix: bytes, limit: int, start_after: bytes = b""
    ) -> Row:
        """Return up to `limit` properties whose names begin with `prefix`, ordered by name."""
        return self._table.get_prefix(node_id, prefix, limit, start_after)

    def put(self, node_id: bytes, properties: Mapping[bytes, bytes], *, at_ms: int) -> None:
        """Set properties as of `at_ms`, atomically. Newer values are kept."""
        self._table.put(node_id, properties, at_ms=at_ms)

    def delete(self, node_id: bytes, names: Sequence[bytes], *, at_ms: int) -> None:
        """Delete properties that are not newer than `at_ms`."""
        self._table.delete(node_id, names, at_ms=at_ms)

    def delete_many(self, items: Sequence[tuple[bytes, Sequence[bytes] | None, int]]) -> None:
        """Delete many (node id, names, at_ms). The batch is not atomic; safe to repeat."""
        self._table.delete_many(items)

    def drop(self, node_id: bytes, *, at_ms: int) -> None:
        """Delete every property that is not newer than `at_ms`."""
        self._table.delete(node_id, at_ms=at_ms)

    def scan(
        self,
        start: bytes = b"",
        stop: bytes | None = None,
        *,
        names: Sequence[bytes] | None = None,
        limit: int | None = None,
    ) -> Generator[tuple[bytes, Row], None, None]:
        """Yield nodes from `start` to before `stop`. Close the generator if you stop early."""
        return self._table.scan(start, stop, columns=names, limit=limit)

    def walk(self) -> Generator[tuple[bytes, Row], None, None]:
        return self.scan()

    def leases(self, name: bytes, lease_ms: int, clock: Clock) -> CellLeases:
        """Return the leases in a property of nodes. Nothing else may write the property."""
        return CellLeases(self._table, name, lease_ms, clock)
