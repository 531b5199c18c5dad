"""
Taking edges: remove the best edges of a node's list, and give each of them to one caller.

One check-and-put of the list's state decides a take. The state is read before the list, so if two
takes read the same edges, one of them fails and starts again. Therefore no edge is ever in two
takes, and no clock or lease is needed.

After the decision, one call deletes the edges' rows and writes the receipt, which records the edges
for repeated requests. The state contains these edges until the next take. While the next take reads
its own edges, it also checks whether those rows are deleted and the receipt is written. If not, the
earlier process was killed or is slow, and the next take finishes that work first. Repeating this
work is safe, because an edge that was put again in the meantime is kept.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing

from zengraph._codec import after
from zengraph._edge_lists import ListedEdge, ListEnd
from zengraph._parallel_edges import Edge
from zengraph._properties import Row, newest_ms
from zengraph._simple_edge_rows import SCORE
from zengraph._simple_edges import SimpleEdges
from zengraph._take_rows import (
    NO_REQUEST,
    STATE,
    TakeState,
    hash_request_id,
    is_state,
    receipt_key,
    state_key,
    takes_prefix,
)
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument, SizeExceeded, Unfinished
from zengraph.tables import Tables

MAX_TAKEN = 1000
"""Maximum number of edges per call."""
MAX_TAKEN_BYTES = 1_048_576
"""A take ends early when its edges' properties reach this many bytes."""
RECEIPTS_MS = 86_400_000
"""For how long a take that is repeated with the same id returns the same edges."""

_MAX_EDGE_BYTES = 4_194_304
_MAX_KEPT_BYTES = 65_536
"""A take's edges stay in the state until the next take, unless they are larger than this."""
_MAX_TRIES = 50
_PAUSE_S = 0.002
_TAKES_PER_SWEEP = 16
"""Old receipts are deleted after every sixteenth take from a list, if that take has an id."""
_MAX_SWEPT_RECEIPTS = 200


