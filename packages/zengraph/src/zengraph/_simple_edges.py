"""
Simple edges: a node has one of a type to another node, and its score can change.

An edge has three rows: one of its pair of nodes, which holds score and properties and is
authoritative, and one at each node, which lists it by score. The rows of the lists are written
before the row of the pair, and those of an earlier score are deleted after it. Every listed edge is
checked at its pair, so a writer that crashes leaves only rows that no read returns, and running it
again completes them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice

from zengraph._codec import IN, OUT, edge_key, edge_prefix, read_edge_key, score_range
from zengraph._indexes import MAX_LIMIT, PAGE_BYTES, Schema
from zengraph._parallel_edges import Edge, Edges, count_column
from zengraph._properties import Cell, Row, newest_ms
from zengraph._row_limits import RowLimits
from zengraph._simple_edge_rows import (
    PAIR_KIND,
    PROPERTY,
    SCORE,
    EdgeKey,
    NewEdge,
    cells_of,
    check_edge,
    count_cell,
    count_of,
    edge_of,
    pair_of,
    score_of,
)
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument
from zengraph.tables import CellTable, Tables

MOST_COUNTED = 10_000
"""Edges of a type that is not counted which `count_edges` reads at most."""

_FIRST_EDGES = 2
_LISTED = b"p:_"
_CURSOR_BYTES = 24
_AT_ONCE = 500
_FEW = 2
"""So many counts are increased one by one: an edge has two."""


class SimpleEdges:
    """
    Writes and reads edges.

    Counts of counted types change after the edge. A writer that is killed in between, or two that
    put or remove one edge at the same instant, leave them wrong until `recount`.
    """

    def __init__(
        self, tables: Tables, schema: Schema, clock: Clock, most_counted: int = MOST_COUNTED
    ) -> None:
        self._most_counted = most_counted
        self._nodes: CellTable = tables["n"]
        self._table: CellTable = tables["e"]
        self._limits = RowLimits(self._table, PROPERTY, b"", schema.limits, schema.remedies)
        self._remedies = schema.remedies
        self._counted = frozenset(schema.counted)
        self._clock = clock

    def put(self, edges: Sequence[NewEdge]) -> None:
        """
        Put edges: one that exists gets the score, and keeps properties that are not given.

        One read and two writes for any number of edges, a third if scores change, and a read more
        for properties. Safe to repeat. Of several edges of one pair the last one counts.

        Raises:
            InvalidArgument: an id, a type or a score cannot be stored; nothing was written.
            SizeExceeded: an edge would exceed the limits of the schema; nothing was written.
        """
        wanted = {edge.pair: edge for edge in edges}
        for edge in wanted.values():
            check_edge(edge)
        if not any(edge.properties for edge in wanted.values()):
            self._put(wanted)
            return
        cells = [(pair.key, cells_of(edge)) for pair, edge in wanted.items()]
        with self._limits.writing(cells):
            self._put(wanted)

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
            if old is not None and (old_score := score_of(old)) != edge.score:
                # Later than the rows that are deleted, which would hide a score that comes back.
                at_ms = max(now_ms, old_ms + 1)
                stale += [(key, None, old_ms) for key in pair.list_keys(old_score)]
            lists += [(key, {_LISTED: b"1"}, at_ms) for key in pair.list_keys(edge.score)]
            pairs.append((pair.key, cells_of(edge), at_ms))
        self._table.put_many(lists)
        self._table.put_many(pairs)
        if stale:
            self._table.delete_many(stale)
        self._count([pair for pair in wanted if pair not in before], 1)

    def get(self, pair: EdgeKey) -> Edge | None:
        """The edge, or None."""
        row = self._table.get(pair.key)
        return edge_of(pair.target, row) if SCORE in row else None

    def remove(self, pairs: Iterable[EdgeKey]) -> None:
        """Remove edges; those that do not exist are ignored. Two round trips and a read."""
        found = self._pairs(dict.fromkeys(pairs))
        if not found:
            return
        self._table.delete_many([(pair.key, None, newest_ms(row)) for pair, row in found.items()])
        self._table.delete_many(
            [
                (key, None, row[SCORE].at_ms)
                for pair, row in found.items()
                for key in pair.list_keys(score_of(row))
            ]
        )
        self._count(found, -1)

    def edges(
        self,
        node_id: bytes,
        direction: bytes,
        edge_type: int,
        limit: int = 100,
        cursor: bytes | None = None,
        *,
        reverse: bool = False,
        least_score: int | None = None,
        most_score: int | None = None,
    ) -> Edges:
        """
        Edges of a node by score, then by the other node; `reverse`: the highest score first.

        One range scan, and a few multi-gets for the edges of the page, which ends before `limit`
        where the properties have about `PAGE_BYTES`. `direction` is `OUT` or `IN`;
        scores are from `least_score` to `most_score`.

        Raises:
            InvalidArgument: the cursor is not one that this call returned.
        """
        limit = min(limit, MAX_LIMIT)
        prefix = edge_prefix(node_id, direction, edge_type)
        start, stop = score_range(prefix, least_score, most_score)
        if cursor is not None:
            if len(cursor) != _CURSOR_BYTES:
                raise InvalidArgument("cursor: must be one that this call returned")
            last = prefix + cursor
            start, stop = (start, min(stop, last)) if reverse else (max(start, last + b"\0"), stop)
        items: list[Edge] = []
        ended = start >= stop
        with closing(self._table.scan(start, stop, reverse=reverse)) as rows:
            size, part = 0, _FIRST_EDGES
            while not ended and len(items) <= limit and size < PAGE_BYTES:
                wanted = min(part, limit + 1 - len(items))
                keys = [key for key, _ in islice(rows, wanted)]
                ended = len(keys) < wanted
                more = self._true(keys)
                items += more
                size += sum(edge.size_bytes for edge in more)
                part = max(1, min(8 * part, PAGE_BYTES * len(items) // max(size, 1)))
        if len(items) <= limit and ended:
            return Edges(items, None)
        limit = min(limit, len(items))
        last_edge = items[limit - 1]
        key = edge_key(node_id, direction, edge_type, last_edge.score, last_edge.other)
        return Edges(items[:limit], key[len(prefix) :])

    def walk(self, node_id: bytes, direction: bytes, edge_type: int) -> Iterator[Edge]:
        """`edges`, all of them."""
        cursor = None
        while True:
            page = self.edges(node_id, direction, edge_type, MAX_LIMIT, cursor)
            yield from page.items
            if (cursor := page.cursor) is None:
                return

    def count(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        The number of edges: the stored count of a counted type, otherwise counted by reading them.

        Raises:
            InvalidArgument: there are more than `most_counted`, and the type is not counted.
        """
        if edge_type in self._counted:
            return self._stored_count(node_id, direction, edge_type)
        found = self._counted_one_by_one(node_id, direction, edge_type)
        if found > self._most_counted:
            raise InvalidArgument(
                f"type: the node has more than {self._most_counted} edges of type {edge_type}; "
                f"add the type to {self._remedies.counted}"
            )
        return found

    def _counted_one_by_one(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """The number of edges, counted up to one more than may be; properties are not read."""
        start, stop = score_range(edge_prefix(node_id, direction, edge_type))
        found = 0
        with closing(self._table.scan(start, stop)) as rows:
            while found <= self._most_counted and (keys := [k for k, _ in islice(rows, _AT_ONCE)]):
                pairs = [(pair_of(key).key, read_edge_key(key)[3]) for key in keys]
                scores = self._table.get_many([key for key, _ in pairs], [SCORE])
                found += sum(
                    SCORE in (row := scores.get(key, {})) and score_of(row) == score
                    for key, score in pairs
                )
        return min(found, self._most_counted + 1)

    def recount(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        Set the stored count to that of a walk; returns by how much it was too high.

        Writes of the same edges meanwhile can make it wrong.
        """
        true = sum(1 for _ in self.walk(node_id, direction, edge_type))
        excess = self._stored_count(node_id, direction, edge_type) - true
        if excess:
            self._nodes.incr(node_id, count_column(direction, edge_type), -excess)
        return excess

    def remove_all(self, node_id: bytes, most: int) -> bool:
        """Remove up to `most` edges of a node, in both directions; False: it has more."""
        left = most
        for direction in (OUT, IN):
            prefix = edge_prefix(node_id, direction)
            while keys := self._first_keys(prefix, min(left + 1, _AT_ONCE)):
                if left <= 0:
                    return False
                self.remove(map(pair_of, keys[:left]))
                # A row whose edge has another score, or none, was left by a writer that crashed.
                rows = self._table.get_many(keys[:left])
                self._table.delete_many([(key, None, newest_ms(rows[key])) for key in rows])
                left -= len(keys[:left])
        return True

    def repair(self) -> int:
        """
        Walk all rows, delete those that are not true, and write those that are missing.

        Returns how many were wrong. Counts are corrected by `recount`.
        """
        wrong = 0
        with closing(self._table.scan(b"", None)) as rows:
            for key, row in rows:
                wrong += self._repaired(key, row)
        return wrong

    def counts(self) -> Iterator[tuple[bytes, bytes, int]]:
        """(node, direction, type) of every list, once each."""
        last = None
        with closing(self._table.scan(b"", None, columns=[_LISTED])) as rows:
            for key, _ in rows:
                if key[:19] != last:
                    last = key[:19]
                    node_id, direction, edge_type, _, _ = read_edge_key(key)
                    yield node_id, direction, edge_type

    def _repaired(self, key: bytes, row: Row) -> int:
        if key[16:17] != PAIR_KIND:
            pair = pair_of(key)
            if self._true([key]):
                return 0
            # Read again: the row of a pair is written after those of its lists.
            if newest_ms(row) > self._clock.now_ms() - YOUNG_MS:
                return 0
            self._table.delete(key, at_ms=newest_ms(row))
            return 1
        if SCORE not in row:
            return 0
        pair = EdgeKey(key[:16], int.from_bytes(key[17:19]), key[19:])
        keys = pair.list_keys(score_of(row))
        missing = [each for each in keys if not self._table.get(each)]
        self._table.put_many([(each, {_LISTED: b"1"}, row[SCORE].at_ms + 1) for each in missing])
        return len(missing)

    def _true(self, keys: Sequence[bytes]) -> list[Edge]:
        """The edges of these rows of lists, without rows that are not true."""
        pairs = [pair_of(key) for key in keys]
        found = self._table.get_many([pair.key for pair in pairs])
        edges = []
        for key, pair in zip(keys, pairs, strict=True):
            row = found.get(pair.key, {})
            _, _, _, score, other = read_edge_key(key)
            if SCORE in row and score_of(row) == score:
                edges.append(edge_of(other, row))
        return edges

    def _first_keys(self, prefix: bytes, limit: int) -> list[bytes]:
        start, stop = score_range(prefix)
        with closing(self._table.scan(start, stop, limit=limit)) as rows:
            return [key for key, _ in rows]

    def _pairs(self, pairs: Iterable[EdgeKey]) -> dict[EdgeKey, Row]:
        """The rows of the pairs that have an edge."""
        keys = {pair: pair.key for pair in pairs}
        rows = self._table.get_many(list(keys.values()))
        return {pair: row for pair, key in keys.items() if SCORE in (row := rows.get(key, {}))}

    def _stored_count(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        column = count_column(direction, edge_type)
        cell: Cell | None = self._nodes.get(node_id, [column]).get(column)
        return count_of(None if cell is None else cell.value)

    def _count(self, pairs: Iterable[EdgeKey], delta: int) -> None:
        changes: Counter[tuple[bytes, bytes]] = Counter()
        for pair in pairs:
            if pair.edge_type in self._counted:
                changes.update(dict.fromkeys(pair.counts, delta))
        if len(changes) > _FEW:
            self._count_together(changes)
        for (node_id, column), change in changes.items():
            self._nodes.incr(node_id, column, change)

    def _count_together(self, changes: Counter[tuple[bytes, bytes]]) -> None:
        """Make the changes of counts that nobody else changes meanwhile, and take them out."""
        places = list(changes)
        rows = self._nodes.get_many(
            list(dict.fromkeys(node_id for node_id, _ in places)),
            list(dict.fromkeys(column for _, column in places)),
        )
        found = [rows.get(node_id, {}).get(column) for node_id, column in places]
        before = [None if cell is None else cell.value for cell in found]
        written = self._nodes.check_and_put_many(
            [
                (node_id, column, old, count_cell(count_of(old) + changes[node_id, column]))
                for (node_id, column), old in zip(places, before, strict=True)
            ]
        )
        for place, done in zip(places, written, strict=True):
            if done:
                del changes[place]


YOUNG_MS = 600_000
"""A row of a list is written before its pair; one younger than this may still become true."""
