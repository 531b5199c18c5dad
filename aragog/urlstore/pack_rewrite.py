"""
Moves the live records of packs, that is, those that pages use, into new packs.

A record is copied unchanged, or compressed again if the new pack's dictionary saves space
(`pack_groups`, `pack_trial`). If a page shares another page's record, and that page was taken down
or has a different body now, the body is rewritten in a record with only the sharing page's URL.

This is safe to repeat, and to run in several processes at once. Each process claims its packs; if
it is killed, the next run completes its work. A takedown marks its pages first, so data that was
just moved to a marked page is deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from aragog.errors import CorruptContent
from aragog.urlstore import nodes
from aragog.urlstore.bodies import BODY, REVISIT, Packs, pointer_of, record_cell, records_of
from aragog.urlstore.compression import content_hash
from aragog.urlstore.node_ids import host_of
from aragog.urlstore.pack_groups import GROUP_BYTES, parts
from aragog.urlstore.pack_records import PackedRecord, PackRecords
from aragog.urlstore.pack_trial import TRIED_RECORDS, Trial, saves_enough
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.dictionaries import Dictionary, sampled
from aragog.urlstore.packs.pack_record import PackRecord
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.warc_records import WarcPage, page_head
from zengraph import MultiGraph
from zengraph.records import Cell, Mutation, Row, put_properties

MOVES_AT_ONCE = 500
_OF_THE_BODY = ("content_type", "fetched_at_ms")
"""The metadata to keep when a record is rewritten under another page's URL."""


@dataclass(slots=True)
class Rewritten:
    """The result of a rewrite."""

    names: list[str] = field(default_factory=list)
    empty: list[str] = field(default_factory=list)
    """The moved packs that had no live records. No reader has a pointer into them."""
    busy: list[str] = field(default_factory=list)
    """Packs claimed by another process, which may be running or may have been killed."""
    problems: list[str] = field(default_factory=list)
    """One line for each pack that could not be read."""


@dataclass(frozen=True, slots=True)
class _Rewrite:
    """A pack that is being rewritten."""

    name: str
    live: Sequence[PackedRecord] = ()
    body_only: frozenset[PackPointer] = frozenset()
    """Records to rewrite under their pages' URLs."""
    erased: frozenset[int] = frozenset()
    """Offsets of the records to erase."""


class _Copy(NamedTuple):
    """A live record that is being moved into another pack."""

    record: PackedRecord
    is_body_only: bool
    """True if only the body is rewritten, under the URLs of its owners (the pages using it)."""
    is_erased: bool


class _Move(NamedTuple):
    """A pointer to change in a node."""

    owner: bytes
    row: Row
    record: PackedRecord
    new: PackPointer
    is_own: bool
    """True if the new record is written under its owners' URLs, whichever URL returned the body."""

    @property
    def url(self) -> str:
        return nodes.text(self.row, nodes.URL) or ""

    @property
    def is_listed(self) -> bool:
        """True if the new record contains the URL, so that the page can be found."""
        return not self.url or self.is_own or self.url in self.record.urls

    @property
    def old(self) -> PackPointer:
        return self.record.pointer

    @property
    def old_column(self) -> bytes:
        return record_cell(self.old, BODY)[0]

    @property
    def new_column(self) -> bytes:
        return record_cell(self.new, BODY)[0]

    @property
    def at_ms(self) -> int:
        """The record's timestamp, which a move does not change."""
        cell = self.row.get(self.old_column)
        return cell.at_ms if cell else self.row[nodes.CONTENT_PACK].at_ms


