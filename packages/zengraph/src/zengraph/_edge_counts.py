"""
Stored edge counts: cells in node rows, updated after the edges are written.

If a writer is killed before the update, or two writers put or remove the same edge at the same
time, the counts are wrong until a recount.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable

from zengraph._parallel_edges import count_column
from zengraph._properties import Cell
from zengraph._simple_edge_rows import EdgeKey, decode_count, encode_count
from zengraph.tables import CellTable

_MAX_SINGLE_CHANGES = 2
"""Up to this many counts are incremented one at a time. An edge changes two."""


class EdgeCounts:
    """Edge counts of the types in `Schema.counted`, in both directions."""

    def __init__(self, nodes: CellTable, counted: Collection[int]) -> None:
        self._nodes = nodes
        self._counted = frozenset(counted)

    def __contains__(self, edge_type: int) -> bool:
        return edge_type in self._counted

    def read_count(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        column = count_column(direction, edge_type)
        cell: Cell | None = self._nodes.get(node_id, [column]).get(column)
        return decode_count(None if cell is None else cell.value)

    def correct(self, node_id: bytes, direction: bytes, edge_type: int, actual: int) -> int:
        """Set a count to the actual number, and return how much too high it was."""
        excess = self.read_count(node_id, direction, edge_type) - actual
        if excess:
            self._nodes.incr(node_id, count_column(direction, edge_type), -excess)
        return excess

    def change(self, pairs: Iterable[EdgeKey], delta: int) -> None:
        changes: Counter[tuple[bytes, bytes]] = Counter()
        for pair in pairs:
            if pair.edge_type in self._counted:
                changes.update(dict.fromkeys(pair.counts, delta))
        if len(changes) > _MAX_SINGLE_CHANGES:
            self._change_rows(changes)
        for (node_id, column), change in changes.items():
            self._nodes.incr(node_id, column, change)

    def _change_rows(self, changes: Counter[tuple[bytes, bytes]]) -> None:
        """Apply changes and remove them from `changes`, except where another writer interferes."""
        count_keys = list(changes)
        rows = self._nodes.get_many(
            list(dict.fromkeys(node_id for node_id, _ in count_keys)),
            list(dict.fromkeys(column for _, column in count_keys)),
        )
        found = [rows.get(node_id, {}).get(column) for node_id, column in count_keys]
        before = [None if cell is None else cell.value for cell in found]
        written = self._nodes.check_and_put_many(
            [
                (node_id, column, old, encode_count(decode_count(old) + changes[node_id, column]))
                for (node_id, column), old in zip(count_keys, before, strict=True)
            ]
        )
        for count_key, done in zip(count_keys, written, strict=True):
            if done:
                del changes[count_key]
