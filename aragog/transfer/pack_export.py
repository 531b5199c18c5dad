"""
Export a whole store's content as a copy of its packs, without pages that must not be shared.

A pack is copied unchanged if all its records may be shared; otherwise only the records that may be
shared are copied, still compressed. Content is skipped if no page refers to it anymore (replaced,
removed, taken down), if it has expired, or if its site refuses the given purpose. Pages stored as
objects are written as in `warc_export`.

Only complete packs appear in the folder, after their index. To resume an interrupted export, repeat
it; only missing packs are read. If a pack is rewritten meanwhile, its records are in a later pack,
which is read as well. Memory is bounded by one pack.
"""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from aragog.errors import BadInput, ConfigError, CorruptContent
from aragog.transfer.import_export import NodeSelection, NodeSource
from aragog.transfer.parts import PURPOSE_FILE
from aragog.transfer.warc_export import COLUMNS, export_warc
from aragog.urlstore import nodes
from aragog.urlstore.bodies import Packs, pointer_of
from aragog.urlstore.content import FileFolder
from aragog.urlstore.nodes import facts_of
from aragog.urlstore.pack_index import index_of, pack_index, pack_of
from aragog.urlstore.pack_records import PackedRecord
from aragog.urlstore.pack_upkeep import PackUpkeep
from aragog.urlstore.records import is_allowed, is_expired
from aragog.urlstore.store import UrlStore
from zengraph.records import Row

OBJECTS = "objects"
"""The folder for pages stored as objects."""


@dataclass(slots=True)
class PackExportReport:
    """The result of an export."""

    whole: int = 0
    """Packs copied unchanged."""
    partial: int = 0
    """Packs copied without some of their records."""
    records: int = 0
    """Number of records in this run's files."""
    problems: int = 0
    """Packs and pages that could not be read."""


def export_packs(
    store: UrlStore,
    folder: Path,
    *,
    purpose: str | None = None,
    on_problem: Callable[[str, str], None] = lambda *_: None,
    on_progress: Callable[[int], None] = lambda _: None,
) -> PackExportReport:
    """
    Copy the packs of a store into `folder`, under their names in the store.

    Pages whose `unavailable_after` has passed are skipped, and so are pages whose sites refuse
    `purpose`. A damaged pack is reported by name and skipped. Pages fetched meanwhile may be
    missing.

    Raises:
        BadInput: the folder contains an export for another purpose.
        ConfigError: the folder is not writable.
        StoreUnavailable, ContentUnavailable: repeat the call.
    """
    _check_purpose(folder, purpose)
    export = _PackExport(store, FileFolder(folder), purpose, on_problem, on_progress)
    if store.bodies.packs is not None:
        export.copy_packs(store.bodies.packs)
    export.write_objects(folder)
    return export.report


