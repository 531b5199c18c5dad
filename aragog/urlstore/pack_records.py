"""
Reads the records in a pack, with the pages that use them.

A record is live if a node that refers to it still needs it (`live_records`). Three kinds of URLs
may have such a node: the URLs in the record, their canonical URLs, and the URLs that the catalog
lists for the record.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aragog.errors import CorruptContent
from aragog.urlstore.bodies import (
    BODY,
    Packs,
    live_records,
    pointer_of,
    record_cell,
    records_of,
    shared_of,
)
from aragog.urlstore.cdxj import Capture
from aragog.urlstore.nodes import alias_of
from aragog.urlstore.pack_damage import beginnings_at, located
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.dictionaries import Dictionary, dictionary_of
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.warc_records import WarcBlock, capture_of, read_record
from zengraph import MultiGraph
from zengraph.records import Row


@dataclass(frozen=True, slots=True)
class PackedRecord:
    """A record in a pack, with the pages that use it."""

    pointer: PackPointer
    frame: bytes
    kind: str
    """The record's WARC-Type."""
    urls: tuple[str, ...]
    """URLs under which the page may be stored; the first one returned the page."""
    capture: Capture
    """The record's index entry, without its location."""
    raw_bytes: int
    dictionary: Dictionary | None
    """The dictionary that the frame was compressed with, or None."""
    owners: tuple[tuple[bytes, Row], ...]
    """The nodes, by id, for which the record is live."""
    known: tuple[tuple[bytes, Row], ...]
    """All nodes that refer to the record, by id."""

    @property
    def record(self) -> bytes:
        """The decompressed record. Not cached, because a pack has thousands of records."""
        return frames.decompress(self.frame, self.dictionary)

    @property
    def own_frame(self) -> bytes:
        """The record, compressed without the pack's dictionary (which has other pages' text)."""
        return self.frame if self.dictionary is None else frames.compress(self.record, "zstd")

    @property
    def block(self) -> WarcBlock:
        return read_record(self.record)

    @property
    def is_revisit(self) -> bool:
        return self.kind == "revisit"

    @property
    def is_sent(self) -> bool:
        """
        True if at least one owner (a page that uses the record) has this body in its own right, not
        shared from another page.
        """
        return any(shared_of(row, self.pointer) is None for _, row in self.owners)


@dataclass(slots=True, eq=False)
class PackRecords:
    """Reads packs and the nodes that refer to their records."""

    zen: MultiGraph
    packs: Packs

    def read(self, name: str, data: bytes) -> Iterator[PackedRecord]:
        """
        Yield a pack's records, except the first (`warcinfo`), with the nodes that refer to them.

        A body is only decompressed if no node contains the hash of its record. If it is damaged and
        no page needs it, for example because `repair` has dropped the pointer, the record has no
        nodes. So takedowns can still erase the other records of the pack.

        Raises:
            CorruptContent: the pack is damaged, and a page needs the damaged record.
        """
        dictionary, found = self._beginnings(name, data)
        blocks = [
            (one.frame, one.raw_bytes, one.block) for one in found if one.block.kind != "warcinfo"
        ]
        sharing = {
            offset: set(map(self.zen.node_id, urls))
            for offset, urls in self.packs.catalog.sharing(name).items()
        }
        rows, near_url = self._candidates({url for _, _, block in blocks for url in block.urls})
        ids = {one for shared in sharing.values() for one in shared} - rows.keys()
        rows |= self.zen.nodes.get_many(sorted(ids)) if ids else {}
        for frame, raw_bytes, block in blocks:
            pointer = PackPointer.of(name, frame.offset, frame.data)
            near = sharing.get(frame.offset, set()).union(*(near_url[url] for url in block.urls))
            known = [
                (one, rows[one])
                for one in sorted(near)
                if one in rows and _names(rows[one], pointer)
            ]
            if not known:  # otherwise the hash in a node proves that the record is intact
                near_rows = [rows[one] for one in near if one in rows]
                self._check(name, frame, dictionary, near_rows)
            yield PackedRecord(
                pointer,
                frame.data,
                block.kind,
                block.urls,
                capture_of(block, 0, 0, ""),
                raw_bytes,
                dictionary,
                tuple(
                    (one, row)
                    for one, row in known
                    if pointer in live_records(row, self.packs.settings.keep_versions)
                ),
                tuple(known),
            )

    def _beginnings(
        self, name: str, data: bytes
    ) -> tuple[Dictionary | None, list[frames.Beginning]]:
        """
        Return the pack's dictionary and the beginnings of its records.

        If one of them is damaged, the locations of the records are read from the pack's index.

        Raises:
            CorruptContent: something is damaged, and the index is missing or damaged too.
        """
        try:
            dictionary = dictionary_of(data)
            return dictionary, list(frames.beginnings(data, dictionary))
        except CorruptContent:
            if self.packs.files.read_all(name) != data:  # only this read failed
                raise
            if (captures := located(data, self.packs.files.read_index(name) or b"")) is None:
                raise
            return beginnings_at(data, captures)

    def _check(
        self, name: str, frame: frames.Frame, dictionary: Dictionary | None, rows: Sequence[Row]
    ) -> None:
        """Raises CorruptContent if a record is damaged and one of these nodes needs it."""
        try:
            frames.decompress(frame.data, dictionary)
        except CorruptContent:
            keep_versions = self.packs.settings.keep_versions
            needed = {one for row in rows for one in live_records(row, keep_versions)}
            if any((one.pack, one.offset) == (name, frame.offset) for one in needed):
                raise

    def _candidates(self, urls: set[str]) -> tuple[dict[bytes, Row], dict[str, set[bytes]]]:
        """
        Return the complete nodes of these URLs and their canonical URLs, by id.

        Also returns the ids of both nodes for each URL.
        """
        ids = {url: self.zen.node_id(url) for url in sorted(urls)}
        rows = dict(self.zen.nodes.get_many([*ids.values()]))
        near = {url: {one} for url, one in ids.items()}
        for url, one in ids.items():
            if (canonical := alias_of(rows.get(one, {}), url)) is not None:
                near[url].add(self.zen.node_id(canonical))
        more = sorted(set[bytes]().union(*near.values()).difference(ids.values()))
        return rows | (self.zen.nodes.get_many(more) if more else {}), near

    def forget(self, records: Sequence[PackedRecord]) -> None:
        gone = [
            (owner, [column], row[column].at_ms)
            for one in records
            for owner, row in one.known
            if (column := record_cell(one.pointer, BODY)[0]) in row
        ]
        if gone:
            self.zen.nodes.delete_many(gone)


def _names(row: Row, pointer: PackPointer) -> bool:
    return pointer_of(row) == pointer or any(one == pointer for one, _, _ in records_of(row))
