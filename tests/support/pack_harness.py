"""A UrlStore with content in packs, on any kind of pack files, and helpers to inspect it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.runtime.clock import ManualClock
from aragog.settings import ContentSettings, StoreSettings
from aragog.urlstore.compression import compress
from aragog.urlstore.content import MemoryContent, MemoryPacks
from aragog.urlstore.content_port import ContentStore
from aragog.urlstore.pack_files import PackFiles
from aragog.urlstore.records import ContentWrite, PageWrite
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, page
from zengraph.tables import Tables
from zengraph.tables.memory import MemoryTables

HOUR_MS = 3_600_000


@dataclass
class PackHarness:
    """A store with packs, and its parts."""

    store: UrlStore
    tables: Tables
    content: ContentStore
    files: PackFiles
    clock: ManualClock

    def reopened(self, **settings) -> PackHarness:
        """Open the same data like another process."""
        return pack_harness(self.tables, self.files, self.content, self.clock, **settings)

    def upkeep(self, hours: float = 0.0):
        """Run upkeep some hours later, and return its report."""
        self.clock.advance_ms(int(hours * HOUR_MS))
        return self.store.maintenance.upkeep_packs()

    def everything(self) -> bytes:
        """Return all bytes of all packs, decompressed."""
        return b"".join(map(self.decompressed, self.names()))

    def names(self) -> list[str]:
        """Return the names of the packs."""
        return [file.name for file in self.files.packs()]

    def decompressed(self, name: str) -> bytes:
        """Return one pack as a plain WARC file."""
        from aragog.urlstore.packs import frames

        data = self.files.read_all(name) or b""
        return b"".join(record for _, record in frames.records(data))


def pack_harness(
    tables: Tables | None = None,
    files: PackFiles | None = None,
    content: ContentStore | None = None,
    clock: ManualClock | None = None,
    **settings,
) -> PackHarness:
    """Return a store with packs. `settings` are those of `[content]`."""
    clock = clock or ManualClock(NOW_MS)
    tables = MemoryTables(clock) if tables is None else tables
    files = MemoryPacks() if files is None else files
    content = MemoryContent() if content is None else content
    options = ContentSettings(**{"layout": "packs", "pack_wait_s": 0.05, **settings})
    store = UrlStore(tables, content, StoreSettings(), clock, packs=files, content_settings=options)
    return PackHarness(store, tables, content, files, clock)


def fetched(url: str, text: str, at_ms: int = NOW_MS, **parts) -> PageWrite:
    """Return a fetched page, with the report of its fetch."""
    report = FetchRecord(
        url=url, outcome=OutcomeKind.FETCHED, final_url=parts.get("final_url", url),
        fetched_at_ms=at_ms, status=200, address="192.0.2.7", tls="TLSv1.3", http_version="2",
        headers=(("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("X-A", "é")),
        content_type="text/html", body_bytes=len(text.encode()),
    )  # fmt: skip
    meta = {"status": "200", "fetched_at_ms": str(at_ms), "content_type": "text/html"}
    content = ContentWrite(compress(text.encode()), "zstd", len(text.encode()), meta)
    facts = {
        "url": url, "final_url": report.final_url, "fetched_at_ms": at_ms, "status": 200,
        "outcome": "Fetched", "content_type": "text/html",
    }  # fmt: skip
    return page(url, at_ms, content=content, report=report, facts=facts, **parts)


def every_file(files: PackFiles) -> Iterator[bytes]:
    """Yield the bytes of each pack."""
    for file in files.packs():
        yield files.read_all(file.name) or b""
