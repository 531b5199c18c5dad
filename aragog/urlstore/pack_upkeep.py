"""
The maintenance job for packs. It reclaims dead space, and erases bytes that must not be kept.

A pack is rewritten if more than half of its bytes are dead (no page uses them), or if a takedown
requires some of its bytes to be erased. Its live records are moved to a new pack (`pack_rewrite`).
The old pack is deleted after a grace period for readers that already have a pointer.

Rewriting groups records by host, with a dictionary if a host has enough records (`pack_groups`).
New packs are rewritten once to group their records, if half of their bytes are from large hosts and
dictionaries save enough space on a sample (`pack_trial`). They wait until there are several such
packs, or for an hour. Packs with a shared dictionary (`dictionary_upkeep`) are not grouped.

This is safe to repeat, and to run in several processes at once. Each process claims its packs, and
every step checks the current state. A killed run is completed by the next one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from aragog.errors import CorruptContent
from aragog.runtime.clock import Clock
from aragog.urlstore.bodies import Bodies, Packs
from aragog.urlstore.dictionary_upkeep import TRAINED_ON_BYTES, DictionaryUpkeep
from aragog.urlstore.pack_groups import FreshPack, fresh_groups, is_worthwhile
from aragog.urlstore.pack_records import PackedRecord, PackRecords
from aragog.urlstore.pack_rewrite import PackRewriter, Rewritten
from aragog.urlstore.packs.catalog import (
    DEAD,
    ERASE,
    FRESH,
    MOVED,
    OPEN,
    asked_of,
    at_of,
    dead_of,
    dictionary_in,
    hosts_of,
)
from aragog.urlstore.packs.pack_record import PackRecord
from aragog.urlstore.packs.pack_writer import LATE_S
from zengraph import MultiGraph

GRACE_S = 900.0
"""Seconds to keep a pack after its records moved, for readers that already have a pointer."""
DEAD_SHARE = 0.5


@dataclass(slots=True)
class UpkeepReport:
    """The result of one run."""

    rewritten: int = 0
    """Packs whose live records were moved."""
    deleted: int = 0
    freed_bytes: int = 0
    problems: list[str] = field(default_factory=list)
    """One line for each pack that could not be read."""


@dataclass(slots=True, eq=False)
class PackUpkeep:
    """
    Rewrites and deletes a store's packs.

    `trained_on_bytes` is the size of the packs that a shared dictionary is trained on.
    """

    zen: MultiGraph
    bodies: Bodies
    clock: Clock
    trained_on_bytes: int = TRAINED_ON_BYTES

    def run(self, most: int = 100) -> UpkeepReport:
        """Run one round, with at most about `most` packs for each kind of work."""
        report, packs = UpkeepReport(), self.bodies.packs
        if packs is None:
            return report
        for name in self._packs_older_than(packs, MOVED, self._grace_ms(packs), most):
            self._run_step(report, name, self._finish)
        for name in self._packs_older_than(packs, OPEN, 2 * int(LATE_S * 1000), most):
            self._run_step(report, name, lambda one, _: self._settle(one))
        shared = self._dictionaries(packs)
        shared.erase()
        kept = shared.kept_packs()
        half_dead = [name for name in self._half_dead(packs, most) if name not in kept]
        todo = [*self._to_erase(packs, most), *half_dead]
        self._rewrite(packs, list(dict.fromkeys(todo))[:most], report)
        if packs.settings.dictionaries and packs.settings.pack_compression == "zstd":
            self._group_fresh(packs, kept, most, report)
        return report

    def _group_fresh(
        self, packs: Packs, kept: Collection[str], most: int, report: UpkeepReport
    ) -> None:
        """Train a dictionary on fresh packs or, if worthwhile, rewrite them by host."""
        fresh = sorted(
            FreshPack(
                name, packs.catalog.size(name) or 0, at_of(row), hosts_of(row), dictionary_in(row)
            )
            for name, row in islice(packs.catalog.walk(FRESH), most)
            if not self._is_left_alone(packs, name)
        )
        shared = self._dictionaries(packs)
        plain = [one for one in fresh if not one.dictionary and one.name not in kept]
        if shared.train(plain):
            kept = shared.kept_packs()
            plain = [one for one in plain if one.name not in kept]
        for group in fresh_groups(plain, self.clock.now_ms()):
            names, busy = [one.name for one in group], list[str]()
            if is_worthwhile(group):
                busy = self._rewrite(packs, names, report, only_if_smaller=True).busy
            self._record_checked(packs, [name for name in names if name not in busy])
        for group in fresh_groups([one for one in fresh if one.dictionary], self.clock.now_ms()):
            shared.check(group)
            self._record_checked(packs, [one.name for one in group])
        # Other packs that a dictionary was trained on are rewritten if nothing is stored with it
        # within an hour.
        taught = [one.name for one in fresh if one.name in kept and shared.is_used(one.name)]
        self._record_checked(packs, taught)

    def _record_checked(self, packs: Packs, names: Iterable[str]) -> None:
        for name in names:
            packs.catalog.record_checked_hosts(name)

    def _dictionaries(self, packs: Packs) -> DictionaryUpkeep:
        return DictionaryUpkeep(self.zen, packs, self.clock, self.trained_on_bytes)

    def inspect(self, name: str) -> int:
        """
        Mark the pack's unused records as dead or for erasure.

        Returns how many the catalog did not have. Also restores the pack's catalog entry if it was
        lost.
        """
        packs = self._packs()
        data = packs.files.read_all(name)
        if data is None:
            packs.files.delete(name)  # a killed writer may have stored only the index
            packs.catalog.forget(name)
            return 0
        was_lost = packs.catalog.size(name) is None
        if was_lost:
            packs.catalog.record_open(name, len(data))
            packs.catalog.record_settled(name)
        self._dictionaries(packs).restore(name, data, was_lost=was_lost)
        known = {*dead_of(packs.catalog.row(DEAD, name)), *packs.catalog.erased(name)}
        records = self.records(name, data)
        lost = [one for one in records if not one.owners and one.pointer.offset not in known]
        # If no node refers to a record (`one.known` is empty), its writer was killed or its page
        # was taken down, so the record must be erased.
        packs.catalog.record_dead([one.pointer for one in lost if one.known])
        packs.catalog.erase([one.pointer for one in lost if not one.known])
        return len(lost)

    def records(self, name: str, data: bytes) -> Iterator[PackedRecord]:
        """
        Return a pack's records, except the first (`warcinfo`), with the nodes that refer to them.

        Raises:
            CorruptContent: the pack is damaged.
        """
        return PackRecords(self.zen, self._packs()).read(name, data)

    def body_only(self, record: PackedRecord) -> PackRecord:
        """Return a new record with an old record's body, under the URLs of the record's owners."""
        return PackRewriter(self.zen, self._packs()).body_only(record)

    def _settle(self, name: str) -> None:
        """Inspect a pack whose writer was killed before it settled the pack."""
        packs = self._packs()
        self.inspect(name)
        packs.catalog.record_settled(name)

    def _finish(self, name: str, report: UpkeepReport) -> None:
        """Delete a pack whose records have moved, unless a page refers to it again."""
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
        # Delete even a missing pack: a bucket may still have old versions of it.
        packs.files.delete(name)
        packs.catalog.forget(name)

    def _rewrite(
        self,
        packs: Packs,
        names: Sequence[str],
        report: UpkeepReport,
        *,
        only_if_smaller: bool = False,
    ) -> Rewritten:
        """Rewrite packs. Packs without live records are deleted at once."""
        done = PackRewriter(self.zen, packs).rewrite(names, only_if_smaller=only_if_smaller)
        report.rewritten += len(done.names)
        report.problems += done.problems
        for name in done.empty:
            self._run_step(report, name, self._finish)
        return done

    def _to_erase(self, packs: Packs, most: int) -> list[str]:
        """
        Return packs with bytes to erase.

        Waits some hours to combine several requests for a pack.
        """
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
        """Return True if the pack's pages may still be written, or all records have moved."""
        return bool(packs.catalog.row(OPEN, name) or packs.catalog.row(MOVED, name))

    def _packs_older_than(self, packs: Packs, kind: bytes, age_ms: int, most: int) -> list[str]:
        before_ms = self.clock.now_ms() - age_ms
        rows = ((name, row) for name, row in packs.catalog.walk(kind) if at_of(row) <= before_ms)
        return [name for name, _ in islice(rows, most)]

    def _grace_ms(self, packs: Packs) -> int:
        return int(min(GRACE_S, packs.settings.takedown_hours * 900) * 1000)

    def _run_step(
        self, report: UpkeepReport, name: str, step: Callable[[str, UpkeepReport], object]
    ) -> None:
        """Run a step for one pack. Reports a damaged pack, so that it does not stop the others."""
        try:
            step(name, report)
        except CorruptContent as error:
            report.problems.append(f"pack {name}: {error.reason}")

    def _packs(self) -> Packs:
        assert self.bodies.packs is not None  # noqa: S101 - callers checked
        return self.bodies.packs
