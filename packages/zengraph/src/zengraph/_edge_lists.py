"""
Lists of simple edges: the rows at both nodes, each checked at the row of its pair.

`_simple_edges.py` says which rows an edge has.
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
    MOST_ORDER_BYTES,
    SCORE,
    EdgeKey,
    edge_of,
    pair_of,
    place_in,
    place_of,
)
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument
from zengraph.tables import CellTable, Deletion, Scan

CLOCKS_DIFFER_MS = 10_000
"""By how much the clocks of two writers of one graph may differ."""
_FIRST_EDGES = 2
_CURSOR_BYTES = 24
_MOST_CURSOR_BYTES = _CURSOR_BYTES + 2 + 2 * MOST_ORDER_BYTES


class Seen(NamedTuple):
    """An edge as it was read from a list."""

    key: bytes
    """Of the row that lists it."""
    pair: EdgeKey
    row: Row
    """The row of its pair."""

    @property
    def edge(self) -> Edge:
        """As callers get it."""
        return edge_of(read_edge_key(self.key)[4], self.row)


class ListPlace(NamedTuple):
    """The list of a node's edges of a type, in one direction."""

    node_id: bytes
    direction: bytes
    edge_type: int


class ListEnd(NamedTuple):
    """An end of the list of a node's outgoing edges."""

    node_id: bytes
    edge_type: int
    lowest: bool
    """True: the end with the lowest scores; False: with the highest."""


