"""
Upkeep of packs: dead space is given back, and bytes that must go are removed.

A pack is rewritten when more than half of it is dead, and when a takedown wants bytes of it gone:
its live records go into a new pack as they are, their pages point there, and after a grace for
readers under way the old pack is deleted. What a page shares with one that was taken down, or that
has another body by now, is written again under that page's URL alone.

Records are put together by hosts then, with a dictionary where a host has enough of them
(`pack_groups`). What stores put last is checked for that, too: packs of few hosts are rewritten
once, when there are some of them or an hour later.

Before a pack is deleted all nodes that may name its records are read again, so a pointer that was
moved or written in the meantime is found.

Safe to repeat and to run in several processes: a pack is claimed, every step looks at what is
there, and killed anywhere the next run does the rest. A takedown that comes between two steps wins:
it marks its pages first, and a page that is marked loses what was just moved.
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
"""How long a pack stays after its records moved, for readers that had read a pointer before."""
DEAD_SHARE = 0.5


@dataclass(slots=True)
class UpkeepReport:
    """What one run did."""

    rewritten: int = 0
    """Packs whose live records have moved to new packs."""
    deleted: int = 0
    """Packs that are gone."""
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
        """One round over at most about `most` packs of each kind of work."""
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
        """Rewrite fresh packs by hosts, where that pays."""
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
        Note the records of a pack that no page has; returns how many were not noted before.

        Also restores what the catalog has lost of it.
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
        # Nobody may know of them: a killed writer, or what was taken down in the meantime.
        packs.catalog.dead([one.pointer for one in lost if one.known])
        packs.catalog.erase([one.pointer for one in lost if not one.known])
        return len(lost)

    def records(self, name: str, data: bytes) -> Iterator[PackedRecord]:
        """
        A pack's records, without its first, with the nodes that name them.

        Raises:
            CorruptContent: it is damaged.
        """
        return PackRecords(self.zen, self._packs()).read(name, data)

    def alone(self, record: PackedRecord) -> PackRecord:
        """The body of a record under the URLs of its owners, and nothing else of it."""
        return PackRewriter(self.zen, self._packs()).alone(record)

    def _settle(self, name: str) -> None:
        """Look at a pack whose writer did not settle it."""
        packs = self._packs()
        self.inspect(name)
        packs.catalog.settled(name)

    def _finish(self, name: str, report: UpkeepReport) -> None:
        """Delete a pack whose records have moved, unless a page names one of them again."""
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
        # Also what is gone already: a bucket may still have versions of it.
        packs.files.delete(name)
        packs.catalog.forget(name)

    def _rewrite(self, packs: Packs, names: Sequence[str], report: UpkeepReport) -> None:
        """Move the live records of packs; those that had none go at once."""
        done = PackRewriter(self.zen, packs).rewrite(names)
        report.rewritten += len(done.names)
        report.problems += done.problems
        for name in done.empty:
            self._guarded(report, name, self._finish)

    def _to_erase(self, packs: Packs, most: int) -> list[str]:
        """Packs with bytes that must go soon; requests of some hours are done together."""
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
        """True while a batch may still write its pages, and when all has moved already."""
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
        """One step; a damaged pack stops no other."""
        try:
            step(name, report)
        except CorruptContent as error:
            report.problems.append(f"pack {name}: {error.reason}")

    def _packs(self) -> Packs:
        assert self.bodies.packs is not None  # noqa: S101 - callers checked
        return self.bodies.packs
