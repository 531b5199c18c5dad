"""
Upkeep of packs: dead space is given back, and bytes that must go are removed.

A pack is rewritten when more than half of it is dead, and when a takedown wants bytes of it gone:
its live records go into a new pack as they are, their pages point there, and after a grace for
readers under way the old pack is deleted. What a page shares with one that was taken down is
written again under that page's URL alone.

A record is live if a page's node names it. The nodes that may are those of the URLs in the record,
what these are aliases of, and those that the catalog lists. Before a pack is deleted they are all
read again, so a pointer that was moved or written in the meantime is found.

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
from aragog.urlstore import nodes
from aragog.urlstore.bodies import (
    BODY,
    Bodies,
    Packs,
    live_records,
    pointer_of,
    record_cell,
    records_of,
)
from aragog.urlstore.nodes import alias_of
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.catalog import DEAD, ERASE, MOVED, OPEN, asked_of, at_of, dead_of
from aragog.urlstore.packs.pack_writer import LATE_S, PackRecord, PackTicket
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.page_records import WarcBlock, WarcPage, read_record
from zengraph import MultiGraph
from zengraph.records import Cell, Row, put_properties

GRACE_S = 900.0
"""So long after its records moved a pack stays for readers that had read a pointer before."""
DEAD_SHARE = 0.5
_OF_THE_BODY = ("content_type", "fetched_at_ms")
"""What a record keeps of its meta when it becomes that of another page."""


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


@dataclass(frozen=True, slots=True)
class PackedRecord:
    """A record of a pack, and the pages that have it."""

    pointer: PackPointer
    frame: bytes
    block: WarcBlock
    owners: tuple[tuple[bytes, Row], ...]
    """The nodes that name it as live, by their ids."""
    known: tuple[tuple[bytes, Row], ...]
    """All nodes that name it in any way."""


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
        return report

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
        records = self._records(packs, name, data)
        lost = [one for one in records if not one.owners and one.pointer.offset not in known]
        # Nobody may know of them: a killed writer, or what was taken down meanwhile.
        packs.catalog.dead([one.pointer for one in lost if one.known])
        packs.catalog.erase([one.pointer for one in lost if not one.known])
        return len(lost)

    def records(self, name: str, data: bytes) -> Iterator[PackedRecord]:
        """
        The records of a pack, without its first, with the nodes that name them.

        Raises:
            CorruptContent: it is damaged.
        """
        return self._records(self._packs(), name, data)

    def alone(self, record: PackedRecord) -> PackRecord:
        """The body of a record under the URLs of its owners, and nothing else of it."""
        return self._alone(self._packs(), record)

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
            records = list(self._records(packs, name, data))
            if any(one.owners for one in records):
                self._rewrite(packs, [name], report)
                return
            self._forget_records(records)
            report.deleted += 1
            report.freed_bytes += len(data)
        # Also what is gone already: a bucket may still have versions of it.
        packs.files.delete(name)
        packs.catalog.forget(name)

    def _rewrite(self, packs: Packs, names: Sequence[str], report: UpkeepReport) -> None:
        """Move the live records of packs into new ones, together."""
        begun: list[tuple[str, list[PackedRecord], PackTicket | None]] = []
        claimed = [name for name in names if packs.catalog.claim(name)]
        for name in claimed:
            self._guarded(report, name, lambda n, _: begun.append(self._begin(packs, n)))
        packs.writer.close()
        for name, live, ticket in begun:
            if ticket is not None:
                for one, pointer in zip(live, ticket.wait(), strict=True):
                    for owner, row in one.owners:
                        self._move(packs, owner, row, one.pointer, pointer)
                ticket.settle()
            packs.catalog.moved(name)
            report.rewritten += 1
            if ticket is None:  # no reader has a pointer to it
                self._guarded(report, name, self._finish)
        for name in claimed:
            packs.catalog.release(name)

    def _begin(self, packs: Packs, name: str) -> tuple[str, list[PackedRecord], PackTicket | None]:
        """Add the live records of a pack to the open one."""
        data = packs.files.read_all(name)
        if data is None:
            return name, [], None
        erased = packs.catalog.erased(name)
        live = [one for one in self._records(packs, name, data) if one.owners]
        copies = [
            self._alone(packs, one)
            if one.pointer.offset in erased
            else PackRecord.copied(one.frame)
            for one in live
        ]
        return name, live, packs.writer.add(copies) if copies else None

    def _alone(self, packs: Packs, record: PackedRecord) -> PackRecord:
        """The body of a record under the URL of a page that still has it, and nothing else."""
        _, row = record.owners[0]
        url = nodes.text(row, nodes.URL) or ""
        others = (nodes.text(row, nodes.URL) for _, row in record.owners[1:])
        kept = {
            k: v for k, v in record.block.meta.items() if k in ("content_type", "fetched_at_ms")
        }
        page = WarcPage(
            url,
            row[nodes.CONTENT_PACK].at_ms,
            record.block.body,
            kept,
            pages=tuple(filter(None, others)),
        )
        return packs.record_of(page, page.digest)

    def _move(
        self, packs: Packs, owner: bytes, row: Row, old: PackPointer, new: PackPointer
    ) -> None:
        """Let a node point to the new record, unless its page was deleted in the meantime."""
        old_column, _ = record_cell(old, BODY)
        cell = row.get(old_column)
        at_ms = cell.at_ms if cell else row[nodes.CONTENT_PACK].at_ms
        kind = cell.value.split(b" ")[2] if cell else BODY
        column, value = record_cell(new, kind)
        puts = [put_properties(owner, {column: value}, at_ms)]
        pointed = row.get(nodes.CONTENT_PACK)
        if pointed and pointer_of(row) == old:
            puts.append(put_properties(owner, {nodes.CONTENT_PACK: new.cell()}, pointed.at_ms))
        if url := nodes.text(row, nodes.URL):
            packs.catalog.share(new, url)
        self.zen.mutate(puts)
        fresh = self.zen.nodes.get(owner)
        if _was_deleted(fresh, at_ms) or (cell and old_column not in fresh):
            gone = [(owner, [column], at_ms)]
            if fresh.get(nodes.CONTENT_PACK) == Cell(new.cell(), pointed.at_ms if pointed else 0):
                gone.append((owner, [nodes.CONTENT_PACK], fresh[nodes.CONTENT_PACK].at_ms))
            self.zen.nodes.delete_many(gone)
            packs.catalog.erase([new])

    def _forget_records(self, records: Sequence[PackedRecord]) -> None:
        """Delete the cells by which nodes know records that are gone."""
        gone = [
            (owner, [column], row[column].at_ms)
            for one in records
            for owner, row in one.known
            if (column := record_cell(one.pointer, BODY)[0]) in row
        ]
        if gone:
            self.zen.nodes.delete_many(gone)

    def _records(self, packs: Packs, name: str, data: bytes) -> Iterator[PackedRecord]:
        """The records of a pack, without its first, with the nodes that name them."""
        blocks = [
            (frame, read_record(frames.decompress(frame.data))) for frame in frames.split(data)
        ]
        blocks = [(frame, block) for frame, block in blocks if block.kind != "warcinfo"]
        sharing = {
            offset: set(map(self.zen.node_id, urls))
            for offset, urls in packs.catalog.sharing(name).items()
        }
        rows = self._candidates({url for _, block in blocks for url in block.urls})
        ids = {one for shared in sharing.values() for one in shared} - rows.keys()
        rows |= self.zen.nodes.get_many(sorted(ids)) if ids else {}
        for frame, block in blocks:
            pointer = PackPointer.of(name, frame.offset, frame.data)
            near = {self.zen.node_id(url) for url in block.urls} | sharing.get(frame.offset, set())
            for url in block.urls:
                canonical = alias_of(rows.get(self.zen.node_id(url), {}), url)
                near |= {self.zen.node_id(canonical)} if canonical else set()
            known = [(one, rows[one]) for one in sorted(near) if one in rows]
            yield PackedRecord(
                pointer,
                frame.data,
                block,
                tuple(
                    (one, row)
                    for one, row in known
                    if pointer in live_records(row, packs.settings.keep_versions)
                ),
                tuple((one, row) for one, row in known if _names(row, pointer)),
            )

    def _candidates(self, urls: set[str]) -> dict[bytes, Row]:
        """Whole nodes of URLs and of what they are aliases of."""
        rows = dict(self.zen.nodes.get_many([self.zen.node_id(url) for url in sorted(urls)]))
        named = {
            canonical
            for url in urls
            if (canonical := alias_of(rows.get(self.zen.node_id(url), {}), url)) is not None
        }
        more = sorted({self.zen.node_id(url) for url in named} - rows.keys())
        return rows | (self.zen.nodes.get_many(more) if more else {})

    def _to_erase(self, packs: Packs, most: int) -> list[str]:
        """Packs with bytes that must go soon; requests of some hours are done together."""
        before_ms = self.clock.now_ms() - int(packs.settings.takedown_hours * 1_800_000)
        asked = packs.catalog.walk(ERASE)
        due = (name for name, row in asked if asked_of(row) <= before_ms)
        return list(islice((one for one in due if not self._is_left_alone(packs, one)), most))

    def _half_dead(self, packs: Packs, most: int) -> list[str]:
        found = []
        for name, row in packs.catalog.walk(DEAD, most):
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


def _names(row: Row, pointer: PackPointer) -> bool:
    return pointer_of(row) == pointer or any(one == pointer for one, _, _ in records_of(row))


def _was_deleted(row: Row, at_ms: int) -> bool:
    """True if the page of that time was removed, withdrawn or taken down."""
    if nodes.is_taken_down(row) or nodes.SENTINEL not in row:
        return True
    marks = (row.get(nodes.REMOVED), row.get(nodes.WITHDRAWN))
    return any(mark is not None and mark.at_ms >= at_ms for mark in marks)