@dataclass(slots=True, eq=False)
class PackRewriter:
    """Rewrites a store's packs."""

    zen: MultiGraph
    packs: Packs

    @property
    def records(self) -> PackRecords:
        return PackRecords(self.zen, self.packs)

    def rewrite(self, names: Sequence[str], *, only_if_smaller: bool = False) -> Rewritten:
        """
        Move the live records of packs into new packs, in groups of about 64 MB of records.

        The old packs are then marked as moved. No node points to them, but readers that read a node
        earlier may still have a pointer.

        With `only_if_smaller`, a group stays unchanged if dictionaries would save too little,
        except after a killed rewrite.
        """
        done = Rewritten()
        left = list(names)
        while left:
            size, count = 0, 0
            while count < len(left) and size < GROUP_BYTES:
                size += self.packs.catalog.size(left[count]) or 0
                count += 1
            self._rewrite_together(left[:count], done, only_if_smaller=only_if_smaller)
            left = left[count:]
        return done

    def _rewrite_together(
        self, names: Sequence[str], done: Rewritten, *, only_if_smaller: bool
    ) -> None:
        catalog = self.packs.catalog
        interrupted = set(filter(catalog.is_begun, names))
        claimed = [name for name in names if catalog.claim(name)]
        done.busy += [name for name in names if name not in claimed]
        # Once these records have moved, the pages that a dictionary was trained on can no longer be
        # found.
        catalog.dictionaries.erase_trained_on(claimed)
        only_if_smaller = only_if_smaller and interrupted.isdisjoint(claimed)
        begun: list[_Rewrite] = []
        for name in claimed:
            try:
                begun.append(self._begin(name))
            except CorruptContent as error:  # a damaged pack must not stop the others
                done.problems.append(f"pack {name}: {error.reason}")
        copies = [
            _Copy(record, record.pointer in one.body_only, record.pointer.offset in one.erased)
            for one in begun
            for record in one.live
        ]
        if self._put_parts(copies, only_if_smaller=only_if_smaller):
            for one in begun:
                catalog.record_unused(one.name)
                done.names.append(one.name)
                if not one.live:
                    done.empty.append(one.name)
        for name in claimed:
            catalog.release(name)

    def _put_parts(self, copies: Sequence[_Copy], *, only_if_smaller: bool) -> bool:
        """
        Store records in new packs, by host. Returns False if nothing was stored.

        Each dictionary is tried on a sample before anything is stored.
        """
        most = self.packs.settings.pack_bytes
        tried = [
            (part, self._trial(part) if is_worthwhile else None)
            for part, is_worthwhile in parts(copies, _host_of, _size_of, _raw_size_of, most)
        ]
        saved = sum(trial.saved_bytes for _, trial in tried if trial)
        if only_if_smaller and not saves_enough(saved, sum(map(_size_of, copies))):
            return False
        for part, trial in tried:
            self._put(part, trial)
        return True

    def _trial(self, copies: Sequence[_Copy]) -> Trial | None:
        """Return a dictionary for these records, or None if it would save too little."""
        if not self.packs.settings.dictionaries or self.packs.writer.compression != "zstd":
            return None
        samples = sampled(copies)
        dictionary = Dictionary.train(list(map(self._raw, samples)))
        if dictionary is None:
            return None
        trained = {one.record.pointer for one in samples}
        others = [one for one in copies if one.record.pointer not in trained]
        tried = sampled(others or copies, TRIED_RECORDS)
        raw = [self._raw(one) for one in tried]
        return Trial.of(
            dictionary,
            {one.record.pointer: data for one, data in zip(tried, raw, strict=True)},
            sum(map(_plain_size, tried, raw)),
            sum(map(_raw_size_of, copies)),
        )

    def _begin(self, name: str) -> _Rewrite:
        """Return the pack's live records, and which of them to rewrite or erase."""
        data = self.packs.files.read_all(name)
        if data is None:
            return _Rewrite(name)
        erased = frozenset(self.packs.catalog.erased(name))
        records = list(self.records.read(name, data))
        gone = [one for one in records if one.is_revisit and one.pointer.offset in erased]
        self.records.forget(gone)
        live = [one for one in records if one.owners and one not in gone]
        body_only = [one.pointer for one in live if one.pointer.offset in erased or not one.is_sent]
        return _Rewrite(name, live, frozenset(body_only), erased)

    def _put(self, copies: Sequence[_Copy], trial: Trial | None) -> None:
        dictionary = trial.dictionary if trial else None
        compressed = trial.frames if trial else {}
        records = [
            self._copy_of(one, dictionary, compressed.get(one.record.pointer)) for one in copies
        ]
        ticket = self.packs.writer.put_together(records, dictionary)
        moves = []
        for one, pointer in zip(copies, ticket.wait(), strict=True):
            for owner, row in one.record.owners:
                moves.append(_Move(owner, row, one.record, pointer, one.is_body_only))
                if one.is_body_only:
                    self._erase_revisits(row, at_once=one.is_erased)
        for at in range(0, len(moves), MOVES_AT_ONCE):
            self._move(moves[at : at + MOVES_AT_ONCE])
        ticket.settle()

    def body_only(self, record: PackedRecord) -> PackRecord:
        """Return a new record with an old record's body, under the URLs of the record's owners."""
        return PackRecord(self._body_only(record), self.packs.writer.compression)

    def _raw(self, copy: _Copy) -> bytes:
        return self._body_only(copy.record) if copy.is_body_only else copy.record.record

    def _copy_of(
        self, copy: _Copy, dictionary: Dictionary | None, compressed: bytes | None
    ) -> PackRecord:
        """
        Return a record for a pack with this dictionary (None: without one).

        `compressed` is the record, if it is already compressed with the dictionary.
        """
        old, compression = copy.record, self.packs.writer.compression
        if copy.is_body_only:
            return PackRecord(self._raw(copy), compression, dictionary)
        if dictionary is not None:
            frame = compressed or dictionary.compress(old.record)
        elif old.dictionary is not None:
            frame = frames.compress(old.record, compression)
        else:
            frame = old.frame
        return PackRecord.moved(frame, old.capture)

    def _body_only(self, record: PackedRecord) -> bytes:
        _, row = record.owners[0]
        url = nodes.text(row, nodes.URL) or ""
        others = (nodes.text(row, nodes.URL) for _, row in record.owners[1:])
        block = record.block
        kept = {k: v for k, v in block.meta.items() if k in _OF_THE_BODY}
        page = WarcPage(
            url,
            row[nodes.CONTENT_PACK].at_ms,
            content_hash(block.body),
            len(block.body),
            kept,
            pages=tuple(filter(None, others)),
        )
        return page_head(page).with_body(block.body)

    def _erase_revisits(self, row: Row, *, at_once: bool) -> None:
        """
        Erase a page's revisit records, because they refer to another page's record.

        The page now has its own body, and a takedown of the other page would not find these
        revisits.
        """
        revisits = [one for one, kind, _ in records_of(row) if kind == REVISIT]
        if revisits:
            self.packs.catalog.erase(revisits, at_once=at_once)

    def _move(self, moves: Sequence[_Move]) -> None:
        """Point nodes to new records, unless their pages were deleted in the meantime."""
        self.packs.catalog.share_all([(one.new, one.url) for one in moves if not one.is_listed])
        self.zen.mutate([put for one in moves for put in _puts(one)])
        rows = self.zen.nodes.get_many([one.owner for one in moves])
        for one in moves:
            fresh = rows.get(one.owner, {})
            if _was_deleted(fresh, one.at_ms) or (
                one.old_column in one.row and one.old_column not in fresh
            ):
                self._move_back(one, fresh)

    def _move_back(self, move: _Move, fresh: Row) -> None:
        """Undo a move, because the page was deleted in the meantime."""
        pointed = move.row.get(nodes.CONTENT_PACK)
        gone = [(move.owner, [move.new_column], move.at_ms)]
        if fresh.get(nodes.CONTENT_PACK) == Cell(move.new.cell(), pointed.at_ms if pointed else 0):
            gone.append((move.owner, [nodes.CONTENT_PACK], fresh[nodes.CONTENT_PACK].at_ms))
        self.zen.nodes.delete_many(gone)
        self.packs.catalog.erase([move.new])


