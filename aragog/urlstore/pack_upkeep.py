"""
Upkeep of packs: reclaims dead space and erases bytes that must go.

A pack is rewritten if more than half of it is dead, or if a takedown requires some of its bytes to
be erased. Its live records are copied to a new pack, their pages point there, and after a grace
period for running readers the old pack is deleted. If a page shares a record with a page that was
taken down or has another body now, the record is written again under that page's URL only.

Rewriting groups records by host, with a dictionary if a host has enough of them (`pack_groups`).
Newly written packs are checked for that too: packs with few hosts are rewritten once, when there
are several of them or an hour later.

Before a pack is deleted, all nodes that may refer to its records are read again, so pointers that
were moved or written in the meantime are found.

Safe to repeat and to run in several processes: a pack is claimed, every step checks the current
state, and if a run is killed, the next one completes it. A takedown between two steps wins: it
marks its pages first, and a marked page loses the data that was just moved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from aragog.errors import CorruptContent
from aragog.runtime.clock import Clock
from aragog.urlstore.bodies import Bodies, Packs
from aragog.urlstore.pack_groups import FreshPack, fresh_groups
from aragog.urlstore.pack_records import PackedRecord, PackRecords
from aragog.urlstore.pack_rewrite import PackRewriter
from aragog.urlstore.packs.catalog import (
    DEAD,
    ERASE,
    FRESH,
    MOVED,
    OPEN,
    asked_of,
    at_of,
    dead_of,
    hosts_of,
)
from aragog.urlstore.packs.pack_writer import LATE_S, PackRecord
from zengraph import MultiGraph

GRACE_S = 900.0
"""How long a pack is kept after its records moved, for readers that already have a pointer."""
DEAD_SHARE = 0.5


@dataclass(slots=True)
class UpkeepReport:
    """The result of one run."""

    rewritten: int = 0
    """Packs whose live records have moved to new packs."""
    deleted: int = 0
    """Packs that were deleted."""
    freed_bytes: int = 0
    problems: list[str] = field(default_factory=list)
    """A line for each pack that could not be read."""


@dataclass(slots=True, eq=False)
class PackUpkeep:
    """Rewrites and deletes packs of one store."""

    zen: MultiGraph
    bodies: Bodies
    clock: Clock

    def run(self, most: int = 100) -> UpkeepReport:
        """Run one round, with at most about `most` packs for each kind of work."""
        report, packs = UpkeepReport(), self.bodies.packs
        if packs is None:
            return report
        for name in self._old(packs, MOVED, self._grace_ms(packs), most):
            self._guarded(report, name, self._finish)
        for name in self._old(packs, OPEN, 2 * int(LATE_S * 1000), most):
            self._guarded(report, name, lambda one, _: self._settle(one))
        todo = [*self._to_erase(packs, most), *self._half_dead(packs, most)]
        self._rewrite(packs, list(dict.fromkeys(todo))[:most], report)
        if packs.settings.dictionaries and packs.settings.pack_compression == "zstd":
            self._group_fresh(packs, most, report)
        return report

    def _group_fresh(self, packs: Packs, most: int, report: UpkeepReport) -> None:
        """Rewrite fresh packs by host if that is worthwhile."""
        fresh = [
            FreshPack(name, packs.catalog.size(name) or 0, at_of(row), hosts_of(row))
            for name, row in islice(packs.catalog.walk(FRESH), most)
            if not self._is_left_alone(packs, name)
        ]
        for group in fresh_groups(sorted(fresh), self.clock.now_ms()):
            if group.pays:
                self._rewrite(packs, group.names, report)
            for name in group.names:
                packs.catalog.looked_at(name)

    def inspect(self, name: str) -> int:
        """
        Record which records of a pack no page uses; returns the number of newly found ones.

        Also restores catalog entries of the pack that were lost.
        """
        packs = self._packs()
        data = packs.files.read_all(name)
        if data is None:
            packs.catalog.forget(name)
            return 0
        if packs.catalog.size(name) is None:
            packs.catalog.opened(name, len(data))
            packs.catalog.settled(name)
        known = {*dead_of(packs.catalog.row(DEAD, name)), *packs.catalog.erased(name)}
        records = self.records(name, data)
        lost = [one for one in records if not one.owners and one.pointer.offset not in known]
        # They may be unknown: from a killed writer, or taken down in the meantime.
        packs.catalog.dead([one.pointer for one in lost if one.known])
        packs.catalog.erase([one.pointer for one in lost if not one.known])
        return len(lost)

    def records(self, name: str, data: bytes) -> Iterator[PackedRecord]:
        """
        A pack's records, except the first, with the nodes that refer to them.

        Raises:
            CorruptContent: it is damaged.
        """
        return PackRecords(self.zen, self._packs()).read(name, data)

    def alone(self, record: PackedRecord) -> PackRecord:
        """The body of a record under its owners' URLs, without the rest of the record."""
        return PackRewriter(self.zen, self._packs()).alone(record)

    def _settle(self, name: str) -> None:
        """Check a pack that its writer did not settle."""
        packs = self._packs()
        self.inspect(name)
        packs.catalog.settled(name)

    def _finish(self, name: str, report: UpkeepReport) -> None:
        """Delete a pack whose records have moved, unless a page refers to one of them again."""
        packs = self._packs()
        data = packs.files.read_all(name)
        if data is not None:
            records = list(self.records(name, data))
            if any(one.owners for one in records):
                self._rewrite(packs, [name], report)
                return
            PackRecords(self.zen, packs).forget(records)
            report.deleted += 1
            report.freed_bytes += len(data)
        # Even if it is already gone, since a bucket may still have versions of it.
        packs.files.delete(name)
        packs.catalog.forget(name)

    def _rewrite(self, packs: Packs, names: Sequence[str], report: UpkeepReport) -> None:
        """Move the live records of packs; packs without any are deleted at once."""
        done = PackRewriter(self.zen, packs).rewrite(names)
        report.rewritten += len(done.names)
        report.problems += done.problems
        for name in done.empty:
            self._guarded(report, name, self._finish)

    def _to_erase(self, packs: Packs, most: int) -> list[str]:
        """Packs with bytes that must be erased soon; requests of several hours are combined."""
        before_ms = self.clock.now_ms() - int(packs.settings.takedown_hours * 1_800_000)
        asked = packs.catalog.walk(ERASE)
        due = (name for name, row in asked if asked_of(row) <= before_ms)
        return list(islice((one for one in due if not self._is_left_alone(packs, one)), most))

    def _half_dead(self, packs: Packs, most: int) -> list[str]:
        found = []
        for name, row in packs.catalog.next_dead(most):
            size = packs.catalog.size(name)
            if size is None or sum(dead_of(row).values()) > size * DEAD_SHARE:
                found.append(name)
        return [name for name in found if not self._is_left_alone(packs, name)]

    def _is_left_alone(self, packs: Packs, name: str) -> bool:
        """True while a batch may still write its pages, and after all records have moved."""
        return bool(packs.catalog.row(OPEN, name) or packs.catalog.row(MOVED, name))

    def _old(self, packs: Packs, kind: bytes, age_ms: int, most: int) -> list[str]:
        before_ms = self.clock.now_ms() - age_ms
        rows = ((name, row) for name, row in packs.catalog.walk(kind) if at_of(row) <= before_ms)
        return [name for name, _ in islice(rows, most)]

    def _grace_ms(self, packs: Packs) -> int:
        return int(min(GRACE_S, packs.settings.takedown_hours * 900) * 1000)

    def _guarded(
        self, report: UpkeepReport, name: str, step: Callable[[str, UpkeepReport], object]
    ) -> None:
        """Run one step; a damaged pack must not stop the others."""
        try:
            step(name, report)
        except CorruptContent as error:
            report.problems.append(f"pack {name}: {error.reason}")

    def _packs(self) -> Packs:
        assert self.bodies.packs is not None  # noqa: S101 - callers checked
        return self.bodies.packs
