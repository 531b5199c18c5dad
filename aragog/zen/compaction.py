"""
Compaction of the link journal into the posting lists of inlinks.

One compaction runs at a time, under a lease. It first stores its plan: a number and the
journal rows that it takes. Then it writes a delta named by that number to each target, deletes the
journal rows, and deletes the plan. After a crash at any point, the next run, in this process or
another, finds the plan and writes the same deltas again; if a journal row of the plan is already
deleted, all deltas were written. So each change is compacted exactly once, and the net counts of
the deltas add up to the exact number of links.

| row of `l` | cells |
|---|---|
| host, digits (a group) | `l:p<number>` a delta per compaction; `l:h` the header with short lists |
| target (a long list) | `l:p<number>` a delta per compaction; `l:h` the list header |
| target, 1, number, source | `l:v` a chunk of a segment: sorted lines from that source on |

Targets are list ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from typing import NamedTuple

import orjson

from aragog.clock import Clock
from aragog.zen.codec import BUCKETS
from aragog.zen.inlinks import journal
from aragog.zen.inlinks.journal import Entry, lines_of
from aragog.zen.inlinks.posting_lists import PostingLists
from aragog.zen.inlinks.postings import CAME, STAYED, WENT, LinkChanges
from aragog.zen.inlinks.segments import Traces
from aragog.zen.leases import CellLeases, Lease
from aragog.zen.link_records import CompactionReport, ListLimits
from aragog.zen.node_ids import list_id, node_id
from aragog.zen.outlink_writer import CELL, oldest_row_ms
from aragog.zen.outlinks import change_ms, unpack
from aragog.zen.tables import Tables, newest_ms


@dataclass(frozen=True, slots=True)
class PlannedRow:
    """A journal row that a compaction takes."""

    key: bytes
    dead: tuple[bytes, ...] = ()
    """Names of its changes that never took effect."""


@dataclass(frozen=True, slots=True)
class CompactionPlan:
    """The work of a compaction; stored before it touches a posting list."""

    number: int = 0
    """Counts compactions; it names the deltas that this one writes."""
    rows: tuple[PlannedRow, ...] = ()
    """Oldest first; empty once the compaction is complete."""
    lists: tuple[bytes, ...] = ()
    """Ids of posting lists from which removed links are deleted; likewise."""
    left: bool = False
    """True when there are journal rows that the plan does not take."""

    def __bool__(self) -> bool:
        """True while there is work to do."""
        return bool(self.rows or self.lists)

    def done(self) -> CompactionPlan:
        """The plan that replaces this one after it was carried out."""
        return CompactionPlan(self.number)

    def pack(self) -> bytes:
        """The cell."""
        rows = [(row.key.hex(), [name.hex() for name in row.dead]) for row in self.rows]
        lists = [list_id.hex() for list_id in self.lists]
        return orjson.dumps(
            {"number": self.number, "rows": rows, "lists": lists, "left": self.left}
        )

    @staticmethod
    def unpack(value: bytes) -> CompactionPlan:
        """Read the output of `pack`."""
        plan = orjson.loads(value)
        rows = tuple(
            PlannedRow(bytes.fromhex(key), tuple(bytes.fromhex(name) for name in dead))
            for key, dead in plan["rows"]
        )
        lists = tuple(map(bytes.fromhex, plan["lists"]))
        return CompactionPlan(plan["number"], rows, lists, plan["left"])


GRACE_MS = 600_000
"""How long an entry may wait for its page's cell; after that its writer is assumed dead."""
LOCK_MS = 300_000
"""Longer than any compaction takes; then the lease of a killed one is taken over."""

_STATE = b"\xffcompaction"
_LOCK = b"l:lock"
_PLAN = b"l:plan"
_PUT_ROWS = 4096
_PURGED_AT_ONCE = 500
_LOCK_PAUSE_S = 0.05


class _Candidate(NamedTuple):
    """A journal row that may be compacted."""

    key: bytes
    sources: set[str]
    dead: list[bytes] | None
    """Names of its changes that never took effect; None: one of them still may."""


