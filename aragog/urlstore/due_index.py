"""
The due index: a list of the URLs to fetch again, soonest first.

A row is valid if its time equals `s:due` in the URL's node. A claim is a lease in the row. If the
URL is not written before the lease ends, it becomes due again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing

from aragog.urlstore import nodes
from aragog.urlstore.nodes import text
from aragog.urlstore.records import Due
from aragog.urlstore.writing.next_due import WATCHED, read_mark, read_state
from zengraph import MultiGraph
from zengraph.records import (
    Lease,
    Mutation,
    NumberEntry,
    Row,
    newest_ms,
    put_number,
    put_properties,
)

_CLAIM_COLUMNS = (nodes.DUE, nodes.REFRESH, nodes.SIGNAL, nodes.WATCHED)
DUE_URL = b"i:u"
"""The column of a due row that contains the URL."""
_YOUNG_MS = 600_000
"""A row is written before its node, so a row younger than this (ms) may still become valid."""


def due_cell(due_at_ms: int | None) -> bytes:
    """Return a due time as the value of `s:due`; empty for None."""
    return b"" if due_at_ms is None else b"%d" % due_at_ms


def due_put(zen: MultiGraph, url: str, due_at_ms: int, now_ms: int) -> Mutation:
    """Return the mutation that writes a URL's row into the index."""
    return put_number(zen.node_id(url), due_at_ms, {DUE_URL: url.encode()}, now_ms)


class DueIndex:
    """Schedules URLs, and claims the URLs that are due."""

    def __init__(self, zen: MultiGraph) -> None:
        self._zen = zen
        self._index = zen.by_number
        self._nodes = zen.nodes

    def schedule(self, url: str, due_at_ms: int | None, now_ms: int) -> None:
        """Set a canonical URL's due time; None: never due."""
        old = text(self._nodes.get(self._zen.node_id(url), [nodes.DUE]), nodes.DUE)
        puts: list[Mutation] = [
            put_properties(self._zen.node_id(url), {nodes.DUE: due_cell(due_at_ms)}, now_ms)
        ]
        if due_at_ms is not None:
            puts.insert(0, due_put(self._zen, url, due_at_ms, now_ms))
        self._zen.mutate(puts)
        if old and old != str(due_at_ms):
            self._index.delete_many([(self._zen.node_id(url), int(old), now_ms)])

    def oldest_ms(self, now_ms: int) -> int | None:
        """Return the due time of the oldest row that is due and unclaimed, or None."""
        oldest = None
        for bucket in self._index.buckets:
            if not self._index.serves(bucket):
                continue
            with closing(self._index.until(bucket, oldest or now_ms + 1)) as entries:
                for entry in entries:
                    if not entry.is_claimed(now_ms):
                        oldest = entry.number
                        break
        return oldest

    def postpone(self, later: Sequence[tuple[Due, int]], now_ms: int) -> None:
        """
        Give claimed URLs another due time, unless they were rescheduled since the claim.

        Safe to repeat. After an interruption, the claim expires and the URL is due again.
        """
        ids = {self._zen.node_id(due.url): (due, at_ms) for due, at_ms in later}
        rows = self._nodes.get_many(list(ids), [nodes.DUE]) if ids else {}
        unchanged = [
            (page_id, due, at_ms)
            for page_id, (due, at_ms) in ids.items()
            if text(rows.get(page_id, {}), nodes.DUE) == str(due.due_at_ms)
            and at_ms != due.due_at_ms
        ]
        if unchanged:
            index = [due_put(self._zen, due.url, at_ms, now_ms) for _, due, at_ms in unchanged]
            cells: list[Mutation] = [
                put_properties(page_id, {nodes.DUE: due_cell(at_ms)}, now_ms)
                for page_id, _, at_ms in unchanged
            ]
            self._zen.mutate([*index, *cells])
            entries = [(page_id, due.due_at_ms, now_ms) for page_id, due, _ in unchanged]
            self._index.delete_many(entries)

    def claim(
        self, now_ms: int, limit: int, lease_s: float, upto_ms: int | None = None
    ) -> list[Due]:
        """
        Claim up to `limit` URLs that are due at `now_ms`, for `lease_s` seconds.

        With `upto_ms`, claims only URLs that are due by then. The order is roughly soonest first:
        each of the sixteen buckets contributes an equal share, while it has enough URLs.
        """
        result: list[Due] = []
        claim = Lease.until(now_ms + int(lease_s * 1000), os.urandom(4))
        buckets: Sequence[int] = self._index.buckets
        while buckets and len(result) < limit:  # the URLs of one folder are in four buckets
            more = []
            for number, bucket in enumerate(buckets):
                share = -(-(limit - len(result)) // (len(buckets) - number))
                claimed = self._claim_in(bucket, now_ms, share, claim, upto_ms or now_ms)
                result += claimed
                if claimed and len(claimed) == share:
                    more.append(bucket)
            buckets = more
        return sorted(result, key=lambda due: due.due_at_ms)

    def _claim_in(
        self, bucket: int, now_ms: int, limit: int, claim: Lease, upto_ms: int
    ) -> list[Due]:
        claimed: list[Due] = []
        stale_rows: list[tuple[bytes, int, int]] = []
        if limit <= 0 or not self._index.serves(bucket):
            return claimed
        with closing(self._index.until(bucket, upto_ms + 1)) as entries:
            batch: list[NumberEntry] = []
            for entry in entries:
                if not entry.is_claimed(now_ms):
                    batch.append(entry)
                if len(batch) >= limit - len(claimed):
                    claimed += self._take(batch, claim, now_ms, stale_rows)
                    batch = []
                if len(claimed) >= limit:
                    break
            claimed += self._take(batch, claim, now_ms, stale_rows)
        if stale_rows:
            self._index.delete_many(stale_rows)
        return claimed

    def _take(
        self,
        batch: list[NumberEntry],
        claim: Lease,
        now_ms: int,
        stale_rows: list[tuple[bytes, int, int]],
    ) -> list[Due]:
        ids = [entry.node_id for entry in batch]
        rows = self._nodes.get_many(ids, _CLAIM_COLUMNS)
        valid: list[NumberEntry] = []
        for entry in batch:
            due_at_ms, page_id, row, _ = entry
            if DUE_URL in row and text(rows.get(page_id, {}), nodes.DUE) == str(due_at_ms):
                valid.append(entry)
            elif DUE_URL not in row or row[DUE_URL].at_ms < now_ms - _YOUNG_MS:
                stale_rows.append((page_id, due_at_ms, newest_ms(row)))
        granted = self._index.claim(valid, claim) if valid else []
        return [
            _to_due(row[DUE_URL].value.decode(), due_at_ms, rows[page_id])
            for (due_at_ms, page_id, row, _), ok in zip(valid, granted, strict=True)
            if ok
        ]


def _to_due(url: str, due_at_ms: int, row: Row) -> Due:
    state, mark = read_state(row), read_mark(row)
    is_reported = (
        state is not None and mark is not None and mark.has_change_since(state.compared_at_ms)
    )
    belief = mark.belief if mark is not None and is_reported else 0.0
    return Due(url, due_at_ms, state, belief, text(row, nodes.WATCHED) == WATCHED.decode())
