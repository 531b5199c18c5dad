"""
The bodies of pages, stored as objects or as records in packs.

A page's node (the cells stored for its URL) contains the location of its body. Both layouts can be
read; the settings determine which one new bodies use.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from aragog.errors import CorruptContent
from aragog.settings import ContentSettings
from aragog.urlstore import nodes
from aragog.urlstore.compression import compress, content_hash, decompress, dictionary_id
from aragog.urlstore.content_port import Connectable, ContentStore
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.packs import frames
from aragog.urlstore.packs.catalog import PackCatalog
from aragog.urlstore.packs.dictionaries import PackDictionaries
from aragog.urlstore.packs.pack_record import PackRecord
from aragog.urlstore.packs.pack_writer import PackWriter
from aragog.urlstore.packs.pointers import PackPointer
from aragog.urlstore.packs.shared_dictionaries import SharedDictionaries
from aragog.urlstore.records import SharedBody
from aragog.urlstore.warc_records import (
    Original,
    WarcPage,
    page_head,
    read_record,
    revisit_head,
)
from aragog.urlstore.write_clock import WriteClock
from zengraph import MultiGraph
from zengraph.records import Cell, Row

BODY, REVISIT, SHARED = b"body", b"revisit", b"shared"
"""
What a node uses a record for: the page's own body, a fetch that found the body unchanged, or
another page's identical body.
"""
ENCODING = b"warc"


class StoredBody(NamedTuple):
    """A decompressed body and its stored metadata."""

    body: bytes
    meta: Mapping[str, str]


@dataclass(slots=True, eq=False)
class Packs:
    """The pack files, their catalog, dictionaries and writer."""

    files: PackFiles
    catalog: PackCatalog
    writer: PackWriter
    settings: ContentSettings
    dictionaries: PackDictionaries
    shared: SharedDictionaries

    @classmethod
    def of(
        cls, files: PackFiles, zen: MultiGraph, clock: WriteClock, settings: ContentSettings
    ) -> Packs:
        """Open the packs in `files` with these settings."""
        catalog = PackCatalog(zen, clock.clock.now_ms)
        uses_dictionaries = settings.dictionaries and settings.pack_compression == "zstd"
        writer = PackWriter(
            files,
            catalog,
            clock.clock,
            max_bytes=settings.pack_bytes,
            wait_s=settings.pack_wait_s,
            compression=settings.pack_compression,
            notes_hosts=uses_dictionaries,
        )
        shared = SharedDictionaries(
            catalog.dictionaries, is_on=uses_dictionaries and settings.layout == "packs"
        )
        return cls(files, catalog, writer, settings, PackDictionaries(files.read), shared)

    def read(self, pointer: PackPointer) -> bytes:
        """
        Return the decompressed record at a pointer.

        Takes one request, or two if the pack's dictionary is not cached.

        Raises:
            CorruptContent: the record is missing, or its bytes do not match the pointer.
        """
        frame = self.files.read(pointer.pack, pointer.offset, pointer.length)
        if frame is None:
            raise CorruptContent(pointer.place, "is missing")
        pointer.check(frame)
        dictionary = self.dictionaries.of(pointer.pack) if dictionary_id(frame) else None
        return frames.decompress(frame, dictionary)

    def record_of(self, page: WarcPage, body: bytes) -> PackRecord:
        """
        Return the record to add to a pack for a page; `body` is compressed (`Bodies.compress`).

        Raises:
            CorruptContent: the body is damaged, or its dictionary was erased.
        """
        dictionary = self.shared.of_frame(body)
        return PackRecord.around(page_head(page), body, self.writer.compression, dictionary)

    def revisit_of(self, page: WarcPage, original: Original) -> PackRecord:
        """Return a record without a body, for a page whose body did not change."""
        record = revisit_head(page, original).with_body(b"")
        return PackRecord(record, self.writer.compression, self.shared.in_use())


class Bodies:
    """
    Reads and releases the bodies that nodes point to; threads may share it.

    Args:
        objects: stores bodies in the layout `objects`, one object per page.
        packs: stores bodies in the layout `packs`; None if this layout is not used.
    """

    def __init__(self, objects: ContentStore, packs: Packs | None = None) -> None:
        self.objects = objects
        self.packs = packs

    @property
    def in_packs(self) -> bool:
        return self.packs is not None and self.packs.settings.layout == "packs"

    def connect(self) -> None:
        """
        Connect in the background to the content server.

        Call this when a process starts, so that its first read does not wait. Does nothing for a
        folder.
        """
        backend = self.packs.files if self.packs and self.in_packs else self.objects
        if isinstance(backend, Connectable):
            backend.connect()

    def compress(self, body: bytes) -> bytes:
        """Compress a body. Never raises."""
        return compress(body) if self.packs is None else self.packs.shared.compress(body)

    def decompress(self, blob: bytes) -> bytes:
        """
        Decompress the output of `compress`.

        Raises:
            CorruptContent: the data is damaged, or its dictionary was erased.
            StoreUnavailable: the dictionary is needed, but the store does not respond.
        """
        return decompress(blob) if self.packs is None else self.packs.shared.decompress(blob)

    def readable(self, blob: bytes | None) -> bytes | None:
        """
        Return a compressed body, or None if its dictionary was erased since it was compressed.

        Raises:
            StoreUnavailable: the store does not respond.
        """
        if blob is None or self.packs is None:
            return blob
        try:
            self.packs.shared.of_frame(blob)
        except CorruptContent:
            return None
        return blob

    def storable(self, blob: bytes | None) -> bytes | None:
        """
        Return a compressed body in its stored form, or None if it is not `readable`.

        The stored form has no dictionary, unless this process writes packs with dictionaries.
        """
        blob = self.readable(blob)
        if blob is None or self.packs is None or self.packs.shared.is_on:
            return blob
        return compress(self.decompress(blob)) if dictionary_id(blob) else blob

    def get(self, row: Row) -> StoredBody | None:
        """
        Return the body that a node points to, or None.

        Raises:
            CorruptContent: the bytes do not match the node, or are missing.
            ContentUnavailable: the content store does not respond.
        """
        location = nodes.content_cell(row)
        if location is None:
            return None
        column, cell = location
        if column == nodes.CONTENT_PACK:
            return self.read(PackPointer.read(cell.value))
        return self._read_object(cell.value.decode(), row)

    def read(self, pointer: PackPointer) -> StoredBody:
        if self.packs is None:
            raise CorruptContent(pointer.place, "is in a pack, but no packs are configured")
        block = read_record(self.packs.read(pointer))
        return StoredBody(block.body, block.meta)

    def give_up(self, row: Row) -> None:
        """Delete a node's object, or mark its record as dead (used by no page)."""
        if key := nodes.text(row, nodes.CONTENT_KEY):
            self.objects.delete(key)
        if self.packs and (pointer := pointer_of(row)):
            self.packs.catalog.record_dead([pointer])

    def erase(self, row: Row, columns: Iterable[bytes]) -> None:
        """
        Erase the bodies that these columns of a node point to. Objects are erased immediately, and
        records within `content.takedown_hours`.

        Another page's record is kept, because it contains nothing about this page.
        """
        columns = frozenset(columns)
        key = nodes.text(row, nodes.CONTENT_KEY)
        if key and nodes.CONTENT_KEY in columns:
            self.objects.delete(key)
        pointers = {pointer for pointer, kind, _ in records_of(row, columns) if kind != SHARED}
        if nodes.CONTENT_PACK in columns and (pointer := pointer_of(row)):
            pointers |= set() if shared_of(row, pointer) else {pointer}
        if self.packs and pointers:
            self.packs.catalog.erase(pointers)

    def _read_object(self, key: str, row: Row) -> StoredBody:
        stored = self.objects.get(key)
        if stored is None:
            raise CorruptContent(key, "is missing")
        if content_hash(stored[0]) != nodes.text(row, nodes.CONTENT_HASH):
            raise ReplacedObject(key, "does not match its pointer", stored[1])
        return StoredBody(decompress(stored[0]), stored[1])


