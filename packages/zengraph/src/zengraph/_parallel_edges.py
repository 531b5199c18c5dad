"""
Parallel edges: any number from one node to another, each with a type, a score and properties.

Two edges with the same source, type and target but different scores are different edges, such as
payments at different times. (`_simple_edges` has edges whose score can change.) An edge has a row
at each of its nodes, so that both list it; the row at the source is authoritative. An edge of a
one-ended type has a row only at its target: a property of the source already contains the edge, or
the source is not a node.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import closing
from typing import NamedTuple

from zengraph._codec import IN, OUT, after, edge_key, edge_prefix, read_edge_key, score_range
from zengraph._indexes import MAX_LIMIT, PAGE_BYTES, Schema
from zengraph._properties import Row, newest_ms
from zengraph._row_limits import RowLimits
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument
from zengraph.tables import Put, Tables

_MARKER = b"p:_"
COUNTS = b"c:"
"""The column family of counts."""


class Edge(NamedTuple):
    other: bytes
    """The node at the other end."""
    score: int
    properties: dict[str, bytes]
    at_ms: int = 0
    """When the edge was put, in ms since the epoch; 0 if unknown."""
    order: bytes = b""
    """Sorts edges with the same score, for types in `Schema.ordered`."""

    @property
    def size_bytes(self) -> int:
        return sum(map(len, self.properties.values()))


class Edges(NamedTuple):
    """A page of edges. `cursor` continues the list, or is None at the end."""

    items: list[Edge]
    cursor: bytes | None


class ParallelEdges:
    """Writes and reads the edges of a `MultiGraph`."""

    def __init__(self, tables: Tables, schema: Schema, clock: Clock) -> None:
        self._tables = tables
        self._table = tables["e"]
        self._schema = schema
        self._limits = RowLimits(self._table, b"p:", _MARKER, schema.limits, schema.remedies)
        self._clock = clock

    def edge_rows(
        self,
        source: bytes,
        edge_type: int,
        target: bytes,
        properties: Mapping[str, bytes],
        at_ms: int,
        *,
        score: int = 0,
    ) -> list[Put]:
        """Return the mutations that put an edge, for a batch. They do not change stored counts."""
        cells = {b"p:" + name.encode(): value for name, value in properties.items()}
        in_key = edge_key(target, IN, edge_type, score, source)
        if edge_type in self._schema.one_ended:
            return [("e", in_key, cells, at_ms)]
        cells[_MARKER] = b"1"
        out_key = edge_key(source, OUT, edge_type, score, target)
        return [("e", in_key, cells, at_ms), ("e", out_key, cells, at_ms)]

    def put_edge(
        self,
        source: bytes,
        edge_type: int,
        target: bytes,
        *,
        score: int = 0,
        properties: Mapping[str, bytes] | None = None,
        at_ms: int | None = None,
    ) -> None:
        """
        Put an edge. An edge with another score is a different edge.

        Safe to repeat. Increments the counts after writing the edge, if it is new. If a writer
        crashes before that, or two writers put the same new edge at once, the counts are wrong
        until `recount` or a repair of the store.

        Raises:
            SizeExceeded: the edge would exceed the limits of the schema; nothing was written.
        """
        if edge_type in self._schema.reserved:
            raise InvalidArgument(f"put_edge: edges of type {edge_type} are not stored here")
        at_ms = self._clock.now_ms() if at_ms is None else at_ms
        is_new = edge_type in self._schema.counted and not self.get_edge(
            source, edge_type, target, score=score
        )
        rows = self.edge_rows(source, edge_type, target, properties or {}, at_ms, score=score)
        with self._limits.check_write([(key, cells) for _, key, cells, _ in rows if properties]):
            for _, key, cells, _ in rows:
                self._table.put(key, cells, at_ms=at_ms)
        if is_new:
            self._count_both(source, edge_type, target, 1)

    def get_edge(
        self, source: bytes, edge_type: int, target: bytes, *, score: int = 0
    ) -> Edge | None:
        row = self._table.get(self._main_key(source, edge_type, target, score))
        return _edge(target, score, row) if row else None

    def remove_edge(self, source: bytes, edge_type: int, target: bytes, *, score: int = 0) -> None:
        """Remove an edge if it exists."""
        out_key = edge_key(source, OUT, edge_type, score, target)
        in_key = edge_key(target, IN, edge_type, score, source)
        rows = self._table.get_many([out_key, in_key])
        for key in (out_key, in_key):
            if key in rows:
                self._table.delete(key, at_ms=newest_ms(rows[key]))
        existed = self._main_key(source, edge_type, target, score) in rows
        if existed and edge_type in self._schema.counted:
            self._count_both(source, edge_type, target, -1)

    def remove_edges(self, node_id: bytes) -> None:
        """Remove every edge of a node, in both directions, from both ends' lists."""
        for direction in (OUT, IN):
            prefix = edge_prefix(node_id, direction)
            with closing(self._table.scan(prefix, after(prefix))) as rows:
                for key, _ in rows:
                    _, _, edge_type, score, other = read_edge_key(key)
                    source, target = (node_id, other) if direction == OUT else (other, node_id)
                    self.remove_edge(source, edge_type, target, score=score)

    def purge_edges(self, target: bytes, edge_type: int, *, at_ms: int) -> None:
        """Delete all edges of a one-ended type to a node, including those newer than `at_ms`."""
        prefix = edge_prefix(target, IN, edge_type)
        with closing(self._table.scan(prefix, after(prefix))) as rows:
            deletes = [(key, None, max(at_ms, newest_ms(row))) for key, row in rows]
        if deletes:
            self._table.delete_many(deletes)

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
        Return a node's edges, sorted by score, then by the other node; highest score first if
        `reverse`.

        Takes one range scan for any number of edges. A page ends before `limit` once its edges'
        properties reach `PAGE_BYTES`. `direction` is `OUT` or `IN`; scores are from `least_score`
        to `most_score`. One-ended types have no outgoing edges.
        """
        limit = min(limit, MAX_LIMIT)
        items: list[Edge] = []
        last, size = None, 0
        scores = least_score, most_score
        with closing(self._scan(node_id, direction, edge_type, cursor, scores, reverse)) as rows:
            for key, edge in rows:
                if len(items) == limit or size >= PAGE_BYTES:
                    return Edges(items, last)
                items.append(edge)
                size += edge.size_bytes
                last = key
        return Edges(items, None)

    def walk_edges(
        self, node_id: bytes, direction: bytes, edge_type: int
    ) -> Generator[Edge, None, None]:
        """
        Yield all edges in the order of `edges`, in one scan.

        Close the generator if you stop early.
        """
        with closing(self._scan(node_id, direction, edge_type)) as rows:
            for _, edge in rows:
                yield edge

    def walk_all_edges(self) -> Generator[tuple[bytes, bytes, int, Edge], None, None]:
        """Yield (node, direction, type, edge) for every edge row, for repairs."""
        for key, row in self._table.scan(b"", None):
            node_id, direction, edge_type, score, other = read_edge_key(key)
            yield node_id, direction, edge_type, _edge(other, score, row)

    def count_edges(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """
        Return the number of edges, by a scan if the type has no stored count.

        Raises:
            StoreUnavailable: the tables did not respond.
        """
        if edge_type in self._schema.counted:
            column = count_column(direction, edge_type)
            cell = self._tables["n"].get(node_id, [column]).get(column)
            return int.from_bytes(cell.value, signed=True) if cell else 0
        return sum(1 for _ in self.walk_edges(node_id, direction, edge_type))

    def recount(self, node_id: bytes, direction: bytes, edge_type: int) -> int:
        """Correct a stored count with a scan; return how much too high it was."""
        column = count_column(direction, edge_type)
        cell = self._tables["n"].get(node_id, [column]).get(column)
        stored = int.from_bytes(cell.value, signed=True) if cell else 0
        actual = sum(1 for _ in self.walk_edges(node_id, direction, edge_type))
        if actual != stored:
            self._tables["n"].incr(node_id, column, actual - stored)
        return stored - actual

    def _scan(
        self,
        node_id: bytes,
        direction: bytes,
        edge_type: int,
        cursor: bytes | None = None,
        scores: tuple[int | None, int | None] = (None, None),
        reverse: bool = False,
    ) -> Generator[tuple[bytes, Edge], None, None]:
        """Yield (key, edge) of the edges that exist."""
        start, stop = score_range(edge_prefix(node_id, direction, edge_type), *scores)
        if cursor is not None:
            # A cursor from another list is ignored.
            start, stop = (
                (start, min(stop, cursor)) if reverse else (max(start, cursor + b"\0"), stop)
            )
        must_check = direction == IN and edge_type not in self._schema.one_ended
        with closing(self._table.scan(start, stop, reverse=reverse)) as rows:
            for key, row in rows:
                _, _, _, score, other = read_edge_key(key)
                if must_check and not self._table.get(
                    edge_key(other, OUT, edge_type, score, node_id), [_MARKER]
                ):
                    continue
                yield key, _edge(other, score, row)

    def _main_key(self, source: bytes, edge_type: int, target: bytes, score: int) -> bytes:
        if edge_type in self._schema.one_ended:
            return edge_key(target, IN, edge_type, score, source)
        return edge_key(source, OUT, edge_type, score, target)

    def _count_both(self, source: bytes, edge_type: int, target: bytes, delta: int) -> None:
        for node_id, direction in ((source, OUT), (target, IN)):
            self._tables["n"].incr(node_id, count_column(direction, edge_type), delta)


def count_column(direction: bytes, edge_type: int) -> bytes:
    """Return the column in which a node stores the number of its edges of a type."""
    return COUNTS + b"%d%s" % (edge_type, direction)


def _edge(other: bytes, score: int, row: Row) -> Edge:
    properties = {
        column[2:].decode(): cell.value for column, cell in row.items() if column != _MARKER
    }
    return Edge(other, score, properties, newest_ms(row))
