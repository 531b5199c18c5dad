"""
Move edges between rows and packed lists, after a change to `Schema.packed` or `Schema.ordered`.

An edge is written to its new place before it is deleted from its old place, so a killed repair
loses no edge. Readers do not find an edge in the wrong place until a repair has moved it.
"""

from __future__ import annotations

from contextlib import closing
from itertools import islice

from zengraph._codec import OUT
from zengraph._edge_lists import ListPlace
from zengraph._indexes import Schema
from zengraph._packed_edges import PackedEdges
from zengraph._packed_lists import PACKED
from zengraph._parallel_edges import Edge
from zengraph._simple_edge_rows import PAIR_KIND, SCORE, EdgeKey, NewEdge
from zengraph._simple_edges import SimpleEdges
from zengraph._take_rows import is_state
from zengraph.tables import Tables

_BATCH_SIZE = 500


class PackedMoves:
    """Moves the edges of a graph to where the schema requires them."""

    def __init__(
        self, tables: Tables, schema: Schema, simple: SimpleEdges, packed: PackedEdges
    ) -> None:
        self._table = tables["e"]
        self._ordered = frozenset(schema.ordered)
        self._simple = simple
        self._packed = packed

    def repair(self) -> int:
        """
        Move edges that are stored in the wrong place; return how many. Safe to repeat.

        If another process puts or takes an edge while it is being moved, the old version may
        reappear. So run this before other processes start to take edges.
        """
        moved = 0
        with closing(self._table.scan(b"", None, columns=[SCORE, PACKED])) as rows:
            while batch := list(islice(rows, _BATCH_SIZE)):
                pairs = [
                    EdgeKey(key[:16], edge_type, key[19:])
                    for key, row in batch
                    if SCORE in row
                    and key[16:17] == PAIR_KIND
                    and (edge_type := int.from_bytes(key[17:19])) in self._packed
                ]
                lists = [key for key, row in batch if PACKED in row and is_state(key)]
                moved += self._pack(pairs) + sum(map(self._reorder_or_unpack, lists))
        return moved

    def _pack(self, pairs: list[EdgeKey]) -> int:
        found = [(pair, edge) for pair in pairs if (edge := self._simple.get(pair)) is not None]
        self._packed.put([self._make_new_edge(pair, edge) for pair, edge in found], missing=True)
        self._simple.remove(pairs)
        return len(found)

    def _reorder_or_unpack(self, key: bytes) -> int:
        """Move a packed list's edges if their type is no longer packed or is now ordered."""
        source, edge_type = key[:16], int.from_bytes(key[17:19])
        if edge_type in self._packed:
            return self._packed.reorder(key)
        edges = [
            self._make_new_edge(EdgeKey(source, edge_type, edge.other), edge)
            for edge in self._packed.walk(ListPlace(source, OUT, edge_type))
        ]
        self._simple.put([edge for edge in edges if self._simple.get(edge.pair) is None])
        self._packed.remove(edge.pair for edge in edges)
        return len(edges)

    def _make_new_edge(self, pair: EdgeKey, edge: Edge) -> NewEdge:
        order = edge.order if pair.edge_type in self._ordered else b""
        return NewEdge(pair, edge.score, edge.properties, order)
