"""
Lists of simple edges. An edge has a list row at each of its nodes. Reads verify list rows against
the edge's pair row.

`_simple_edges.py` documents the rows of an edge.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from typing import NamedTuple

from zengraph._codec import (
    OUT,
    after,
    edge_prefix,
    order_bytes,
    read_edge_key,
    score_bytes,
    score_range,
)
from zengraph._indexes import MAX_LIMIT, PAGE_BYTES, Schema
from zengraph._parallel_edges import Edge, Edges
from zengraph._properties import Row, newest_ms
from zengraph._simple_edge_rows import (
    MAX_ORDER_BYTES,
    SCORE,
    EdgeKey,
    listed_place,
    read_edge,
    read_pair,
    read_place,
)
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument
from zengraph.tables import CellTable, Deletion, Scan

MAX_CLOCK_DIFFERENCE_MS = 10_000
"""Maximum difference between the clocks of a graph's writers."""
_FIRST_EDGES = 2
_CURSOR_BYTES = 24
_MAX_CURSOR_BYTES = _CURSOR_BYTES + 2 + 2 * MAX_ORDER_BYTES


class ListedEdge(NamedTuple):
    key: bytes
    pair: EdgeKey
    row: Row

    @property
    def edge(self) -> Edge:
        return read_edge(read_edge_key(self.key)[4], self.row)


class ListPlace(NamedTuple):
    """A node's list of edges of one type, in one direction."""

    node_id: bytes
    direction: bytes
    edge_type: int


class ListEnd(NamedTuple):
    """One end of a node's list of outgoing edges: its best edges."""

    node_id: bytes
    edge_type: int
    lowest: bool
    """True for the end with the lowest scores, False for the end with the highest."""


