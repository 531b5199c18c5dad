"""
Taking edges: the best ones leave a node's list, and one caller gets them.

A take is decided by one check-and-put of the state of the list, in place of the state that was read
before the list was. So of two takes that saw the same edges one is made, and the other one looks
again: an edge is never in two takes. No clock and no lease is involved.

After the decision, the rows of the edges are deleted. A taker that is killed in between leaves a
state that names them, and whoever takes next, or repairs, deletes them first. All of this may be
done twice, by several at the same time, and late: rows are deleted as they were read, so an edge
that was put again since then stays.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from contextlib import closing

from zengraph._codec import after
from zengraph._parallel_edges import Edge
from zengraph._properties import newest_ms
from zengraph._simple_edges import SimpleEdges
from zengraph._take_rows import (
    STATE,
    TakeState,
    is_state,
    receipt_key,
    request_of,
    state_key,
    takes_prefix,
)
from zengraph.clock import Clock
from zengraph.errors import InvalidArgument, SizeExceeded, Unfinished
from zengraph.tables import Tables

MOST_TAKEN = 1000
"""Edges that one call takes at most."""
MOST_TAKEN_BYTES = 1_048_576
"""Bytes of properties of edges at which a take ends before `count`."""
RECEIPTS_MS = 86_400_000
"""How long a repeated take with the same id gets the same edges."""

_MOST_EDGE_BYTES = 4_194_304
_TRIES = 50
_PAUSE_S = 0.002
_SWEPT_EACH = 16
"""Takes with an id after which old receipts of their list are deleted."""
_SWEPT_AT_ONCE = 200


class Takes:
    """Takes edges out of lists of outgoing edges."""

    def __init__(self, tables: Tables, edges: SimpleEdges, clock: Clock) -> None:
        self._table = tables["e"]
        self._lists = edges.lists
        self._counts = edges.counted
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
        Remove the `count` best edges out of a node, and return them, the best first.

        The best have the highest scores; `lowest`: the lowest. Fewer if the node has fewer, or if
        their properties have `MOST_TAKEN_BYTES`. Two requests never get one edge, unless
        it was put again. If the caller is killed, or the call fails after it has decided, the edges
        have left the list all the same. A caller who gives a `request_id`, such as the id of its
        job, repeats the call with it and gets the same edges again, for a day. So an edge is
        returned at most once without an id, and with ids at least once, to one of them.

        Costs a read of the state, a range scan, a multi-get, and four writes; with an id a read and
        a write more.

        Raises:
            InvalidArgument: `count` is not from 1 to `MOST_TAKEN`.
            SizeExceeded: the properties of the best edge have more than 4 MiB.
            Unfinished: other callers took from the list all the time; nothing was taken.
        """
        if not 0 < count <= MOST_TAKEN:
            raise InvalidArgument(f"count: must be from 1 to {MOST_TAKEN}, got {count}")
        key, mark = state_key(node_id, edge_type), request_of(request_id)
        receipt = None if request_id is None else receipt_key(node_id, edge_type, mark)
        for attempt in range(_TRIES):
            time.sleep(random.uniform(0, _PAUSE_S * min(attempt, 10)))
            before = self._finished(key)
            # After the state: the receipt of a take that is no longer in it has been written.
            if receipt is not None and (given := self._receipt(receipt)) is not None:
                return given
            best = self._lists.best(node_id, edge_type, count, MOST_TAKEN_BYTES, lowest=lowest)
            if not best:
                return []
            if best[0].edge.size_bytes > _MOST_EDGE_BYTES:
                raise SizeExceeded(
                    f"the properties of an edge to take may have {_MOST_EDGE_BYTES:,} bytes, those "
                    f"of the one to node {best[0].pair.target.hex()} have more"
                )
            taken = TakeState.of(before, mark, best)
            if self._table.check_and_put(key, STATE, before and before.cell, taken.cell):
                self._finish(key, taken)
                return [each.edge for each in best]
        raise Unfinished("graph", "others take from this list all the time; repeat")

    def forget(self, node_id: bytes) -> None:
        """Finish the takes from a node that is removed, and delete their receipts."""
        for key, _ in self._rows(takes_prefix(node_id)):
            if is_state(key):
                # It stays, without edges: its number tells takes of the node apart.
                self._finished(key)
            elif row := self._table.get(key):
                self._table.delete(key, at_ms=newest_ms(row))

    def repair(self) -> int:
        """Finish takes whose callers were killed; returns how many. Deletes old receipts."""
        found = 0
        for key, state in self._rows(b""):
            if is_state(key):
                found += bool(state.parts)
                self._finished(key)
            else:
                self._delete_old(key)
        return found

    def _finished(self, key: bytes) -> TakeState | None:
        """The state of a list, after the take that it names was finished."""
        state = TakeState.read(self._table.get(key, [STATE]), key)
        if state is None or not state.parts:
            return state
        return self._finish(key, state)

    def _finish(self, key: bytes, state: TakeState) -> TakeState:
        """
        Do what follows the decision of a take; returns its state then.

        Safe to repeat, at any time. Of those who do it at the same time one changes the counts.
        """
        if state.has_request:
            receipt = key[:-16] + state.request
            self._table.put(receipt, {STATE: state.cell}, at_ms=self._clock.now_ms())
        edges = state.edges(key)
        self._lists.delete(edges, together=True)
        finished = state.finished()
        if self._table.check_and_put(key, STATE, state.cell, finished.cell):
            self._counts.change([each.pair for each in edges], -1)
            if state.has_request and state.number % _SWEPT_EACH == 0:
                self._sweep(key)
        return finished

    def _receipt(self, key: bytes) -> list[Edge] | None:
        """What a request took; None: nothing, as far as is known after a day."""
        state = TakeState.read(self._table.get(key, [STATE]), key)
        return None if state is None else [each.edge for each in state.edges(key)]

    def _sweep(self, key: bytes) -> None:
        """Delete old receipts of a list."""
        for number, (each, _) in enumerate(self._rows(key[:-16])):
            if number > _SWEPT_AT_ONCE:
                return
            if not is_state(each):
                self._delete_old(each)

    def _delete_old(self, receipt: bytes) -> None:
        row = self._table.get(receipt, [STATE])
        if row and newest_ms(row) < self._clock.now_ms() - RECEIPTS_MS:
            self._table.delete(receipt, at_ms=newest_ms(row))

    def _rows(self, prefix: bytes) -> Iterator[tuple[bytes, TakeState]]:
        """(key, state) of the states and receipts under a prefix."""
        with closing(self._table.scan(prefix, after(prefix), columns=[STATE])) as rows:
            for key, row in rows:
                if (state := TakeState.read(row, key)) is not None:
                    yield key, state