class ReplacedObject(CorruptContent):
    """An object that is intact but does not match its node; a writer may have replaced it."""

    def __init__(self, key: str, reason: str, meta: Mapping[str, str]) -> None:
        super().__init__(key, reason)
        self.meta = meta


def pointer_of(row: Row) -> PackPointer | None:
    """Return a node's pointer into a pack, or None if its content is not in a pack."""
    where = nodes.content_cell(row)
    return PackPointer.read(where[1].value) if where and where[0] == nodes.CONTENT_PACK else None


def record_cell(pointer: PackPointer, kind: bytes) -> tuple[bytes, bytes]:
    """Return the cell that makes a node refer to a record in a pack."""
    column = nodes.RECORDS + f"{pointer.pack} {pointer.offset}".encode()
    return column, b"%d %s %s" % (pointer.length, pointer.digest.encode(), kind)


def records_of(
    row: Row, columns: Iterable[bytes] | None = None
) -> list[tuple[PackPointer, bytes, int]]:
    """
    Return the records that a node refers to, as (pointer, kind, time in ms), newest first.

    While `pack_upkeep` moves a record, the node refers to both copies. The copy in the later pack
    comes first.
    """
    records = [
        _record(column, row[column])
        for column in (row if columns is None else columns)
        if column.startswith(nodes.RECORDS) and column in row
    ]
    return sorted(records, key=lambda record: (record[2], record[0].pack), reverse=True)