class EdgeLists:
    """Reads lists of edges, and deletes edges as they were read."""

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
        Edges of a node by score, then by the other node; `reverse`: the highest score first.

        Those of an ordered type sort by score, by order, and then by the other node. `prefix`: only
        those of one score, `least_score` or 0, whose order begins with it.

        One range scan, and a few multi-gets for the page's edges, which ends before `limit`
        where the properties have about `PAGE_BYTES`. The direction is `OUT` or `IN`;
        scores are from `least_score` to `most_score`.

        Raises:
            InvalidArgument: the cursor is not one that this call returned, or `prefix` is for a
                type without an order, or for several scores.
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
        items: list[Seen] = []
        edges: list[Edge] = []
        ended = False
        with closing(self._keys(start, stop, limit + 1, reverse=reverse)) as rows:
            size, part = 0, _FIRST_EDGES
            while not ended and len(items) <= limit and size < PAGE_BYTES:
                wanted = min(part, limit + 1 - len(items))
                keys = list(islice(rows, wanted))
                ended = len(keys) < wanted
                more = self.seen(keys)
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
        (what the keys of a list begin with, start, stop) of a page; the arguments of `edges`.

        Raises:
            InvalidArgument: as `edges` does.
        """
        base = edge_prefix(*place)
        start, stop = score_range(base, least_score, most_score)
        if prefix is not None:
            start, stop = self._beginning(base, place.edge_type, prefix, least_score, most_score)
        if cursor is not None:
            if not _CURSOR_BYTES <= len(cursor) <= _MOST_CURSOR_BYTES:
                raise InvalidArgument("cursor: must be one that this call returned")
            last = base + cursor
            start, stop = (start, min(stop, last)) if reverse else (max(start, last + b"\0"), stop)
        return base, start, stop

    def walk(self, place: ListPlace) -> Iterator[Edge]:
        """`edges`, all of them."""
        cursor = None
        while True:
            page = self.edges(place, MAX_LIMIT, cursor)
            yield from page.items
            if (cursor := page.cursor) is None:
                return

    def row_and_best(
        self, row: bytes, columns: Sequence[bytes], place: ListEnd, count: int
    ) -> tuple[Row, Generator[bytes, None, None]]:
        """A row, and the keys at an end of a list, which were read after it; close them."""
        start, stop = score_range(edge_prefix(place.node_id, OUT, place.edge_type))
        reverse = not place.lowest
        found, first = self._table.get_then_scan(
            row, columns, start, stop, limit=count, reverse=reverse
        )
        return found, self._keys(start, stop, count, first, reverse=reverse)

    def best(
        self,
        keys: Iterator[bytes],
        count: int,
        most_bytes: int,
        also: Sequence[bytes] = (),
    ) -> tuple[list[Seen], dict[bytes, Row]]:
        """
        The first edges of these rows of a list; fewer where their properties have `most_bytes`.

        The second value has the rows `also` that exist, read with the pairs of the first edges.
        """
        found: list[Seen] = []
        others: dict[bytes, Row] | None = None
        size = 0
        while some := list(islice(keys, count - len(found))):
            pairs = self._pairs(some, also=also if others is None else ())
            others = pairs if others is None else others
            for each in _true(some, pairs):
                size += each.edge.size_bytes
                if size > most_bytes and found:
                    return found, others
                found.append(each)
        if others is None:
            others = self._pairs((), also=also) if also else {}
        return found, others

    def seen(self, keys: Sequence[bytes], columns: Sequence[bytes] | None = None) -> list[Seen]:
        """The edges of these rows of lists, without rows that are not true."""
        return _true(keys, self._pairs(keys, columns))

    def deletions(self, edges: Sequence[Seen]) -> tuple[list[Deletion], list[Deletion]]:
        """
        The deletions of edges as they were read; one that was written since then stays.

        Returns those of the rows of the pairs, and those of the rows of the lists.
        """
        at_ms = self._delete_times(edges)
        pairs: list[Deletion] = [
            (each.pair.key, None, at_ms(newest_ms(each.row))) for each in edges
        ]
        lists: list[Deletion] = [
            (key, None, at_ms(each.row[SCORE].at_ms))
            for each in edges
            for key in each.pair.list_keys(place_of(each.row))
        ]
        return pairs, lists

    def delete(self, edges: Sequence[Seen]) -> None:
        """
        Delete edges as they were read. Counts stay.

        The rows of the pairs go first, so that no edge is left that no list has.
        """
        for some in self.deletions(edges):
            self._table.delete_many(some)

    def _pairs(
        self,
        keys: Sequence[bytes],
        columns: Sequence[bytes] | None = None,
        also: Sequence[bytes] = (),
    ) -> dict[bytes, Row]:
        """The existing rows of the pairs of these rows of lists, and of `also`."""
        return self._table.get_many([*(pair_of(key).key for key in keys), *also], columns)

    def _keys(
        self, start: bytes, stop: bytes, wanted: int, first: Scan | None = None, *, reverse: bool
    ) -> Generator[bytes, None, None]:
        """
        The keys of a range; `wanted` are read at first, which is enough if all are true.

        `first`: a scan of these, which has begun.

        Backward, a row of HBase costs several times as much as forward.
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

    def _delete_times(self, edges: Sequence[Seen]) -> Callable[[int], int]:
        """
        The time at which to delete a row, by that of its cells: one time for all old rows.

        HBase needs a call for each time. A later time than that of the row itself would hide what
        another writer puts there in the meantime, unless it is older than clocks differ.
        """
        settled_ms = self._clock.now_ms() - CLOCKS_DIFFER_MS
        times = (cell.at_ms for each in edges for cell in each.row.values())
        common_ms = max((at_ms for at_ms in times if at_ms <= settled_ms), default=0)
        return lambda at_ms: max(at_ms, common_ms)

    def _beginning(
        self, base: bytes, edge_type: int, prefix: bytes, least: int | None, most: int | None
    ) -> tuple[bytes, bytes]:
        """(start, stop) of the edges of one score whose order begins with `prefix`."""
        if edge_type not in self._ordered:
            raise InvalidArgument(
                f"prefix: edges of type {edge_type} have no order; "
                f"add it to {self._remedies.ordered}"
            )
        score = least or 0
        if most not in (None, score):
            raise InvalidArgument(f"prefix: needs one score, got those from {score} to {most}")
        start = base + score_bytes(score) + order_bytes(prefix)
        # There is a key after it: the byte after a node's id is a letter.
        return start, after(start) or b""


def _true(keys: Sequence[bytes], pairs: Mapping[bytes, Row]) -> list[Seen]:
    """The edges of rows of lists, as the rows of their pairs say."""
    found = [(key, pair_of(key)) for key in keys]
    return [
        Seen(key, pair, row)
        for key, pair in found
        if SCORE in (row := pairs.get(pair.key, {})) and place_of(row) == place_in(key)
    ]
