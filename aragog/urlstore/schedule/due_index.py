"""
The due index: which URLs are to be fetched again, soonest first.

A row is valid when its node's `s:due` tells the same instant. A claim is a cell of the row, taken
by check-and-put, that runs out: what was claimed and never written again becomes due once more.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import closing

from aragog.urlstore.pages import nodes
from aragog.urlstore.pages.nodes import text
from aragog.urlstore.records import Due
from aragog.urlstore.schedule.next_fetch import state_of
from aragog.zen.codec import BUCKETS, due_key, read_due_key
from aragog.zen.node_ids import node_id
from aragog.zen.tables import Put, Row, Tables, newest_ms

_URL = b"i:u"
_CLAIM = b"i:c"
_YOUNG_MS = 600_000
"""A row is written before its node; one younger than this may still become valid."""


def due_cell(due_at_ms: int | None) -> bytes:
    """The node's cell."""
    return b"" if due_at_ms is None else b"%d" % due_at_ms


def due_put(url: str, due_at_ms: int, now_ms: int) -> Put:
    """The index row of a URL."""
    return ("d", due_key(node_id(url), due_at_ms), {_URL: url.encode()}, now_ms)


class DueIndex:
    """Schedules and claims."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables
        self._index = tables["d"]
        self._nodes = tables["n"]

    def schedule(self, url: str, due_at_ms: int | None, now_ms: int) -> None:
        """Make a canonical URL due at an instant, or never; what was planned before is dropped."""
        old = text(self._nodes.get(node_id(url), [nodes.DUE]), nodes.DUE)
        puts: list[Put] = [("n", node_id(url), {nodes.DUE: due_cell(due_at_ms)}, now_ms)]
        if due_at_ms is not None:
            puts.insert(0, due_put(url, due_at_ms, now_ms))
        self._tables.write(puts)
        if old and old != str(due_at_ms):
            self._index.delete(due_key(node_id(url), int(old)), at_ms=now_ms)

    def oldest_ms(self, now_ms: int) -> int | None:
        """When the oldest row that is due and not claimed was due; None: there is none."""
        found = None
        for bucket in range(BUCKETS):
            stop = bytes([bucket]) + (found or now_ms + 1).to_bytes(8)
            if not self._tables.serves(bucket):
                continue
            with closing(self._index.scan(bytes([bucket]), stop)) as rows:
                for key, row in rows:
                    if not _is_claimed(row, now_ms):
                        found = read_due_key(key)[0]
                        break
        return found

    def postpone(self, later: Sequence[tuple[Due, int]], now_ms: int) -> None:
        """
        Give URLs that were claimed another instant, unless they were planned anew meanwhile.

        Safe to repeat. Killed in the middle, the claim runs out and the URL is due as before.
        """
        ids = {node_id(due.url): (due, at_ms) for due, at_ms in later}
        known = self._nodes.get_many(list(ids), [nodes.DUE]) if ids else {}
        same = [
            (its, due, at_ms)
            for its, (due, at_ms) in ids.items()
            if text(known.get(its, {}), nodes.DUE) == str(due.due_at_ms) and at_ms != due.due_at_ms
        ]
        if same:
            index = [due_put(due.url, at_ms, now_ms) for _, due, at_ms in same]
            cells: list[Put] = [
                ("n", its, {nodes.DUE: due_cell(at_ms)}, now_ms) for its, _, at_ms in same
            ]
            self._tables.write([*index, *cells])
            gone = [(due_key(its, due.due_at_ms), None, now_ms) for its, due, _ in same]
            self._index.delete_many(gone)

    def claim(
        self, now_ms: int, limit: int, lease_s: float, upto_ms: int | None = None
    ) -> list[Due]:
        """
        Up to `limit` URLs that are due at `now_ms`, each to one caller until `lease_s` has passed.

        With `upto_ms` only those that were due by then. About the soonest first: each of the
        sixteen buckets gives its share.
        """
        found: list[Due] = []
        claim = (now_ms + int(lease_s * 1000)).to_bytes(8) + os.urandom(4)
        for bucket in range(BUCKETS):
            share = -(-(limit - len(found)) // (BUCKETS - bucket))
            found += self._claim_in(bucket, now_ms, share, claim, upto_ms or now_ms)
        return sorted(found, key=lambda due: due.due_at_ms)

    def _claim_in(
        self, bucket: int, now_ms: int, limit: int, claim: bytes, upto_ms: int
    ) -> list[Due]:
        start, stop = bytes([bucket]), bytes([bucket]) + (upto_ms + 1).to_bytes(8)
        taken: list[Due] = []
        waste: list[tuple[bytes, None, int]] = []
        if limit <= 0 or not self._tables.serves(bucket):
            return taken
        with closing(self._index.scan(start, stop)) as rows:
            batch: list[tuple[bytes, Row]] = []
            for item in rows:
                if not _is_claimed(item[1], now_ms):
                    batch.append(item)
                if len(batch) >= limit - len(taken):
                    taken += self._take(batch, claim, now_ms, waste)
                    batch = []
                if len(taken) >= limit:
                    break
            taken += self._take(batch, claim, now_ms, waste)
        if waste:
            self._index.delete_many(waste)
        return taken

    def _take(
        self,
        batch: list[tuple[bytes, Row]],
        claim: bytes,
        now_ms: int,
        waste: list[tuple[bytes, None, int]],
    ) -> list[Due]:
        ids = [read_due_key(key)[1] for key, _ in batch]
        known = self._nodes.get_many(ids, [nodes.DUE, nodes.REFRESH])
        good: list[tuple[bytes, Row]] = []
        for key, row in batch:
            due_at_ms, its = read_due_key(key)
            if _URL in row and text(known.get(its, {}), nodes.DUE) == str(due_at_ms):
                good.append((key, row))
            elif _URL not in row or row[_URL].at_ms < now_ms - _YOUNG_MS:
                waste.append((key, None, newest_ms(row)))
        checks = [
            (key, _CLAIM, row[_CLAIM].value if _CLAIM in row else None, claim) for key, row in good
        ]
        won = self._index.check_and_put_many(checks) if checks else []
        return [
            Due(row[_URL].value.decode(), due_at_ms, state_of(known[its]))
            for (key, row), ok in zip(good, won, strict=True)
            if ok
            for due_at_ms, its in [read_due_key(key)]
        ]


def _is_claimed(row: Row, now_ms: int) -> bool:
    cell = row.get(_CLAIM)
    return cell is not None and int.from_bytes(cell.value[:8]) > now_ms
