"""
Choose the journal rows that a compaction takes.

A source's changes must be compacted in order of time. Merging a list drops removed links, so a late
older change that adds such a link would restore it. A source's changes are all in one lane
(`_journal_keys`) or outside the lanes. So if there are rows outside the lanes, a plan takes the
oldest rows inside and outside all lanes. Otherwise it takes the oldest rows of some lanes.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple

import orjson

from zengraph._codec import BUCKETS
from zengraph._naming import Naming
from zengraph.clock import Clock
from zengraph.links._inlinks import journal
from zengraph.links._inlinks.journal import Entry
from zengraph.links._journal_keys import (
    LANES,
    any_beside,
    beside_range,
    lane_range,
    order,
    written_at_ms,
)
from zengraph.links._outlinks import change_ms, unpack
from zengraph.links._writer import CELL
from zengraph.tables import CellTable, Row

GRACE_MS = 600_000
"""
A writer counts as dead if it does not update the source's cell within this time (ms) after writing
an entry.
"""

Range = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class PlannedRow:
    key: bytes
    dead: tuple[bytes, ...] = ()
    """Names of the row's changes that never took effect."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """A compaction's work, stored before the compaction writes to a posting list."""

    rows: tuple[PlannedRow, ...] = ()
    """The rows that are compacted, each source's earlier changes first."""
    void: tuple[bytes, ...] = ()
    """
    Rows in which no change took effect. The compaction only deletes them, if their writer has not.
    """
    depths: Mapping[bytes, int] | None = None
    """
    The depths at which large groups' lists are written (`entry_depths`), by group key; None until
    they are chosen.
    """

    def __bool__(self) -> bool:
        return bool(self.rows or self.void)

    def pack(self) -> bytes:
        rows = [(row.key.hex(), [name.hex() for name in row.dead]) for row in self.rows]
        parts: dict[str, object] = {"rows": rows, "void": [key.hex() for key in self.void]}
        if self.depths is not None:
            parts["depths"] = {key.hex(): depth for key, depth in self.depths.items()}
        return orjson.dumps(parts)

    @staticmethod
    def unpack(value: bytes) -> CompactionPlan:
        plan = orjson.loads(value)
        rows = tuple(
            PlannedRow(bytes.fromhex(key), tuple(bytes.fromhex(name) for name in dead))
            for key, dead in plan["rows"]
        )
        depths = plan.get("depths")  # absent in plans of earlier versions
        if depths is not None:
            depths = {bytes.fromhex(key): depth for key, depth in depths.items()}
        return CompactionPlan(rows, tuple(map(bytes.fromhex, plan["void"])), depths)


class Choice(NamedTuple):
    """A plan and its lanes."""

    plan: CompactionPlan
    lanes: frozenset[int]
    """The lanes whose rows the plan takes."""
    left: bool
    """True if the limit left rows over."""


class _Candidate(NamedTuple):
    """A row that may be compacted."""

    key: bytes
    sources: set[str]
    dead: list[bytes] | None
    """Names of changes that never took effect; None if some may still take effect."""
    entries: int = 0


class _Taken(NamedTuple):
    """The plan for some ranges of the journal."""

    plan: CompactionPlan
    entries: int
    left: bool


