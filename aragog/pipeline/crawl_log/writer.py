"""
Write the crawl log's files, one for each span of time: `dt=2026-01-31/crawl-20260131T080500Z-300s`.

As in Secor, the file comes before the note that it is written, and its name and its rows follow
from the span alone: the rows leave Redis once the file is durable. A writer that is killed before
that leads to the same file again. Two writers at once write the same file. A row is in exactly one
file, and a fetch whose batch ran twice has two rows, with the same `url` and `fetched_at`.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from aragog.extras import require
from aragog.pipeline.crawl_log.files import LogFiles
from aragog.pipeline.crawl_log.rows import schema, table_of
from aragog.pipeline.crawl_log.stream import CrawlLogStream, at_ms

# Redis syncs its append-only file every second. What is lost with a server that is killed must not
# be the removal of rows whose file is there, together with other rows of the same file.
SETTLED_MS = 5_000


@dataclass(frozen=True, slots=True)
class CrawlLogWriter:
    """
    Writes the files of all spans that are over.

    Args:
        stream: the rows.
        files: where the files go.
        span_s: the time that one file covers.
    """

    stream: CrawlLogStream
    files: LogFiles
    span_s: int

    def write_due(self) -> list[str]:
        """
        Write the spans that are due, the oldest first, and return the names of the files.

        Raises:
            BrokerUnavailable: Redis does not answer; call again.
            ContentUnavailable: a file could not be put into place; call again.
            ConfigError: pyarrow is not installed.
        """
        names = []
        while (first := self.stream.first()) is not None:
            start_ms = at_ms(first) // self._span_ms * self._span_ms
            end_ms = start_ms + self._span_ms
            if self.stream.now_ms() < end_ms + SETTLED_MS:
                break
            name = file_name(start_ms, self.span_s)
            if self._write(name, first, end_ms):
                names.append(name)
        return names

    @property
    def _span_ms(self) -> int:
        return self.span_s * 1000

    def _write(self, name: str, first: bytes, end_ms: int) -> bool:
        """Write one span; False if another writer finished it meanwhile."""
        with tempfile.TemporaryDirectory(prefix="aragog-crawl-log-") as folder:
            path = Path(folder) / "crawl.parquet"
            self._make(path, first, end_ms)
            # All rows of a span leave the stream at once: while its first one is there, none of
            # them was missing.
            if not self.stream.has(first):
                return False
            self.files.put(name, path)
        self.stream.forget(end_ms)
        return True

    def _make(self, path: Path, first: bytes, end_ms: int) -> None:
        require("parquet", "the crawl log")
        import pyarrow as pa  # noqa: PLC0415 - an extra, and 0.2 s
        from pyarrow import parquet  # noqa: PLC0415

        with parquet.ParquetWriter(path, schema(pa), compression="zstd") as file:
            for rows in self.stream.pages(first, end_ms):
                file.write_table(table_of(rows, pa))


def file_name(start_ms: int, span_s: int) -> str:
    """The name of the file of a span. Another length of spans gives another name. Pure."""
    start = datetime.fromtimestamp(start_ms / 1000, tz=UTC)
    return f"dt={start:%Y-%m-%d}/crawl-{start:%Y%m%dT%H%M%SZ}-{span_s}s.parquet"