class EdgeLists:
    """Reads lists of simple edges, and deletes edges after reading them."""

    def __init__(self, table: CellTable, schema: Schema, clock: Clock) -> None:
        self._clock = clock
        self._table = table
        self._ordered = frozenset(schema.ordered)
        self._remedies = schema.remedies

    def edges(
        self,
        place: ListPlace,
        limit: int = 100,
        cursor: bytes | None = None,
        *,
        reverse: bool = False,
        least_score: int | None = None,
        most_score: int | None = None,
        prefix: bytes | None = None,
    ) -> Edges:
        """
        Return a node's edges, sorted by score, then by the other node; highest score first if
        `reverse`.

        Edges of an ordered type sort by score, by order, and then by the other node. `prefix`
        selects the edges with the score `least_score` (or 0) whose order begins with `prefix`.

        Takes one range scan and a few multi-gets. A page ends before `limit` once its edges'
        properties reach about `PAGE_BYTES`. The direction is `OUT` or `IN`; scores are from
        `least_score` to `most_score`.

        Raises:
            InvalidArgument: the cursor was not returned by this method, or `prefix` is used with an
                unordered type or with several scores.
        """
        limit = min(limit, MAX_LIMIT)
        base, start, stop = self.page_range(
            place,
            cursor,
            reverse=reverse,
            least_score=least_score,
            most_score=most_score,
            prefix=prefix,
        )
        items: list[ListedEdge] = []
        edges: list[Edge] = []
        ended = False
        with closing(self._keys(start, stop, limit + 1, reverse=reverse)) as rows:
            size, part = 0, _FIRST_EDGES
            while not ended and len(items) <= limit and size < PAGE_BYTES:
                wanted = min(part, limit + 1 - len(items))
                keys = list(islice(rows, wanted))
                ended = len(keys) < wanted
                more = self.read_edges(keys)
                items += more
                edges += [each.edge for each in more]
                size += sum(edge.size_bytes for edge in edges[len(edges) - len(more) :])
                part = max(1, min(8 * part, PAGE_BYTES * len(items) // max(size, 1)))
        if len(items) <= limit and ended:
            return Edges(edges, None)
        limit = min(limit, len(items))
        return Edges(edges[:limit], items[limit - 1].key[len(base) :])

    def page_range(
        self,
        place: ListPlace,
        cursor: bytes | None = None,
        *,
        reverse: bool = False,
        least_score: int | None = None,
        most_score: int | None = None,
        prefix: bytes | None = None,
    ) -> tuple[bytes, bytes, bytes]:
        """
        Return (the list's key prefix, start, stop) for a page. Takes the arguments of `edges`.

        Raises:
            InvalidArgument: as for `edges`.
        """
        base = edge_prefix(*place)
        start, stop = score_range(base, least_score, most_score)
        if prefix is not None:
            start, stop = self._order_range(base, place.edge_type, prefix, least_score, most_score)
        if cursor is not None:
            if not _CURSOR_BYTES <= len(cursor) <= _MAX_CURSOR_BYTES:
                raise InvalidArgument("cursor: must be one that this call returned")
            last = base + cursor
            start, stop = (start, min(stop, last)) if reverse else (max(start, last + b"\0"), stop)
        return base, start, stop

    def walk(self, place: ListPlace) -> Iterator[Edge]:
        """Yield all edges in the order of `edges`."""
        cursor = None
        while True:
            page = self.edges(place, MAX_LIMIT, cursor)
            yield from page.items
            if (cursor := page.cursor) is None:
                return

    def read_row_and_best(
        self, row: bytes, columns: Sequence[bytes], place: ListEnd, count: int
    ) -> tuple[Row, Generator[bytes, None, None]]:
        """
        Return a row, and a generator of the keys at one end of a list. Close the generator.

        The list is read after the row.
        """
        start, stop = score_range(edge_prefix(place.node_id, OUT, place.edge_type))
        reverse = not place.lowest
        found, first = self._table.get_then_scan(
            row, columns, start, stop, limit=count, reverse=reverse
        )
        return found, self._keys(start, stop, count, first, reverse=reverse)

    def read_best(
        self,
        keys: Iterator[bytes],
        count: int,
        max_bytes: int,
        also: Sequence[bytes] = (),
    ) -> tuple[list[ListedEdge], dict[bytes, Row]]:
        """
        Return the first edges of these list rows. The result ends when properties reach
        `max_bytes`.

        The second value contains those rows of `also` that exist. They are read together with the
        pair rows of the first edges.
        """
        found: list[ListedEdge] = []
        extra_rows: dict[bytes, Row] | None = None
        size = 0
        while batch := list(islice(keys, count - len(found))):
            pairs = self._pairs(batch, also=also if extra_rows is None else ())
            extra_rows = pairs if extra_rows is None else extra_rows
            for each in _match_pairs(batch, pairs):
                size += each.edge.size_bytes
                if size > max_bytes and found:
                    return found, extra_rows
                found.append(each)
        if extra_rows is None:
            extra_rows = self._pairs((), also=also) if also else {}
        return found, extra_rows

    def read_edges(
        self, keys: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> list[ListedEdge]:
        """Return the edges of these list rows, without outdated rows."""
        return _match_pairs(keys, self._pairs(keys, columns))

    def deletions(self, edges: Sequence[ListedEdge]) -> tuple[list[Deletion], list[Deletion]]:
        """
        Return deletions that remove these edges, but keep edges that were written again since they
        were read.

        The first list is for the pair rows, the second for the list rows.
        """
        at_ms = self._delete_times(edges)
        pairs: list[Deletion] = [
            (each.pair.key, None, at_ms(newest_ms(each.row))) for each in edges
        ]
        lists: list[Deletion] = [
            (key, None, at_ms(each.row[SCORE].at_ms))
            for each in edges
            for key in each.pair.list_keys(read_place(each.row))
        ]
        return pairs, lists

    def delete(self, edges: Sequence[ListedEdge]) -> None:
        """
        Delete edges as they were read. Does not change counts.

        Pair rows are deleted first, so that every remaining edge is in a list.
        """
        for batch in self.deletions(edges):
            self._table.delete_many(batch)

    def _pairs(
        self,
        keys: Sequence[bytes],
        columns: Sequence[bytes] | None = None,
        also: Sequence[bytes] = (),
    ) -> dict[bytes, Row]:
        return self._table.get_many([*(read_pair(key).key for key in keys), *also], columns)

    def _keys(
        self, start: bytes, stop: bytes, wanted: int, first: Scan | None = None, *, reverse: bool
    ) -> Generator[bytes, None, None]:
        """
        Yield the keys of a range. Reads `wanted` keys first, because that is enough if none is
        outdated.

        `first` is a scan of these keys that has already started.

        On HBase, a row costs several times as much to read backward as forward.
        """
        while start < stop:
            count = 0
            scan = first or self._table.scan(start, stop, limit=wanted, reverse=reverse)
            first = None
            with closing(scan) as rows:
                for key, _ in rows:
                    count += 1
                    start, stop = (start, key) if reverse else (key + b"\0", stop)
                    yield key
            if count < wanted:
                return

    def _delete_times(self, edges: Sequence[ListedEdge]) -> Callable[[int], int]:
        """
        Return a function that maps a row's time to the time of its deletion.

        All old rows share one deletion time, because HBase needs a call for each time. A deletion
        later than its row would hide concurrent writes, unless the row is older than
        `MAX_CLOCK_DIFFERENCE_MS`.
        """
        settled_ms = self._clock.now_ms() - MAX_CLOCK_DIFFERENCE_MS
        times = (cell.at_ms for each in edges for cell in each.row.values())
        common_ms = max((at_ms for at_ms in times if at_ms <= settled_ms), default=0)
        return lambda at_ms: max(at_ms, common_ms)

    def _order_range(
        self,
        base: bytes,
        edge_type: int,
        prefix: bytes,
        min_score: int | None,
        max_score: int | None,
    ) -> tuple[bytes, bytes]:
        """
        Return the key range (start, stop) of edges that have this score and an order that begins
        with `prefix`.
        """
        if edge_type not in self._ordered:
            raise InvalidArgument(
                f"prefix: edges of type {edge_type} have no order; "
                f"add it to {self._remedies.ordered}"
            )
        score = min_score or 0
        if max_score not in (None, score):
            raise InvalidArgument(f"prefix: needs one score, got those from {score} to {max_score}")
        start = base + score_bytes(score) + order_bytes(prefix)
        # The prefix has a successor, because the byte after a node's id is a letter.
        return start, after(start) or b""


def _match_pairs(keys: Sequence[bytes], pairs: Mapping[bytes, Row]) -> list[ListedEdge]:
    found = [(key, read_pair(key)) for key in keys]
    return [
        ListedEdge(key, pair, row)
        for key, pair in found
        if SCORE in (row := pairs.get(pair.key, {})) and read_place(row) == listed_place(key)
    ]