def _puts(move: _Move) -> list[Mutation]:
    """Return the mutations for a move. The new cells have the timestamps of the old ones."""
    cell = move.row.get(move.old_column)
    place = len(b"%d %s " % (move.old.length, move.old.digest.encode()))
    kind = cell.value[place:] if cell and not move.is_own else BODY
    column, value = record_cell(move.new, kind)
    puts = [put_properties(move.owner, {column: value}, move.at_ms)]
    pointed = move.row.get(nodes.CONTENT_PACK)
    if pointed and pointer_of(move.row) == move.old:
        cells = {nodes.CONTENT_PACK: move.new.cell()}
        puts.append(put_properties(move.owner, cells, pointed.at_ms))
    return puts


def _host_of(copy: _Copy) -> bytes:
    return host_of(copy.record.urls[0].encode()) if copy.record.urls else b""


def _size_of(copy: _Copy) -> int:
    return len(copy.record.frame)


def _plain_size(copy: _Copy, raw: bytes) -> int:
    """Return a record's compressed size without a dictionary."""
    has_own = copy.record.dictionary is None
    return _size_of(copy) if has_own else len(frames.compress(raw, "zstd"))


def _raw_size_of(copy: _Copy) -> int:
    return copy.record.raw_bytes


def _was_deleted(row: Row, at_ms: int) -> bool:
    """Return True if the page was removed, withdrawn or taken down after `at_ms`."""
    if nodes.is_taken_down(row) or nodes.SENTINEL not in row:
        return True
    marks = (row.get(nodes.REMOVED), row.get(nodes.WITHDRAWN))
    return any(mark is not None and mark.at_ms >= at_ms for mark in marks)
