"""
Writes the files of the crawl log.

The writer creates one file per span: `dt=2026-01-31/crawl-20260131T080500Z-300s`. As in Secor
(Pinterest's log archiver), a file's name and rows depend only on its span. Rows are removed from
Redis once the file is durable, so if a writer is killed before that, the next one writes the same
file again. A lease keeps two writers from doing the same work. Each row is in exactly one file. If
a batch ran twice, its fetches have two rows with the same `url` and `fetched_at`.
"""

from __future__ import annotations

import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path

import redis

from aragog.crawl.pipeline.crawl_log import CrawlLogStream, row_time_ms, schema, to_arrow_table
from aragog.crawl.pipeline.crawl_log_files import LogFiles
from aragog.crawl.shared_redis.leases import HELD, Leases
from aragog.runtime.extras import require
from pinlater.redis.errors import redis_errors

PAGES_PER_ROW_GROUP = 10
"""How many chunks of `ROWS_PER_PAGE` rows form a row group. Readers load whole row groups."""

# Redis syncs its append-only file every second, so a killed server may lose the removal of rows. In
# that case all rows of the file must come back, not just some.
SETTLE_MS = 5_000
LEASE_S = 150.0
"""Longer than an upload to a hanging server takes. If a writer is killed, rows wait this long."""
_LEASE_NAME = "writer"


def writer_lease(client: redis.Redis, *, prefix: str) -> Leases:
    """Return the lease for writing. Only one process can hold it."""
    return Leases(client, f"{prefix}crawl_log.writer", LEASE_S)


@dataclass(frozen=True, slots=True)
class CrawlLogWriter:
    """
    Writes the files of past spans.

    Args:
        span_s: the time span of one file.
        lease: keeps other processes from writing the same files. If None, they may write them too.
    """

    stream: CrawlLogStream
    files: LogFiles
    span_s: int
    lease: Leases | None = None

    def write_due(self) -> list[str]:
        """
        Write the spans that are due, oldest first. Returns the file names.

        Does nothing while another process is writing. After an error, call it again.

        Raises:
            BrokerUnavailable: Redis did not respond.
            ContentUnavailable: a file could not be stored.
            ConfigError: pyarrow is not installed.
        """
        if self.lease is None:
            return self._write_spans()
        with redis_errors("crawl log"):
            (fence,) = self.lease.acquire([_LEASE_NAME])
        if fence <= HELD:
            return []
        try:
            return self._write_spans()
        finally:
            with redis_errors("crawl log"):
                self.lease.release([_LEASE_NAME])

    def _write_spans(self) -> list[str]:
        names = []
        while (first_id := self.stream.oldest_row_id()) is not None:
            if self.lease is not None:
                with redis_errors("crawl log"):
                    self.lease.renew([_LEASE_NAME], LEASE_S)
            start_ms = row_time_ms(first_id) // self._span_ms * self._span_ms
            end_ms = start_ms + self._span_ms
            if self.stream.now_ms() < end_ms + SETTLE_MS:
                break
            name = file_name(start_ms, self.span_s)
            if self._write(name, first_id, end_ms):
                names.append(name)
        return names

    @property
    def _span_ms(self) -> int:
        return self.span_s * 1000

    def _write(self, name: str, first_id: bytes, end_ms: int) -> bool:
        with tempfile.TemporaryDirectory(prefix="aragog-crawl-log-") as folder:
            path = Path(folder) / "crawl.parquet"
            # Use a short-lived thread, because a thread keeps 10 MB after writing.
            with ThreadPoolExecutor(1, "crawl-log") as thread:
                thread.submit(self._build_file, path, first_id, end_ms).result()
            # A span's rows are removed from the stream together. If the first row is still there,
            # the file contains all rows.
            if not self.stream.contains(first_id):
                return False
            self.files.put(name, path)
        self.stream.remove_before(end_ms)
        return True

    def _build_file(self, path: Path, first_id: bytes, end_ms: int) -> None:
        require("parquet", "the crawl log")
        import pyarrow as pa  # noqa: PLC0415 - an extra, and 0.2 s
        from pyarrow import parquet  # noqa: PLC0415

        with parquet.ParquetWriter(path, schema(pa), compression="zstd") as file:
            pages = (to_arrow_table(rows, pa) for rows in self.stream.read_pages(first_id, end_ms))
            while chunk := list(islice(pages, PAGES_PER_ROW_GROUP)):
                file.write_table(pa.concat_tables(chunk).combine_chunks())


def file_name(start_ms: int, span_s: int) -> str:
    """Return the file name for a span."""
    start = datetime.fromtimestamp(start_ms / 1000, tz=UTC)
    return f"dt={start:%Y-%m-%d}/crawl-{start:%Y%m%dT%H%M%SZ}-{span_s}s.parquet"
