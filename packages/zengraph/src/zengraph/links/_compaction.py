"""
Compact the link journal into posting lists.

Any number of processes can compact at the same time, each in some lanes of the journal. A process
first claims a slot and lanes (`_claims`) and stores its plan: the journal rows that it takes
(`_plan`). Then it writes a delta (a set of changes) to each target, named by the slot and the
compaction's number, deletes the journal rows, and releases its claim. After a crash at any point, a
later run in any process finds the plan and writes the same deltas again. A journal row is deleted
only after all of its deltas are written. So each change is compacted exactly once, and the net
counts of the deltas add up to the exact number of links.

| row of `l` | cells |
|---|---|
| group of names, digits | `l:p<name>` deltas; `l:h` the header with short lists |
| target (a long list) | `l:p<name>` deltas; `l:h` the list header |
| target, 1, number, source | `l:v` a chunk of a segment: sorted lines from that source on |

Targets are list ids.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace

from zengraph._naming import Naming
from zengraph.clock import Clock
from zengraph.errors import CorruptRow
from zengraph.links._claims import ALL_LANES, ROW, ClaimCell, LaneClaim
from zengraph.links._inlinks import journal
from zengraph.links._inlinks.delta_names import delta_name
from zengraph.links._inlinks.entry_depths import ByGroup
from zengraph.links._inlinks.journal import Entry, lines_of
from zengraph.links._inlinks.posting_lists import PostingLists
from zengraph.links._inlinks.postings import CAME, STAYED, WENT, LinkChanges
from zengraph.links._inlinks.segments import RemovedLinks
from zengraph.links._journal_keys import LANES, heads, lane_of
from zengraph.links._plan import GRACE_MS, Choice, CompactionPlan, Planner
from zengraph.links._values import CompactionReport, ListLimits
from zengraph.tables import Tables, newest_ms

COMPACTIONS = 4
"""Default of `max_compactions`."""

_PLAN = b"l:plan"
_MAX_PURGED_SOURCES = 500
_PAUSE_S = 0.25
"""
Seconds between checks for other processes' compactions. Each check scans all lanes, and a killed
process keeps its claim for five minutes, so shorter pauses gain little.
"""


class Compactor:
    """Runs compactions. Every process may have a compactor."""

    def __init__(
        self,
        tables: Tables,
        naming: Naming,
        clock: Clock,
        limits: ListLimits | None = None,
        max_compactions: int = COMPACTIONS,
    ) -> None:
        self._journal = tables["j"]
        self._naming = naming
        self._lists = PostingLists(tables, naming, limits)
        self._removed_links = RemovedLinks(tables, naming)
        self._clock = clock
        self._claims = ClaimCell(self._journal, clock, max_compactions)
        self._planner = Planner(self._journal, tables["o"], naming, clock)
        self._ahead: Sequence[int] = ()
        """Lanes with rows at the last scan, ordered by their oldest row."""
        self._share = LANES
        """How many lanes to claim: about twice as many as the last compaction used."""

    def compact(self, limit: int) -> CompactionReport:
        """
        Compact journal rows of about `limit` sources, oldest first in each lane.

        Uses about 30 KB of memory per source. Returns a report without rows if other processes are
        compacting all lanes with rows, or if `max_compactions` are running.

        Raises:
            StoreUnavailable: call it again; nothing is lost or counted twice.
        """
        if (report := self._complete_abandoned()) is not None:
            return report
        if self._claims.is_full():  # checked first, because looking for rows costs more
            return CompactionReport(left=True)
        if self._ahead:
            report = self._compact(self._ahead, limit)
            if report.journal_rows:  # other lanes may have rows as well
                return replace(report, left=True)
        return self._compact(self._lanes_with_rows(), limit)

    def lag_ms(self) -> int:
        """Return the age of the oldest journal row in ms, or 0. Takes one short scan per lane."""
        oldest = min((head.at_ms for head in heads(self._journal)), default=None)
        return 0 if oldest is None else max(0, self._clock.now_ms() - oldest)

    def repair_lists(self, step: Callable[[], None]) -> Iterator[str]:
        """Walk all posting lists and correct counts and rows. Yields each problem."""
        self._drop_stray_plans()
        for key, problem in self._lists.problems(step):
            self._lists.repair(key, self._clock.now_ms())
            yield problem

    def purge(self, sources: Sequence[str]) -> None:
        """
        Delete links that these sources no longer have from the journal and all lists.

        Compacts the sources' lanes, and rewrites long lists that contain such a link. Waits for
        compactions in other processes, so that none writes such a link again. Safe to repeat after
        a crash.
        """
        lanes = {lane_of(self._naming, source.encode()) for source in sources}
        while (report := self._compact_lanes(lanes)).left:
            if not report.journal_rows:
                self._clock.sleep_s(_PAUSE_S)
        claim = self._claim_all()
        try:
            ids = [self._naming.node_id(source) for source in sources]
            lists = self._removed_links.targets(ids)
            self._lists.forget_removed(sorted(lists), self._clock.now_ms())
            self._removed_links.drop(ids, lists)
        finally:
            self._claims.end(claim)

    def _compact_lanes(self, lanes: Collection[int]) -> CompactionReport:
        if (report := self._complete_abandoned()) is not None:
            return report
        present = self._lanes_with_rows()
        return self._compact(
            present and [lane for lane in present if lane in lanes],
            _MAX_PURGED_SOURCES,
            urgent=True,
        )

    def _lanes_with_rows(self) -> list[int] | None:
        """
        Return the lanes with rows, ordered by their oldest row; None if there are rows outside
        lanes.
        """
        found = sorted(heads(self._journal), key=lambda head: head.at_ms)
        lanes = [head.lane for head in found if head.lane is not None]
        return lanes if len(lanes) == len(found) else None

    def _compact(
        self, lanes: Sequence[int] | None, limit: int, *, urgent: bool = False
    ) -> CompactionReport:
        """
        Compact the first of these lanes that are free, as many as `limit` requires.

        If `lanes` is None, compact all lanes and the rows outside them. That is possible only while
        no other process compacts. `urgent` ignores `max_compactions`.
        """
        if lanes is None:
            claim = self._claims.begin_alone()
            return self._claimed(claim, None, limit) if claim else CompactionReport(left=True)
        while lanes:
            claim = self._claims.begin(lanes, self._share, urgent=urgent)
            if claim is None:
                self._ahead = ()
                return CompactionReport(left=True)
            mine = [lane for lane in lanes if lane in claim.lanes]
            lanes = [lane for lane in lanes if lane not in claim.lanes]
            report = self._claimed(claim, mine, limit)
            if report.journal_rows or report.left:
                self._ahead = lanes
                return replace(report, left=report.left or bool(lanes))
        self._ahead = ()
        return CompactionReport()

    def _claimed(
        self, claim: LaneClaim, lanes: Sequence[int] | None, limit: int
    ) -> CompactionReport:
        with self._abandoned_on_error(claim):
            if lanes is None:
                chosen = self._planner.of_all(limit)
            else:
                chosen = self._planner.of_lanes(lanes, limit)
                self._adapt(len(lanes), chosen)
            planned = self._store(claim, chosen) if chosen.plan else None
            if planned is None:
                self._claims.end(claim)
                return CompactionReport(left=chosen.left)
        with self._abandoned_on_error(planned):
            return replace(self._execute(planned, chosen.plan), left=chosen.left)

    @contextmanager
    def _abandoned_on_error(self, claim: LaneClaim) -> Iterator[None]:
        """After an exception, leave the claim to other processes."""
        try:
            yield
        except BaseException:
            self._claims.abandon(claim)
            raise

    def _adapt(self, claimed: int, chosen: Choice) -> None:
        """
        Choose how many lanes the next compaction claims, so that lanes stay free for other
        processes.
        """
        if not chosen.left:
            self._share = min(LANES, 2 * self._share)
        elif len(chosen.lanes) < claimed:
            self._share = max(1, 2 * len(chosen.lanes))

    def _store(self, claim: LaneClaim, chosen: Choice) -> LaneClaim | None:
        """
        Store a plan and mark the claim.

        Returns None if the claim was lost. The caller must then write nothing.
        """
        key, plan = _plan_key(claim), chosen.plan.pack()
        self._journal.put(key, {_PLAN: plan}, at_ms=self._clock.now_ms())
        planned = self._claims.plan(claim, chosen.lanes)
        if planned is None:
            self._drop_plan(key)
        return planned

    def _complete_abandoned(self) -> CompactionReport | None:
        """Execute a dead process's plan. Returns None without one, or if it was taken over."""
        found = self._claims.read().abandoned(self._clock.now_ms())
        claim = found and self._claims.take_over(found)
        if claim is None:
            return None
        with self._abandoned_on_error(claim):
            key = _plan_key(claim)
            cell = self._journal.get(key, [_PLAN]).get(_PLAN)
            if cell is None:
                raise CorruptRow("j", key.hex(), "the plan of a compaction is missing")
            return self._execute(claim, CompactionPlan.unpack(cell.value))

    def _execute(self, claim: LaneClaim, plan: CompactionPlan) -> CompactionReport:
        keys = [row.key for row in plan.rows]
        rows = self._journal.get_many([*keys, *plan.void], [journal.COLUMN])
        report = CompactionReport(journal_rows=len(keys) + len(plan.void), left=True)
        now_ms = self._clock.now_ms()
        if keys and all(key in rows for key in keys):
            entries = []
            for row in plan.rows:
                parts = journal.unpack(rows[row.key][journal.COLUMN].value)
                entries += [entry for entry in parts if entry.change not in row.dead]
            lines, links = by_target(entries)
            report = replace(report, links=links, targets=len(lines))
            groups = self._naming.by_group(lines)
            if (depths := self._depths(claim, plan, groups)) is not None:
                name = delta_name(claim.slot, claim.number)
                removed = removals(entries, self._naming)
                changes = LinkChanges(name, now_ms, groups, removed, depths)
                report = replace(report, merged=self._lists.add(changes))
        # A writer may have removed an entry, which gives the row a later timestamp.
        self._journal.delete_many(
            [(key, None, max(newest_ms(row), now_ms) + GRACE_MS) for key, row in rows.items()]
        )
        if self._claims.end(claim):
            self._drop_plan(_plan_key(claim))
        return report

    def _depths(
        self, claim: LaneClaim, plan: CompactionPlan, groups: ByGroup
    ) -> Mapping[bytes, int] | None:
        """
        Return the depths at which the plan's lists are written.

        The first process that executes the plan chooses them and stores them in the plan. Returns
        None if another process has completed the plan.
        """
        if plan.depths is not None or not (deepest := self._lists.deepest(groups)):
            return plan.depths or {}
        key, chosen = _plan_key(claim), replace(plan, depths=self._lists.depths(deepest))
        if self._journal.check_and_put(key, _PLAN, plan.pack(), chosen.pack()):
            return chosen.depths
        cell = self._journal.get(key, [_PLAN]).get(_PLAN)
        return None if cell is None else CompactionPlan.unpack(cell.value).depths

    def _claim_all(self) -> LaneClaim:
        """Claim all lanes, after waiting for other processes' compactions."""
        while True:
            claim = self._claims.begin_waiting()
            while claim is not None and claim.lanes != ALL_LANES:
                if self._complete_abandoned() is None:
                    self._clock.sleep_s(_PAUSE_S)
                claim = self._claims.wait(claim)
            if claim is not None:
                return claim
            self._clock.sleep_s(_PAUSE_S)

    def _drop_plan(self, key: bytes) -> None:
        """Delete a plan's row. No other plan ever has the same key."""
        self._journal.delete(key, at_ms=self._clock.now_ms() + GRACE_MS)

    def _drop_stray_plans(self) -> None:
        """Delete plans of processes that died before they marked their claims."""
        with closing(self._journal.scan(ROW + b"\0", None)) as rows:
            keys = [key for key, _ in rows]
        held = {_plan_key(claim) for claim in self._claims.read().held}
        for key in keys:
            if key not in held:
                self._drop_plan(key)


def _plan_key(claim: LaneClaim) -> bytes:
    return ROW + bytes([0, claim.slot]) + claim.number.to_bytes(8)


def removals(entries: Sequence[Entry], naming: Naming) -> dict[bytes, list[bytes]]:
    """Return the sources that removed a link, by the target's list id."""
    columns: dict[bytes, list[bytes]] = defaultdict(list)
    for entry in entries:
        for target in lines_of(entry.removed):
            columns[naming.list_id(target)].append(entry.source.encode())
    return columns


def by_target(entries: Sequence[Entry]) -> tuple[dict[bytes, bytes], int]:
    """Return joined posting lines by target, and their number. A hot loop: 0.4 µs per link."""
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