class Takes:
    """Takes edges from the lists of outgoing edges."""

    def __init__(self, tables: Tables, edges: SimpleEdges, clock: Clock) -> None:
        self._table = tables["e"]
        self._lists = edges.lists
        self._counts = edges.edge_counts
        self._clock = clock

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
        Remove the `count` best outgoing edges of a node, and return them, best first.

        The best edges have the highest scores, or the lowest if `lowest`. Returns fewer if the node
        has fewer, or once their properties reach `MAX_TAKEN_BYTES`.

        If the caller is killed, or the call fails after its decision, the edges are removed anyway.
        A caller that passes a `request_id`, such as the id of its job, can repeat the call for a
        day and gets the same edges. So without an id, an edge is returned at most once; with ids,
        at least once, but under only one id. An edge that is put again can be taken again.

        Costs a read of the state, a range scan, a multi-get and two writes. Types with stored
        counts, and edges with large properties, cost two more writes.

        Raises:
            InvalidArgument: `count` is not between 1 and `MAX_TAKEN`.
            SizeExceeded: the best edge's properties are larger than 4 MiB.
            Unfinished: other callers kept taking from the list; nothing was taken.
        """
        check_count(count)
        end = ListEnd(node_id, edge_type, lowest)
        for attempt in range(_MAX_TRIES):
            if attempt:  # a pause of 0 s is a system call of about 60 µs
                time.sleep(random.uniform(0, _PAUSE_S * min(attempt, 10)))
            if (edges := self._try_take(end, count, request_id)) is not None:
                return edges
        raise Unfinished("graph", "other callers kept taking from this list; try again")

    def _try_take(self, end: ListEnd, count: int, request_id: str | None) -> list[Edge] | None:
        """Try once. Returns None if another take interfered."""
        key, request = state_key(end.node_id, end.edge_type), hash_request_id(request_id)
        row, keys = self._lists.read_row_and_best(key, [STATE], end, count)
        before = TakeState.read(row, key)
        with closing(keys):
            if (
                before is not None
                and before.parts
                and self._must_finish_first(before, end.edge_type, request)
            ):
                self._finish(key, before)
                return None
            # Read these after the state: the edges, and the rows that show whether the last take is
            # finished.
            receipt_keys = (
                [] if request_id is None else [receipt_key(end.node_id, end.edge_type, request)]
            )
            last_take = _TakeRows(key, before)
            also = [*receipt_keys, *last_take.rows]
            best, others = self._lists.read_best(keys, count, MAX_TAKEN_BYTES, also)
        if (
            receipt_keys
            and (earlier_take := TakeState.read(others.get(receipt_keys[0], {}), key)) is not None
        ):
            return [each.edge for each in earlier_take.edges(key)]
        if not best:
            return []
        if before is not None and not last_take.are_finished(others):
            self._finish(key, before)
            return None
        if best[0].edge.size_bytes > _MAX_EDGE_BYTES:
            raise SizeExceeded(
                f"the properties of a taken edge may have {_MAX_EDGE_BYTES:,} bytes, those "
                f"of the one to node {best[0].pair.target.hex()} have more"
            )
        taken = TakeState.after(before, request, best)
        if not self._table.check_and_put(key, STATE, before and before.cell, taken.cell):
            return None
        self._complete(key, taken, best)
        return [each.edge for each in best]

    def forget(self, node_id: bytes) -> None:
        """Finish takes from a node that is being removed, and delete their receipts."""
        for key, state in self._rows(takes_prefix(node_id)):
            if is_state(key) and state.parts:
                # Keep the state without edges, because its number distinguishes takes from the
                # node.
                self._finish(key, state)
        for key, _ in self._rows(takes_prefix(node_id)):
            if not is_state(key) and (row := self._table.get(key)):
                self._table.delete(key, at_ms=newest_ms(row))

    def repair(self) -> int:
        """
        Finish takes of killed callers, and delete old receipts. Returns the number of finished
        takes.
        """
        finished = 0
        for key, state in self._rows(b""):
            if not is_state(key):
                self._delete_old(key)
            elif state.parts and not self._is_finished(key, state):
                finished += 1
                self._finish(key, state)
        return finished

    def _is_finished(self, key: bytes, state: TakeState) -> bool:
        """Return True if a state's take needs no further work."""
        last_take = _TakeRows(key, state)
        return _read_edge_type(key) not in self._counts and last_take.are_finished(
            self._table.get_many(last_take.rows)
        )

    def _must_finish_first(self, state: TakeState, edge_type: int, request: bytes) -> bool:
        # Counts must change exactly once per take, so a check-and-put of the state decides who
        # changes them.
        return edge_type in self._counts or (state.has_request and state.request == request)

    def _complete(self, key: bytes, state: TakeState, edges: Sequence[ListedEdge]) -> None:
        """
        Do the work that follows a take's decision.
        Records that it is done only if counts changed or the edges are large.
        """
        if _read_edge_type(key) in self._counts or state.size_bytes > _MAX_KEPT_BYTES:
            self._finish(key, state)
        else:
            self._write_result(key, state, edges)
        if state.has_request and state.number % _TAKES_PER_SWEEP == 0:
            self._sweep(key)

    def _finish(self, key: bytes, state: TakeState) -> None:
        """
        Do the work after a take's decision, and record that it is done.

        Safe to repeat. Only one process changes the counts.
        """
        edges = state.edges(key)
        self._write_result(key, state, edges)
        if self._table.check_and_put(key, STATE, state.cell, state.without_edges().cell):
            self._counts.change([each.pair for each in edges], -1)

    def _write_result(self, key: bytes, state: TakeState, edges: Sequence[ListedEdge]) -> None:
        """Delete the rows of a take's edges, and write its receipt. Safe to repeat."""
        receipt = (key[:-16] + state.request, {STATE: state.cell}, self._clock.now_ms())
        pairs, lists = self._lists.deletions(edges)
        # Delete the pair rows last. If the engine keeps the order, an edge without a pair row then
        # has no list rows either.
        self._table.put_and_delete_many([receipt] if state.has_request else [], [*lists, *pairs])

    def _sweep(self, key: bytes) -> None:
        for number, (each, _) in enumerate(self._rows(key[:-16])):
            if number > _MAX_SWEPT_RECEIPTS:
                return
            if not is_state(each):
                self._delete_old(each)

    def _delete_old(self, receipt: bytes) -> None:
        row = self._table.get(receipt, [STATE])
        if not row or newest_ms(row) >= self._clock.now_ms() - RECEIPTS_MS:
            return
        key = receipt[:-16] + NO_REQUEST
        state = TakeState.read(self._table.get(key, [STATE]), key)
        if state is not None and state.parts and state.request == receipt[-16:]:
            # This is the last take. Without its receipt, it would not count as finished.
            self._finish(key, state)
            row = self._table.get(receipt, [STATE]) or row
        self._table.delete(receipt, at_ms=newest_ms(row))

    def _rows(self, prefix: bytes) -> Iterator[tuple[bytes, TakeState]]:
        with closing(self._table.scan(prefix, after(prefix), columns=[STATE])) as rows:
            for key, row in rows:
                if (state := TakeState.read(row, key)) is not None:
                    yield key, state


def check_count(count: int) -> int:
    """Return the count; raises InvalidArgument unless it is between 1 and `MAX_TAKEN`."""
    if not 0 < count <= MAX_TAKEN:
        raise InvalidArgument(f"count: must be from 1 to {MAX_TAKEN}, got {count}")
    return count


def _read_edge_type(key: bytes) -> int:
    return int.from_bytes(key[17:19])


class _TakeRows:
    """The rows that show whether a take is finished: its receipt and its edges' pair rows."""

    def __init__(self, key: bytes, state: TakeState | None) -> None:
        has_edges = state is not None and bool(state.parts)
        self._scores = state.scores(key) if state is not None and has_edges else {}
        self._receipts = (
            [key[:-16] + state.request] if state and has_edges and state.has_request else []
        )

    @property
    def rows(self) -> list[bytes]:
        return [*self._receipts, *self._scores]

    def are_finished(self, rows: Mapping[bytes, Row]) -> bool:
        """Return True if all edges are deleted and the receipt is written."""
        # An edge that was put again has another time.
        return all(key in rows for key in self._receipts) and not any(
            key in rows and rows[key].get(SCORE) == score for key, score in self._scores.items()
        )