class Planner:
    """Chooses journal rows. Only a process that has claimed the lanes may use the result."""

    def __init__(
        self, journal_table: CellTable, outlinks: CellTable, naming: Naming, clock: Clock
    ) -> None:
        self._node_id = naming.node_id
        self._journal = journal_table
        self._outlinks = outlinks
        self._clock = clock

    def of_lanes(self, lanes: Sequence[int], limit: int) -> Choice:
        """Take the oldest rows of these lanes, lane by lane, about `limit` entries."""
        rows: list[PlannedRow] = []
        void: list[bytes] = []
        used = set[int]()
        count, left = 0, False
        for lane in lanes:
            if count >= limit:
                left = True
                break
            taken = self._take([lane_range(lane)], limit - count)
            count, left = count + taken.entries, left or taken.left
            if taken.plan:
                used.add(lane)
                rows += taken.plan.rows
                void += taken.plan.void
        if any_beside(self._journal):
            return Choice(CompactionPlan(), frozenset(), left=True)
        plan = CompactionPlan(tuple(rows), tuple(void))
        return Choice(plan, frozenset(used), left and bool(plan))

    def of_all(self, limit: int) -> Choice:
        """Take the oldest rows inside and outside all lanes, about `limit` entries."""
        ranges = [*map(lane_range, range(LANES)), *map(beside_range, range(BUCKETS))]
        taken = self._take(ranges, limit)
        return Choice(taken.plan, frozenset(range(LANES)), taken.left and bool(taken.plan))

    def _take(self, ranges: Sequence[Range], limit: int) -> _Taken:
        """
        Take the oldest rows, and find entries that never took effect.

        If a row must wait, all later rows with one of its sources must wait too.
        """
        candidates, left = self._oldest_rows(ranges, limit)
        if candidates:
            read = {row.key for row in candidates}
            late = self._late_rows(ranges, candidates[-1].key, read)
            candidates = sorted([*candidates, *late], key=lambda row: order(row.key))
        rows: list[PlannedRow] = []
        void: list[bytes] = []
        postponed: set[str] = set()
        count = 0
        for key, sources, dead, entries in candidates:
            if dead is None or sources & postponed:
                postponed |= sources
            elif len(dead) == entries:
                void.append(key)
            else:
                rows.append(PlannedRow(key, tuple(dead)))
                count += entries
        return _Taken(CompactionPlan(tuple(rows), tuple(void)), count, left)

    def _oldest_rows(self, ranges: Sequence[Range], limit: int) -> tuple[list[_Candidate], bool]:
        """Return rows with about `limit` entries, oldest first, and True if there are more."""
        result: list[_Candidate] = []
        count = 0
        with ExitStack() as stack:
            for key, row in self._by_time(ranges, stack):
                if count >= limit:
                    return result, True
                entries = list(journal.unpack(row[journal.COLUMN].value))
                dead = self._dead(entries, written_at_ms(key))
                sources = {entry.source for entry in entries}
                result.append(_Candidate(key, sources, dead, len(entries)))
                count += 0 if dead is None else len(entries)
        return result, False

    def _by_time(self, ranges: Sequence[Range], stack: ExitStack) -> Iterator[tuple[bytes, Row]]:
        scans = [stack.enter_context(closing(self._journal.scan(*each))) for each in ranges]
        return merge(*scans, key=lambda pair: order(pair[0])) if len(scans) > 1 else scans[0]

    def _late_rows(
        self, ranges: Sequence[Range], last: bytes, read: Container[bytes]
    ) -> Iterator[_Candidate]:
        """
        Yield rows up to `last` that were written after the first scan had passed their keys.

        If the first scan read a later change to the same source, that change must wait with these
        rows. Costs one more scan of the rows.
        """
        for start, stop in ranges:
            with closing(self._journal.scan(start, min(stop, start + order(last) + b"\0"))) as rows:
                for key, row in rows:
                    if key not in read:
                        entries = journal.unpack(row[journal.COLUMN].value)
                        yield _Candidate(key, {entry.source for entry in entries}, None)

    def _dead(self, entries: Sequence[Entry], written_ms: int) -> list[bytes] | None:
        """
        Return the names of the entries that never took effect, or None if one of them still may.

        An entry that is not newer than its source's last change was overtaken: its writer read an
        earlier cell, so the writer's check-and-put fails.
        """
        node_id = self._node_id
        cells = self._outlinks.get_many([node_id(e.source) for e in entries], [CELL])
        dead, last_ms = [], []
        for entry in entries:
            row = cells.get(node_id(entry.source))
            changes = unpack(row[CELL].value).changes if row else ()
            if entry.change not in changes:
                dead.append(entry.change)
                last_ms.append(change_ms(changes[-1]) if changes else 0)
        if dead and min(last_ms) < written_ms and self._clock.now_ms() < written_ms + GRACE_MS:
            return None
        return dead
