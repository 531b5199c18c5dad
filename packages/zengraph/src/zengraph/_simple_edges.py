"""
Simple edges: at most one per source, type and target, with a score that can change.

An edge has three rows. The pair row contains its score and properties, and is authoritative. At
each node, a list row lists the edge by score. List rows are written before the pair row. List rows
with an earlier score are deleted after the pair row is written. Every listed edge is verified
against its pair row, so a writer that crashes leaves only rows that reads ignore; repeating its
call completes them.
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
    cells_of,
    check_edge,
    edge_of,
    pair_of,
    place_of,
)
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument
from zengraph.tables import CellTable, Tables

MAX_COUNTED = 10_000
"""Maximum number of edges of an uncounted type that `count_edges` reads."""

_LISTED = b"p:_"
_AT_ONCE = 500


class SimpleEdges:
    """
    Writes and reads edges.

    Counts of counted types change after the edge. If a writer is killed in between, or two writers
    put or remove the same edge at the same time, the counts are wrong until `recount`.
    """

    def __init__(
        self, tables: Tables, schema: Schema, clock: Clock, max_counted: int = MAX_COUNTED
    ) -> None:
        self._max_counted = max_counted
        self._table: CellTable = tables["e"]
        self.lists = EdgeLists(self._table, schema, clock)
        self.counted = EdgeCounts(tables["n"], schema.counted)
        self._ordered = frozenset(schema.ordered)
        self._limits = RowLimits(self._table, PROPERTY, b"", schema.limits, schema.remedies)
        self._remedies = schema.remedies
        self._clock = clock

    def put(self, edges: Sequence[NewEdge]) -> None:
        """
        Put edges. An existing edge gets the new score, and keeps properties that are not given.

        Takes one read and two writes for any number of edges, a third write if scores change, and
        another read if edges have properties. Safe to repeat. If several edges have the same pair,
        the last one is used.

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
            (pair.key, cells_of(edge, edge.place(self._ordered))) for pair, edge in wanted.items()
        ]
        with self._limits.check_write(cells):
            self._put(wanted)

    def check(self, edges: Iterable[NewEdge]) -> None:
        """Raise InvalidArgument for an edge that cannot be stored."""
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
            if old is not None and (old_place := place_of(old)) != place:
                # The puts must be later than the deletions, which would otherwise hide a score that
                # is set again.
                at_ms = max(now_ms, old_ms + 1)
                stale += [(key, None, old_ms) for key in pair.list_keys(old_place)]
            lists += [(key, {_LISTED: b"1"}, at_ms) for key in pair.list_keys(place)]
            pairs.append((pair.key, cells_of(edge, place), at_ms))
        self._table.put_many(lists)
        self._table.put_many(pairs)
        if stale:
            self._table.delete_many(stale)
        self.counted.change([pair for pair in wanted if pair not in before], 1)

    def get(self, pair: EdgeKey) -> Edge | None:
        """Return the edge, or None."""
        row = self._table.get(pair.key)
        return edge_of(pair.target, row) if SCORE in row else None

    def remove(self, pairs: Iterable[EdgeKey]) -> None:
        """Remove edges. Missing edges are ignored. Takes two round trips and a read."""
        found = self._pairs(dict.fromkeys(pairs))
        if not found:
            return
        self._table.delete_many([(pair.key, None, newest_ms(row)) for pair, row in found.items()])
        self._table.delete_many(
            [
                (key, None, row[SCORE].at_ms)
                for pair, row in found.items()
                for key in pair.list_keys(place_of(row))
            ]
        )
        self.counted.change(found, -1)

    def count(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        Return the number of edges, from the stored count if the type is counted, else by reading
        them.

        Raises:
            InvalidArgument: the type is not counted, and there are more than `max_counted` edges.
        """
        if edge_type in self.counted:
            return self.counted.stored(node_id, direction, edge_type)
        found = self._counted_one_by_one(node_id, direction, edge_type)
        if found > self._max_counted:
            raise InvalidArgument(
                f"type: the node has more than {self._max_counted} edges of type {edge_type}; "
                f"add the type to {self._remedies.counted}"
            )
        return found

    def _counted_one_by_one(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """Count edges up to one more than the limit. Properties are not read."""
        start, stop = score_range(edge_prefix(node_id, direction, edge_type))
        found = 0
        with closing(self._table.scan(start, stop)) as rows:
            while found <= self._max_counted and (keys := [k for k, _ in islice(rows, _AT_ONCE)]):
                found += len(self.lists.seen(keys, [SCORE]))
        return min(found, self._max_counted + 1)

    def recount(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        Set the stored count by reading all edges; return how much too high it was.

        Concurrent writes of the same edges can make it wrong.
        """
        true = sum(1 for _ in self.lists.walk(ListPlace(node_id, direction, edge_type)))
        return self.counted.correct(node_id, direction, edge_type, true)

    def trim(
        self,
        node_id: bytes,
        direction: bytes,
        edge_type: int,
        keep: int,
        most: int,
        *,
        lowest: bool = False,
    ) -> tuple[int, bool]:
        """
        Remove up to `most` edges of a node, except its `keep` best ones.

        The best edges have the highest scores, or the lowest if `lowest`. Takes one range scan over
        all of them and, if there are more than `keep`, one multi-get per 500. It keeps `keep` keys
        in memory. An edge whose score changes meanwhile stays. Safe to repeat, and safe with
        concurrent writers.

        Returns (how many were removed, whether none is left to remove).
        """
        start, stop = score_range(edge_prefix(node_id, direction, edge_type))
        best: deque[bytes] = deque()
        removed, checked = 0, False
        # Scan forward even for the highest scores: HBase is several times slower backward.
        with closing(self._table.scan(start, stop)) as rows:
            while keys := [key for key, _ in islice(rows, _AT_ONCE)]:
                best += self._true_keys(keys) if checked else keys
                if not checked and len(best) > keep:
                    # With up to `keep` rows, outdated ones did no harm. Now drop them.
                    best, checked = deque(self._true_keys(list(best))), True
                drop = best.pop if lowest else best.popleft
                rest = [drop() for _ in range(len(best) - keep)]
                going = self.lists.seen(rest[: most - removed]) if rest else []
                if going:
                    self.lists.delete(going)
                    self.counted.change([each.pair for each in going], -1)
                removed += len(going)
                if len(rest) > most - removed + len(going):
                    return removed, False
        return removed, True

    def _true_keys(self, keys: Sequence[bytes]) -> list[bytes]:
        """Return the list rows whose edge exists."""
        return [
            each.key
            for at in range(0, len(keys), _AT_ONCE)
            for each in self.lists.seen(keys[at : at + _AT_ONCE], [SCORE])
        ]

    def remove_all(self, node_id: bytes, most: int) -> bool:
        """Remove up to `most` edges of a node, in both directions. Returns False if it has more."""
        left = most
        for direction in (OUT, IN):
            prefix = edge_prefix(node_id, direction)
            while keys := self._first_keys(prefix, min(left + 1, _AT_ONCE)):
                if left <= 0:
                    return False
                self.remove(map(pair_of, keys[:left]))
                # A writer that crashed left this row: its edge has another score, or no longer
                # exists.
                rows = self._table.get_many(keys[:left])
                self._table.delete_many([(key, None, newest_ms(rows[key])) for key in rows])
                left -= len(keys[:left])
        return True

    def repair(self) -> int:
        """
        Walk all rows, delete outdated ones, and write missing ones.

        Returns how many rows were wrong. `recount` corrects the counts.
        """
        wrong = 0
        with closing(self._table.scan(b"", None)) as rows:
            for key, row in rows:
                wrong += self._repaired(key, row)
        return wrong

    def counts(self) -> Iterator[tuple[bytes, bytes, int]]:
        """Yield (node, direction, type) of every list, without duplicates."""
        last = None
        with closing(self._table.scan(b"", None, columns=[_LISTED])) as rows:
            for key, _ in rows:
                if key[:19] != last:
                    last = key[:19]
                    node_id, direction, edge_type, _, _ = read_edge_key(key)
                    yield node_id, direction, edge_type

    def _repaired(self, key: bytes, row: Row) -> int:
        if key[16:17] == TAKES_KIND:
            return 0
        if key[16:17] != PAIR_KIND:
            if self.lists.seen([key], [SCORE]):
                return 0
            # Read again: the pair row may have been written after the list rows were read.
            if newest_ms(row) > self._clock.now_ms() - YOUNG_MS:
                return 0
            self._table.delete(key, at_ms=newest_ms(row))
            return 1
        if SCORE not in row:
            return 0
        pair = EdgeKey(key[:16], int.from_bytes(key[17:19]), key[19:])
        place = place_of(row)
        if (place.order is not None) != (pair.edge_type in self._ordered):
            # The schema has changed, so move the edge to its new place.
            order = (place.order or b"") if pair.edge_type in self._ordered else b""
            self.put([NewEdge(pair, place.score, {}, order)])
            return 1
        keys = pair.list_keys(place)
        missing = [each for each in keys if not self._table.get(each)]
        self._table.put_many([(each, {_LISTED: b"1"}, row[SCORE].at_ms + 1) for each in missing])
        return len(missing)

    def _first_keys(self, prefix: bytes, limit: int) -> list[bytes]:
        start, stop = score_range(prefix)
        with closing(self._table.scan(start, stop, limit=limit)) as rows:
            return [key for key, _ in rows]

    def _pairs(self, pairs: Iterable[EdgeKey]) -> dict[EdgeKey, Row]:
        """Return the pair rows of existing edges."""
        keys = {pair: pair.key for pair in pairs}
        rows = self._table.get_many(list(keys.values()))
        return {pair: row for pair, key in keys.items() if SCORE in (row := rows.get(key, {}))}


YOUNG_MS = 600_000
"""A list row younger than this may still become valid, because its pair row is written later."""