class _PackExport:
    def __init__(
        self,
        store: UrlStore,
        target: FileFolder,
        purpose: str | None,
        on_problem: Callable[[str, str], None],
        on_progress: Callable[[int], None],
    ) -> None:
        self._store = store
        self._target = target
        self._purpose = purpose
        self._on_problem = on_problem
        self._on_progress = on_progress
        self._now_ms = store.clock.clock.now_ms()
        self._later_packs: set[str] = set()
        """Packs to which records have moved, still to be copied."""
        self.report = PackExportReport()

    def copy_packs(self, packs: Packs) -> None:
        """Copy all packs, then those that replaced rewritten packs meanwhile."""
        for _ in range(2):
            for file in packs.files.packs():
                self._copy_pack(packs, file.name)
        while self._later_packs:
            self._copy_pack(packs, self._later_packs.pop())

    def write_objects(self, folder: Path) -> None:
        """Write pages stored as objects. The folder is renamed when it is complete."""
        earlier_count = self.report.records
        if (folder / OBJECTS).exists():
            return
        temporary = folder / f".{OBJECTS}-{socket.gethostname()}-{os.getpid()}"
        shutil.rmtree(temporary, ignore_errors=True)
        try:
            temporary.mkdir()
            with closing(self._object_nodes()) as rows:
                report = export_warc(
                    self._store.zen,
                    self._store.bodies,
                    temporary / OBJECTS,
                    NodeSelection(nodes=rows),
                    purpose=self._purpose,
                    on_problem=self._on_problem,
                    on_progress=lambda count: self._on_progress(earlier_count + count),
                )
            temporary.rename(folder / OBJECTS)
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        self.report.records += report.records
        self.report.problems += report.problems

    def _object_nodes(self) -> NodeSource:
        for key, row in self._store.zen.nodes.scan(names=COLUMNS):
            location = nodes.content_cell(row)
            if location is not None and location[0] == nodes.CONTENT_KEY:
                yield key, row

    def _copy_pack(self, packs: Packs, name: str) -> None:
        path = self._target.folder / name
        if path.exists() or (data := packs.files.read_all(name)) is None:
            return
        try:
            content = self._shareable_bytes(packs, name, data)
        except CorruptContent as error:
            self.report.problems += 1
            self._on_problem(f"pack {name}", error.reason)
            return
        if content is None:
            return
        index, _ = pack_index(name, content)
        self._target.replace_file(self._target.folder / index_of(name), index)
        self._target.replace_file(path, content)
        self.report.records += index.count(b"\n")
        self._on_progress(self.report.records)

    def _shareable_bytes(self, packs: Packs, name: str, data: bytes) -> bytes | None:
        """Return a pack without unshareable records, or None if no records are left."""
        upkeep = PackUpkeep(self._store.zen, self._store.bodies, self._store.clock.clock)
        erased, is_whole = packs.catalog.erased(name), True
        frames: list[bytes] = []
        for record in upkeep.records(name, data):
            owners = tuple(owner for owner in record.owners if self._may_share(owner[1]))
            self._note_moved_record(name, record)
            if owners == record.owners and owners and record.pointer.offset not in erased:
                frames.append(record.own_frame)
                continue
            is_whole = False
            if owners:  # pages that share the record only need the body
                frames.append(upkeep.body_only(replace(record, owners=owners)).frame)
        if is_whole:
            self.report.whole += 1
            return data
        if not frames:
            return None
        self.report.partial += 1
        return pack_of(name, frames, self._now_ms)

    def _note_moved_record(self, name: str, record: PackedRecord) -> None:
        for _, row in record.known:
            pointer = pointer_of(row)
            if pointer is None or pointer.pack == name or record.owners:
                continue
            if not (self._target.folder / pointer.pack).exists():
                self._later_packs.add(pointer.pack)

    def _may_share(self, row: Row) -> bool:
        facts = facts_of(row)
        is_stored = nodes.SENTINEL in row and not nodes.is_taken_down(row)
        is_fresh = not is_expired(facts, self._now_ms)
        return is_stored and is_fresh and is_allowed(facts, self._purpose)


def warc_files(folder: Path) -> Iterator[Path]:
    """Yield the WARC files of an export, sorted by name."""
    yield from sorted(folder.glob("[!.]*/*.warc.*"))


def _check_purpose(folder: Path, purpose: str | None) -> None:
    """Record an export's purpose in its folder; raises BadInput if it has another."""
    file = folder / PURPOSE_FILE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        recorded = file.read_text() if file.exists() else ""
        has_export = any(warc_files(folder)) or file.exists()
        if has_export and recorded != (purpose or ""):
            their_purpose, our_purpose = (
                f"for {name}" if name else "for any purpose" for name in (recorded, purpose)
            )
            raise BadInput(
                f"{folder} contains packs {their_purpose}, but this export is {our_purpose}; "
                "use another folder"
            )
        file.write_text(purpose or "")
    except OSError as error:
        raise ConfigError(f"{folder}: cannot be written: {error.strerror}") from error
