"""
Simple edges: at most one per source, type and target, with a score that can change.

An edge has three rows. The pair row contains its score and properties, and is authoritative. Each
node has a list row for the edge, sorted by score. List rows are written before the pair row. List
rows with an earlier score are deleted after the pair row is written. Every listed edge is verified
against its pair row, so a crashed writer leaves behind only rows that readers ignore. Repeating the
call finishes the write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice

from zengraph._codec import IN, OUT, edge_prefix, read_edge_key, score_range
from zengraph._edge_counts import EdgeCounts
from zengraph._edge_lists import EdgeLists, ListPlace
from zengraph._indexes import Schema
from zengraph._parallel_edges import Edge
from zengraph._properties import Row, newest_ms
from zengraph._row_limits import RowLimits
from zengraph._simple_edge_rows import (
    PAIR_KIND,
    PROPERTY,
    SCORE,
    TAKES_KIND,
    EdgeKey,
    NewEdge,
    check_edge,
    pair_cells,
    read_edge,
    read_pair,
    read_place,
)
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument
from zengraph.tables import CellTable, Tables

MAX_COUNTED = 10_000
"""How many edges `count_edges` reads at most if the type has no stored count."""

_LIST_MARKER = b"p:_"
_BATCH_SIZE = 500


class SimpleEdges:
    """
    Writes and reads edges.

    For types with stored counts, the count is updated after the edge is written. If a writer is
    killed before the update, or two writers put or remove the same edge at the same time, the
    counts are wrong until `recount`.
    """

    def __init__(
        self, tables: Tables, schema: Schema, clock: Clock, max_counted: int = MAX_COUNTED
    ) -> None:
        self._max_counted = max_counted
        self._table: CellTable = tables["e"]
        self.lists = EdgeLists(self._table, schema, clock)
        self.edge_counts = EdgeCounts(tables["n"], schema.counted)
        self._ordered = frozenset(schema.ordered)
        self._limits = RowLimits(self._table, PROPERTY, b"", schema.limits, schema.remedies)
        self._remedies = schema.remedies
        self._clock = clock

    def put(self, edges: Sequence[NewEdge]) -> None:
        """
        Put edges. An existing edge gets the new score, and keeps properties that are not given.

        Takes one read and two writes for any number of edges, a third write if scores change, and
        another read if edges have properties. Safe to repeat. If two edges have the same nodes and
        type, the later one is used.

        Raises:
            InvalidArgument: an id, a type or a score cannot be stored; nothing was written.
            SizeExceeded: an edge would exceed the limits of the schema; nothing was written.
        """
        self.check(edges)
        wanted = {edge.pair: edge for edge in edges}
        if not any(edge.properties for edge in wanted.values()):
            self._put(wanted)
            return
        cells = [
            (pair.key, pair_cells(edge, edge.place(self._ordered))) for pair, edge in wanted.items()
        ]
        with self._limits.check_write(cells):
            self._put(wanted)

    def check(self, edges: Iterable[NewEdge]) -> None:
        for edge in edges:
            check_edge(edge, self._ordered, self._remedies.ordered)

    def _put(self, wanted: Mapping[EdgeKey, NewEdge]) -> None:
        before = self._pairs(wanted)
        now_ms = self._clock.now_ms()
        lists: list[tuple[bytes, Mapping[bytes, bytes], int]] = []
        pairs: list[tuple[bytes, Mapping[bytes, bytes], int]] = []
        stale: list[tuple[bytes, None, int]] = []
        for pair, edge in wanted.items():
            old = before.get(pair)
            old_ms = old[SCORE].at_ms if old else 0
            at_ms = max(now_ms, old_ms)
            place = edge.place(self._ordered)
            if old is not None and (old_place := read_place(old)) != place:
                # Puts need a later timestamp than the deletions, or the deletions would hide a
                # score that is set back to an old value.
                at_ms = max(now_ms, old_ms + 1)
                stale += [(key, None, old_ms) for key in pair.list_keys(old_place)]
            lists += [(key, {_LIST_MARKER: b"1"}, at_ms) for key in pair.list_keys(place)]
            pairs.append((pair.key, pair_cells(edge, place), at_ms))
        self._table.put_many(lists)
        self._table.put_many(pairs)
        if stale:
            self._table.delete_many(stale)
        self.edge_counts.change([pair for pair in wanted if pair not in before], 1)

    def get(self, pair: EdgeKey) -> Edge | None:
        row = self._table.get(pair.key)
        return read_edge(pair.target, row) if SCORE in row else None

    def remove(self, pairs: Iterable[EdgeKey]) -> None:
        """Remove edges. Missing edges are ignored. Takes a read and two writes."""
        found = self._pairs(dict.fromkeys(pairs))
        if not found:
            return
        self._table.delete_many([(pair.key, None, newest_ms(row)) for pair, row in found.items()])
        self._table.delete_many(
            [
                (key, None, row[SCORE].at_ms)
                for pair, row in found.items()
                for key in pair.list_keys(read_place(row))
            ]
        )
        self.edge_counts.change(found, -1)

    def count(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        Return the number of edges; reads them if the type has no stored count.

        Raises:
            InvalidArgument: the type has no stored count, and there are more than `max_counted`
                edges.
        """
        if edge_type in self.edge_counts:
            return self.edge_counts.read_count(node_id, direction, edge_type)
        count = self._count_by_scanning(node_id, direction, edge_type)
        if count > self._max_counted:
            raise InvalidArgument(
                f"type: the node has more than {self._max_counted} edges of type {edge_type}; "
                f"add the type to {self._remedies.counted}"
            )
        return count

    def _count_by_scanning(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """Count up to `_max_counted` + 1 edges, without reading their properties."""
        start, stop = score_range(edge_prefix(node_id, direction, edge_type))
        found = 0
        with closing(self._table.scan(start, stop)) as rows:
            while found <= self._max_counted and (
                keys := [k for k, _ in islice(rows, _BATCH_SIZE)]
            ):
                found += len(self.lists.read_edges(keys, [SCORE]))
        return min(found, self._max_counted + 1)

    def recount(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        Correct the stored count by reading all edges; return how much too high it was.

        Concurrent writes of these edges can make the count wrong.
        """
        actual = sum(1 for _ in self.lists.walk(ListPlace(node_id, direction, edge_type)))
        return self.edge_counts.correct(node_id, direction, edge_type, actual)

    def trim(
        self,
        node_id: bytes,
        direction: bytes,
        edge_type: int,
        keep: int,
        max_removals: int,
        *,
        lowest: bool = False,
    ) -> tuple[int, bool]:
        """
        Remove up to `max_removals` edges of a node, except its `keep` best ones.

        The best edges have the highest scores, or the lowest if `lowest`. Takes one range scan over
        all edges and, if there are more than `keep`, one multi-get per 500. Keeps `keep` keys in
        memory. An edge whose score changes in the meantime is kept. Safe to repeat, and safe with
        concurrent writers.

        Returns (how many were removed, True if none are left to remove).
        """
        start, stop = score_range(edge_prefix(node_id, direction, edge_type))
        best: deque[bytes] = deque()
        removed, checked = 0, False
        # Scan forward even for the highest scores: HBase is several times slower backward.
        with closing(self._table.scan(start, stop)) as rows:
            while keys := [key for key, _ in islice(rows, _BATCH_SIZE)]:
                best += self._find_live_keys(keys) if checked else keys
                if not checked and len(best) > keep:
                    # As long as there were at most `keep` rows, stale ones did not matter.
                    best, checked = deque(self._find_live_keys(list(best))), True
                drop = best.pop if lowest else best.popleft
                rest = [drop() for _ in range(len(best) - keep)]
                to_remove = self.lists.read_edges(rest[: max_removals - removed]) if rest else []
                if to_remove:
                    self.lists.delete(to_remove)
                    self.edge_counts.change([each.pair for each in to_remove], -1)
                removed += len(to_remove)
                if len(rest) > max_removals - removed + len(to_remove):
                    return removed, False
        return removed, True

    def _find_live_keys(self, keys: Sequence[bytes]) -> list[bytes]:
        return [
            each.key
            for at in range(0, len(keys), _BATCH_SIZE)
            for each in self.lists.read_edges(keys[at : at + _BATCH_SIZE], [SCORE])
        ]

    def remove_all(self, node_id: bytes, max_removals: int) -> bool:
        """Remove up to `max_removals` edges of a node. Returns False if more are left."""
        remaining = max_removals
        for direction in (OUT, IN):
            prefix = edge_prefix(node_id, direction)
            while keys := self._first_keys(prefix, min(remaining + 1, _BATCH_SIZE)):
                if remaining <= 0:
                    return False
                self.remove(map(read_pair, keys[:remaining]))
                # A crashed writer left the remaining rows.
                rows = self._table.get_many(keys[:remaining])
                self._table.delete_many([(key, None, newest_ms(rows[key])) for key in rows])
                remaining -= len(keys[:remaining])
        return True

    def repair(self) -> int:
        """
        Delete outdated rows and write missing ones, in a scan of all rows.

        Returns how many rows were wrong. `recount` corrects the counts.
        """
        wrong = 0
        with closing(self._table.scan(b"", None)) as rows:
            for key, row in rows:
                wrong += self._repair_row(key, row)
        return wrong

    def walk_lists(self) -> Iterator[tuple[bytes, bytes, int]]:
        """Yield (node, direction, type) of every list, without duplicates."""
        last = None
        with closing(self._table.scan(b"", None, columns=[_LIST_MARKER])) as rows:
            for key, _ in rows:
                if key[:19] != last:
                    last = key[:19]
                    node_id, direction, edge_type, _, _ = read_edge_key(key)
                    yield node_id, direction, edge_type

    def _repair_row(self, key: bytes, row: Row) -> int:
        if key[16:17] == TAKES_KIND:
            return 0
        if key[16:17] != PAIR_KIND:
            if self.lists.read_edges([key], [SCORE]):
                return 0
            # The pair row of a young list row may not be written yet.
            if newest_ms(row) > self._clock.now_ms() - MAX_PENDING_MS:
                return 0
            self._table.delete(key, at_ms=newest_ms(row))
            return 1
        if SCORE not in row:
            return 0
        pair = EdgeKey(key[:16], int.from_bytes(key[17:19]), key[19:])
        place = read_place(row)
        if (place.order is not None) != (pair.edge_type in self._ordered):
            # The schema has changed; move the edge to its new place.
            order = (place.order or b"") if pair.edge_type in self._ordered else b""
            self.put([NewEdge(pair, place.score, {}, order)])
            return 1
        keys = pair.list_keys(place)
        missing = [each for each in keys if not self._table.get(each)]
        self._table.put_many(
            [(each, {_LIST_MARKER: b"1"}, row[SCORE].at_ms + 1) for each in missing]
        )
        return len(missing)

    def _first_keys(self, prefix: bytes, limit: int) -> list[bytes]:
        start, stop = score_range(prefix)
        with closing(self._table.scan(start, stop, limit=limit)) as rows:
            return [key for key, _ in rows]

    def _pairs(self, pairs: Iterable[EdgeKey]) -> dict[EdgeKey, Row]:
        keys = {pair: pair.key for pair in pairs}
        rows = self._table.get_many(list(keys.values()))
        return {pair: row for pair, key in keys.items() if SCORE in (row := rows.get(key, {}))}


MAX_PENDING_MS = 600_000
"""A younger list row may still become valid, because its pair row is written later."""