def live_records(row: Row, keep_versions: int) -> set[PackPointer]:
    """
    Return the records that must be kept: the node's body, its kept versions, and its newest record
    if that is a revisit.

    A revisit states that a fetch found the body unchanged.
    """
    pointer, records = pointer_of(row), records_of(row)
    live_pointers = set() if pointer is None else {pointer}
    if nodes.SENTINEL not in row:
        return live_pointers
    versions = {at_ms: body for body, kind, at_ms in reversed(records) if kind != REVISIT}
    older = [body for body in reversed(versions.values()) if body != pointer]
    live_pointers.update(older[:keep_versions])
    if pointer is not None and records and records[0][1] == REVISIT:
        live_pointers.add(records[0][0])
    return live_pointers


def version_at(row: Row, at_ms: int, keep_versions: int) -> PackPointer | None:
    """
    Return the record with the body that a page had at `at_ms`.

    Returns None if there was no body or its record is no longer kept.
    """
    live = live_records(row, keep_versions)
    for pointer, kind, seen_ms in records_of(row):
        if kind != REVISIT and seen_ms <= at_ms:
            return pointer if pointer in live else None
    return None


def pack_cells(pointer: PackPointer, digest: str, length_bytes: int) -> dict[bytes, bytes]:
    """Return the cells of a node whose body is in a pack."""
    column, value = record_cell(pointer, BODY)
    return {
        nodes.CONTENT_PACK: pointer.cell(),
        nodes.CONTENT_HASH: digest.encode(),
        nodes.CONTENT_LENGTH: b"%d" % length_bytes,
        nodes.CONTENT_ENCODING: ENCODING,
        column: value,
    }


def shared_cells(shared: SharedBody, digest: str, length_bytes: int) -> dict[bytes, bytes]:
    """Return the cells of a node that shares another page's record."""
    column, value = record_cell(shared.pointer, SHARED)
    owner_text = b" %d %s" % (shared.at_ms, shared.url.encode())
    return {**pack_cells(shared.pointer, digest, length_bytes), column: value + owner_text}


def shared_of(row: Row, pointer: PackPointer) -> SharedBody | None:
    """Return the page whose record a node shares, or None if the node has its own record."""
    cell = row.get(record_cell(pointer, BODY)[0])
    if cell is None or (parts := cell.value.decode().split(" "))[2] != SHARED.decode():
        return None
    return SharedBody(pointer, parts[4], int(parts[3]))


def _record(column: bytes, cell: Cell) -> tuple[PackPointer, bytes, int]:
    pack, offset = column[len(nodes.RECORDS) :].decode().split(" ")
    length, digest, kind = cell.value.split(b" ")[:3]
    return PackPointer(pack, int(offset), int(length), digest.decode()), kind, cell.at_ms
