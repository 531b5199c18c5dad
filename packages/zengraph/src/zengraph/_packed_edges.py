"""
Packed edges: one cell contains a node's outgoing edges of a type. They suit a pool of items from
which many processes take.

Each change reads the cell and replaces it by check-and-put, so it is atomic. If two writers read
the same version of a list, one of them succeeds, and the other reads the list again. A take removes
a node's best edges and returns them. It costs one read and one write, however many edges it takes.

Packed edges have no rows at their targets; they are listed only at their source. The cell is in the
row of the list's state (`_take_rows.py`). Receipts, which record the edges of a take, have the same
keys as for other edges. Earlier versions of this library know only the other columns of these rows,
and leave the cell unchanged.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice

from zengraph._codec import OUT, after
from zengraph._edge_lists import EdgeLists, ListPlace
from zengraph._indexes import MAX_LIMIT, Schema
from zengraph._packed_lists import (
    PACKED,
    PackedEdge,
    PackedList,
    Take,
    encode_key,
    read_key,
    read_target,
)
from zengraph._parallel_edges import Edge, Edges
from zengraph._properties import newest_ms
from zengraph._row_limits import RowLimits
from zengraph._simple_edge_rows import PROPERTY, EdgeKey, NewEdge
from zengraph._take_rows import hash_request_id, is_state, receipt_key, state_key, takes_prefix
from zengraph._taking import RECEIPTS_MS, check_count
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument, SizeExceeded, Unfinished
from zengraph.tables import CellSize, Tables

MAX_LIST_BYTES = 1_048_576
"""Maximum size of a packed list with its edges' properties."""

_MAX_TAKES = 8
_MAX_TAKES_BYTES = 65_536
"""Receipts are written when a list has this many takes with an id, or this many bytes of them."""
_MAX_SWEPT_RECEIPTS = 200
_MAX_TRIES = 50
_PAUSE_S = 0.002