class Compactor:
    """Runs compactions; any number of processes may have one."""

    def __init__(self, tables: Tables, clock: Clock, limits: ListLimits | None = None) -> None:
        self._journal = tables["j"]
        self._outlinks = tables["o"]
        self._lists = PostingLists(tables, limits)
        self._traces = Traces(tables)
        self._clock = clock
        self._leases = CellLeases(self._journal, _LOCK, LOCK_MS, clock)

    def compact(self, limit: int) -> CompactionReport:
        """
        Compact journal rows of about `limit` pages, oldest first in each bucket.

        Memory is about 30 KB a page. Returns an empty report if another process is compacting.

        Raises:
            StoreUnavailable: run it again; nothing is lost or counted twice.
        """
        lease = self.acquire()
        if lease is None:
            return CompactionReport(left=True)
        try:
            report = CompactionReport()
            plan = self._plan()
            if not plan:
                plan = self._make_plan(plan, limit)
            if plan:
                report = self._execute(plan)
            return report
        finally:
            self._leases.release(_STATE, lease)

    def acquire(self) -> Lease | None:
        """Keep other processes from compacting until the lease expires; None: one has it."""
        return self._leases.acquire(_STATE)

    def lag_ms(self) -> int:
        """Age of the oldest journal row; 0 if there is none. One short scan a bucket."""
        oldest_ms = oldest_row_ms(self._journal)
        return 0 if oldest_ms is None else max(0, self._clock.now_ms() - oldest_ms)

    def repair_lists(self, step: Callable[[], None]) -> Iterator[str]:
        """Walk all posting lists and correct counts and rows; yields each problem found."""
        for key, problem in self._lists.problems(step):
            if lease := self.acquire():
                try:
                    plan = self._plan()
                    if plan:
                        # All of its deltas must be present before a list header may include them.
                        self._execute(plan)
                    self._lists.repair(key, plan.number, self._clock.now_ms())
                finally:
                    self._leases.release(_STATE, lease)
                yield problem

    def purge(self, pages: Sequence[str]) -> None:
        """
        Delete the links that these pages no longer have from the journal and all lists.

        Compacts the whole journal, and rewrites long lists that contain such a link. Another
        process that is compacting is waited for. Safe to repeat after a crash.
        """
        while (report := self.compact(_PURGED_AT_ONCE)).left:
            if not report.journal_rows:
                self._clock.sleep_s(_LOCK_PAUSE_S)
        while (lease := self.acquire()) is None:
            self._clock.sleep_s(_LOCK_PAUSE_S)
        try:
            if plan := self._plan():
                self._execute(plan)
            last = self._plan()
            lists = sorted(self._traces.targets([node_id(page) for page in pages]))
            plan = CompactionPlan(last.number + 1, lists=tuple(lists), left=True)
            renewed = self._leases.renew(_STATE, lease)
            if renewed is None:  # the plan before took longer than the lease
                self.purge(pages)
                return
            lease = renewed
            if lists and self._replace_plan(last, plan):
                self._execute(plan)
        finally:
            self._leases.release(_STATE, lease)

    def _plan(self) -> CompactionPlan:
        cell = self._journal.get(_STATE, [_PLAN]).get(_PLAN)
        return CompactionPlan.unpack(cell.value) if cell else CompactionPlan()

    def _make_plan(self, last: CompactionPlan, limit: int) -> CompactionPlan:
        """
        Choose the next journal rows, and find their entries that never took effect.

        Changes of one page are compacted in their order: a list forgets a removed link once it is
        merged, so an older addition must not arrive after that. A row that must wait delays all
        later rows that share a page with it.
        """
        candidates, left = self._oldest_rows(limit)
        rows = []
        postponed: set[str] = set()
        for key, sources, dead in candidates:
            if dead is None or sources & postponed:
                postponed |= sources
            else:
                rows.append(PlannedRow(key, tuple(dead)))
        if not rows:
            return last.done()
        plan = CompactionPlan(last.number + 1, tuple(rows), left=left)
        return plan if self._replace_plan(last, plan) else CompactionPlan()

    def _oldest_rows(self, limit: int) -> tuple[list[_Candidate], bool]:
        """
        Rows of about `limit` pages, oldest first over all buckets; True if there are more.

        Every returned row is older than every row that was left unread. Only if all rows are of
        the same millisecond are they returned in any order, to guarantee progress.
        """
        result: list[_Candidate] = []
        unread_ms = []
        pages = 0
        for bucket in range(BUCKETS):
            share = max(1, (limit - pages) // (BUCKETS - bucket))
            taken = 0
            with closing(self._journal.scan(bytes([bucket]), bytes([bucket + 1]))) as rows:
                for key, row in rows:
                    if taken >= share:
                        unread_ms.append(_written_at_ms(key))
                        break
                    entries = list(journal.unpack(row[journal.COLUMN].value))
                    dead = self._dead(entries, _written_at_ms(key))
                    result.append(_Candidate(key, {entry.source for entry in entries}, dead))
                    taken += 0 if dead is None else len(entries)
            pages += taken
        read = {row.key for row in result}
        result.sort(key=_order)
        if unread_ms:
            cut_ms = min(unread_ms)
            older = [row for row in result if _written_at_ms(row.key) < cut_ms]
            result = older or [row for row in result if _written_at_ms(row.key) == cut_ms]
        if result:
            result = sorted([*result, *self._late_rows(result[-1].key, read)], key=_order)
        return result, bool(unread_ms)

    def _late_rows(self, last: bytes, read: Container[bytes]) -> Iterator[_Candidate]:
        """
        Rows up to `last` that were written while the others were read, in buckets read before.

        A later change of the same page may have been written into a bucket that was read after
        that, so these rows must wait with all that follow them. Costs one more scan of the rows.
        """
        for bucket in range(BUCKETS):
            stop = bytes([bucket]) + last[1:] + b"\0"
            with closing(self._journal.scan(bytes([bucket]), stop)) as rows:
                for key, row in rows:
                    if key not in read:
                        entries = journal.unpack(row[journal.COLUMN].value)
                        yield _Candidate(key, {entry.source for entry in entries}, None)

    def _dead(self, entries: Sequence[Entry], written_at_ms: int) -> list[bytes] | None:
        """
        Names of the entries that never took effect; None while one still may.

        An entry that is not newer than its page's last change was overtaken: its writer had read an
        earlier cell, so its check fails.
        """
        pages = self._outlinks.get_many([node_id(e.source) for e in entries], [CELL])
        dead, last_ms = [], []
        for entry in entries:
            row = pages.get(node_id(entry.source))
            changes = unpack(row[CELL].value).changes if row else ()
            if entry.change not in changes:
                dead.append(entry.change)
                last_ms.append(change_ms(changes[-1]) if changes else 0)
        if (
            dead
            and min(last_ms) < written_at_ms
            and self._clock.now_ms() < written_at_ms + GRACE_MS
        ):
            return None
        return dead

    def _replace_plan(self, old: CompactionPlan, new: CompactionPlan) -> bool:
        cell = self._journal.get(_STATE, [_PLAN]).get(_PLAN)
        if cell and CompactionPlan.unpack(cell.value) != old:
            return False
        expected = cell.value if cell else None
        return self._journal.check_and_put(_STATE, _PLAN, expected, new.pack())

    def _execute(self, plan: CompactionPlan) -> CompactionReport:
        keys = [row.key for row in plan.rows]
        rows = self._journal.get_many(keys, [journal.COLUMN])
        report = CompactionReport(journal_rows=len(keys), left=plan.left)
        if len(rows) == len(keys):
            entries = []
            for row in plan.rows:
                parts = journal.unpack(rows[row.key][journal.COLUMN].value)
                entries += [entry for entry in parts if entry.change not in row.dead]
            lines, links = by_target(entries)
            changes = LinkChanges(plan.number, self._clock.now_ms(), lines, removals(entries))
            report = replace(
                report, links=links, targets=len(lines), merged=self._lists.add(changes)
            )
        if plan.lists:
            self._lists.forget_removed(plan.lists, plan.number, self._clock.now_ms())
        self._journal.delete_many([(key, None, newest_ms(row)) for key, row in rows.items()])
        self._replace_plan(plan, plan.done())
        return report


def _order(row: _Candidate) -> bytes:
    """The order of journal rows: by time, whatever their buckets."""
    return row.key[1:]


def _written_at_ms(key: bytes) -> int:
    """When a journal row was written, from its key."""
    return int.from_bytes(key[1:9])


def removals(entries: Sequence[Entry]) -> dict[bytes, list[bytes]]:
    """The pages that removed a link, by the list id of its target."""
    columns: dict[bytes, list[bytes]] = defaultdict(list)
    for entry in entries:
        for target in lines_of(entry.removed):
            columns[list_id(target)].append(entry.source.encode())
    return columns


def by_target(entries: Sequence[Entry]) -> tuple[dict[bytes, bytes], int]:
    """Posting lines, joined, by target URL, and their number. A hot loop: 0.4 µs a link."""
    result: dict[bytes, bytes] = {}
    more: dict[bytes, list[bytes]] = defaultdict(list)
    for entry in entries:
        start = b"%s\t%013d\t" % (entry.source.encode(), entry.at_ms)
        for middle, blob in (
            (CAME + b"\t", entry.added),
            (STAYED + b"\t", entry.changed),
            (WENT + b"\t\t", entry.removed),
        ):
            begin = start + middle
            for line in lines_of(blob):
                target, _, rest = line.partition(b"\t")
                if target in result:
                    more[target].append(begin + rest)
                else:
                    result[target] = begin + rest
    links = len(result) + sum(map(len, more.values()))
    for target, lines in more.items():
        result[target] = b"\n".join([result[target], *lines])
    return result, links