class PackedEdges:
    """
    Writes, reads and takes the edges of the types in `Schema.packed`.

    Raises:
        InvalidArgument: a type is also in `Schema.counted`. Packed lists need no separate count.
    """

    def __init__(self, tables: Tables, schema: Schema, lists: EdgeLists, clock: Clock) -> None:
        self._table = tables["e"]
        self._types = frozenset(schema.packed)
        self._ordered = frozenset(schema.ordered)
        self._remedies = schema.remedies
        self._lists = lists
        self._clock = clock
        self._limits = RowLimits(self._table, PROPERTY, b"", schema.limits, schema.remedies)
        if types_in_both := self._types.intersection(schema.counted):
            raise InvalidArgument(
                f"edge type {min(types_in_both)} is in {self._remedies.packed} and in "
                f"{self._remedies.counted}; packed edges need no separate count"
            )

    def __contains__(self, edge_type: int) -> bool:
        return edge_type in self._types

    def put(self, edges: Sequence[NewEdge], *, missing: bool = False) -> None:
        """
        Put edges, like `SimpleEdges.put`. If `missing` is True, put only edges that do not exist.

        Atomic for each list. Takes one read and one write for any number of lists. The edges must
        be valid.

        Raises:
            SizeExceeded: an edge or a list would exceed its limit. Lists of other nodes may have
                been written.
            Unfinished: other writers changed a list during every attempt. Some lists may have been
                written.
        """
        wanted: dict[bytes, dict[bytes, NewEdge]] = {}
        for edge in edges:
            key = state_key(edge.pair.source, edge.pair.edge_type)
            wanted.setdefault(key, {})[edge.pair.target] = edge
        self._change_lists(
            list(wanted), lambda key, found: self._add_edges(found, wanted[key], missing=missing)
        )

    def get(self, pair: EdgeKey) -> Edge | None:
        """Return the edge, or None. Reads the whole list."""
        found = self._read_list(pair.source, OUT, pair.edge_type).find(pair.target)
        return found and found.edge

    def edges(
        self,
        place: ListPlace,
        limit: int,
        cursor: bytes | None,
        *,
        reverse: bool = False,
        least_score: int | None = None,
        most_score: int | None = None,
        prefix: bytes | None = None,
    ) -> Edges:
        """
        Return a page of a list, like `EdgeLists.edges`; reads the whole list once.

        Raises:
            InvalidArgument: as in `EdgeLists.edges`, or for incoming edges, because packed edges
                are not listed at their targets.
        """
        base, start, stop = self._lists.page_range(
            place, cursor, reverse=reverse,
            least_score=least_score, most_score=most_score, prefix=prefix,
        )  # fmt: skip
        keyed = [(base + read_key(each), each) for each in self._read_list(*place).data]
        inside = [(key, each) for key, each in keyed if start <= key < stop]
        limit = min(limit, MAX_LIMIT)
        page = (inside[::-1] if reverse else inside)[:limit]
        more = len(inside) > limit
        return Edges(
            [PackedEdge.read(each).edge for _, each in page],
            page[-1][0][len(base) :] if more and page else None,
        )

    def walk(self, place: ListPlace) -> Iterator[Edge]:
        """Yield a snapshot of a list's edges."""
        for each in self._read_list(*place).data:
            yield PackedEdge.read(each).edge

    def count(self, place: ListPlace) -> int:
        """Return the number of edges. Reads the whole list."""
        return len(self._read_list(*place).data)

    def remove(self, pairs: Iterable[EdgeKey]) -> None:
        """Remove edges, atomically for each list. Missing edges are ignored."""
        targets_by_list: dict[bytes, set[bytes]] = {}
        for pair in pairs:
            targets_by_list.setdefault(state_key(pair.source, pair.edge_type), set()).add(
                pair.target
            )
        self._change_lists(
            list(targets_by_list), lambda key, found: found.without(frozenset(targets_by_list[key]))
        )

    def trim(self, place: ListPlace, keep: int, *, lowest: bool = False) -> int:
        """Remove all edges of a list except the `keep` best, atomically. Returns how many."""
        self._check_direction(place.direction, place.edge_type)
        removed = 0

        def trim_list(_: bytes, found: PackedList) -> PackedList:
            nonlocal removed
            removed = max(len(found.data) - keep, 0)
            return found.split(removed, lowest=not lowest)[1]

        self._change_lists([state_key(place.node_id, place.edge_type)], trim_list)
        return removed

    def take(
        self,
        node_id: bytes,
        edge_type: int,
        count: int,
        *,
        lowest: bool = False,
        request_id: str | None = None,
    ) -> list[Edge]:
        """
        Remove and return the `count` best edges of a node, like `Takes.take`.

        Costs one read and one write of the list. With a request id, the same read includes the
        receipt, and every eighth take also writes the receipts of the most recent takes.
        """
        check_count(count)
        place = ListPlace(node_id, OUT, edge_type)
        for _ in _attempts():
            edges = self._try_take(place, count, lowest=lowest, request_id=request_id)
            if edges is not None:
                return edges
        raise _too_many_conflicts()

    def _try_take(
        self, place: ListPlace, count: int, *, lowest: bool, request_id: str | None
    ) -> list[Edge] | None:
        """Return None if another writer changed the list first."""
        key, request = state_key(place.node_id, place.edge_type), hash_request_id(request_id)
        receipt_keys = (
            [] if request_id is None else [receipt_key(place.node_id, place.edge_type, request)]
        )
        # Read the receipt after the list, because a list keeps a take until its receipt is written.
        rows = self._table.get_each([key, *receipt_keys], [PACKED])
        before = rows[0].get(PACKED)
        found = PackedList.read(key, before and before.value)
        now_ms = self._clock.now_ms()
        if receipt_keys:
            receipt = rows[1].get(PACKED)
            earlier_take = found.find_take(request) or (
                receipt and Take.read_receipt(receipt_keys[0], receipt.value)
            )
            if earlier_take and earlier_take.at_ms >= now_ms - RECEIPTS_MS:
                return earlier_take.edges
        if not found.data or before is None:
            return []
        taken, rest = found.split(count, lowest=lowest)
        if receipt_keys:
            rest = self._note_take(key, rest, Take(request, now_ms, taken))
        if not self._table.check_and_put(key, PACKED, before.value, rest.cell):
            return None
        return [PackedEdge.read(each).edge for each in taken]

    def _note_take(self, key: bytes, rest: PackedList, take: Take) -> PackedList:
        """
        Add a take to the list.

        If the list then has too many takes, write the receipts of earlier ones.
        """
        size = sum(len(data) for each in rest.takes for data in each.data)
        if len(rest.takes) < _MAX_TAKES and size < _MAX_TAKES_BYTES:
            return rest._replace(takes=[*rest.takes, take])
        # Write receipts before the list drops these takes. They are correct even if this take
        # fails, because those takes are already done.
        self._table.put_many(
            [(key[:-16] + each.request, {PACKED: each.receipt}, each.at_ms) for each in rest.takes]
        )
        self._delete_receipts(key[:-16], self._clock.now_ms() - RECEIPTS_MS)
        return rest._replace(takes=[take])

    def remove_all(self, node_id: bytes) -> None:
        """Remove the outgoing edges and the receipts of a node that is being removed."""
        if not self._types:
            return
        prefix = takes_prefix(node_id)
        with closing(self._table.scan(prefix, after(prefix), columns=[PACKED])) as rows:
            keys = [key for key, _ in rows if is_state(key)]
        # Keep the empty list, because deleting its cell could hide a concurrent put.
        self._change_lists(keys, lambda _, found: PackedList() if any(found) else found)
        self._delete_receipts(prefix, None)

    def reorder(self, key: bytes) -> int:
        """Correct the order of a list's edges after a change to `Schema.ordered`."""
        moved: list[PackedEdge] = []

        def reorder_list(key: bytes, found: PackedList) -> PackedList:
            nonlocal moved
            edges = [(PackedEdge.read(each), read_target(each)) for each in found.data]
            in_order = int.from_bytes(key[17:19]) in self._ordered
            moved = [
                new
                for old, target in edges
                if (new := old.with_order(target, in_order=in_order)) != old
            ]
            return found.with_edges(moved)

        self._change_lists([key], reorder_list)
        return len(moved)

    def _add_edges(
        self, found: PackedList, wanted: Mapping[bytes, NewEdge], *, missing: bool
    ) -> PackedList:
        """Return a copy of the list with these edges, which are keyed by target."""
        now_ms = self._clock.now_ms()
        old_edges = {
            target: PackedEdge.read(each)
            for each in found.data
            if (target := read_target(each)) in wanted
        }
        new = [
            self._merge_edge(old_edges.get(target), edge, now_ms)
            for target, edge in wanted.items()
            if not (missing and target in old_edges)
        ]
        after = found.with_edges(new)
        if after.size_bytes > max(MAX_LIST_BYTES, found.size_bytes):
            raise SizeExceeded(
                f"the packed list would have {after.size_bytes:,} bytes, the limit is "
                f"{MAX_LIST_BYTES:,}; trim it, or take its type out of {self._remedies.packed}"
            )
        return after

    def _merge_edge(self, old: PackedEdge | None, edge: NewEdge, now_ms: int) -> PackedEdge:
        """Return the edge after the write; it keeps properties that are not given."""
        before = {} if old is None else old.properties
        if edge.properties:
            sizes = {PROPERTY + n.encode(): CellSize(len(v), 0) for n, v in before.items()}
            cells = {PROPERTY + n.encode(): v for n, v in edge.properties.items()}
            self._limits.check(sizes, cells)
        at_ms = now_ms if old is None else max(now_ms, old.at_ms)
        key = encode_key(edge.place(self._ordered), edge.pair.target)
        return PackedEdge(key, at_ms, {**before, **edge.properties})

    def _change_lists(
        self, keys: Sequence[bytes], change: Callable[[bytes, PackedList], PackedList]
    ) -> None:
        """Replace each list with the result of `change`. Try again if another writer was faster."""
        pending = list(keys)
        if not pending:
            return
        for _ in _attempts():
            rows = self._table.get_many(pending, [PACKED])
            writes: list[tuple[bytes, bytes, bytes | None, bytes]] = []
            for key in pending:
                before = rows[key][PACKED].value if key in rows else None
                found = PackedList.read(key, before)
                if (after := change(key, found)) != found:
                    writes.append((key, PACKED, before, after.cell))
            done = self._table.check_and_put_many(writes) if writes else []
            pending = [
                key for (key, *_), was_written in zip(writes, done, strict=True) if not was_written
            ]
            if not pending:
                return
        raise _too_many_conflicts()

    def _read_list(self, node_id: bytes, direction: bytes, edge_type: int) -> PackedList:
        self._check_direction(direction, edge_type)
        key = state_key(node_id, edge_type)
        cell = self._table.get(key, [PACKED]).get(PACKED)
        return PackedList.read(key, cell and cell.value)

    def _check_direction(self, direction: bytes, edge_type: int) -> None:
        if direction != OUT:
            raise InvalidArgument(
                f"direction: edges of type {edge_type} are packed ({self._remedies.packed}) and "
                "listed at their source only"
            )

    def _delete_receipts(self, prefix: bytes, before_ms: int | None) -> None:
        """Delete all receipts, or a few old ones."""
        with closing(self._table.scan(prefix, after(prefix), columns=[PACKED])) as rows:
            batch = rows if before_ms is None else islice(rows, _MAX_SWEPT_RECEIPTS)
            old = [
                (key, [PACKED], newest_ms(row))
                for key, row in batch
                if not is_state(key) and (before_ms is None or newest_ms(row) < before_ms)
            ]
        if old:
            self._table.delete_many(old)


def _attempts() -> Iterator[int]:
    """Count the attempts of a change, with increasing pauses between them."""
    for attempt in range(_MAX_TRIES):
        if attempt:  # even a pause of 0 s is a system call of about 60 µs
            time.sleep(random.uniform(0, _PAUSE_S * min(attempt, 10)))
        yield attempt


def _too_many_conflicts() -> Unfinished:
    return Unfinished("graph", "other writers kept changing this packed list; try again")
