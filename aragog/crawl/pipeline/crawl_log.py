"""
The crawl log: one row per fetch, in dated Parquet files in a folder or S3.

Until rows are in a file, a Redis stream keeps them (about 600 bytes each). The stream's IDs never
decrease, even if the server's clock goes back. So once a time span has passed, its rows are final.

The writer creates one file per span: `dt=2026-01-31/crawl-20260131T080500Z-300s`. As in Secor, a
file's name and rows depend only on its span. Rows are removed from Redis once the file is durable,
so if a writer is killed before that, the next one writes the same file again. A lease keeps two
writers from doing the same work. Each row is in exactly one file. If a batch ran twice, its fetches
have two rows with the same `url` and `fetched_at`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, cast

import orjson
import redis

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.shared_redis.leases import HELD, Leases
from aragog.errors import ContentUnavailable
from aragog.fetch_record.outcome import SCALAR_FIELDS, FetchRecord
from aragog.runtime.extras import require
from aragog.settings import ContentSettings, CrawlLogSettings
from aragog.urlstore.records import PageWrite, Written
from pinlater.redis.errors import redis_errors
from pinlater.redis.scripts import load_script

_COLUMN_NAMES = {"fetched_at_ms": "fetched_at", "total_ms": "latency_ms", "body_bytes": "bytes"}
_INT32_NAMES = ("status", "attempts")
_TYPES = {str: "string", int: "int64", float: "float", bool: "bool"}


def _fetch_columns() -> dict[str, str]:
    columns = {
        _COLUMN_NAMES.get(name, name): "int32" if name in _INT32_NAMES else _TYPES[value.type]
        for name, value in SCALAR_FIELDS.items()
    }
    return columns | {"fetched_at": "timestamp"}


COLUMNS = {
    "logged_at": "timestamp",
    **_fetch_columns(),
    "redirects": "int32",
    "canonical_url": "string",
    "page_type": "string",
    "stored": "bool",
    "depth": "int32",
    "refresh": "bool",
    "request_id": "string",
    "same_as": "string",
}
"""Types by column. `fetched_at` is by the worker's clock and `logged_at` by the Redis server's,
both in ms, UTC. If the body was not stored again, `same_as` is the URL of the page that already has
it."""


def rows_of(
    writes: Sequence[PageWrite], jobs: Sequence[UrlJob], done: Mapping[str, Written]
) -> list[bytes]:
    """
    Return one row for each fetch of a stored batch, as JSON without `logged_at`.

    `done` contains the results of the writes, by URL.
    """
    by_url = {job.url: job for job in jobs}
    return [
        _row(write, write.confirmation or write.report, by_url[write.url], done.get(write.url))
        for write in writes
        if write.report is not None and write.url in by_url
    ]


def _row(write: PageWrite, fetch: FetchRecord, job: UrlJob, done: Written | None) -> bytes:
    fetched = {_COLUMN_NAMES.get(name, name): getattr(fetch, name) for name in SCALAR_FIELDS}
    return orjson.dumps(
        fetched
        | {
            "redirects": len(fetch.hops),
            "canonical_url": write.canonical_url,
            "page_type": write.facts.get("page_type"),
            "stored": write.content is not None,
            "depth": job.depth,
            "refresh": job.refresh,
            "request_id": job.request_id,
            "same_as": done and done.same_as,
        }
    )


def table_of(rows: Sequence[tuple[int, bytes]], arrow: Any) -> Any:
    """
    Return a pyarrow table of rows, given as pairs: the time when the row was logged, and its JSON.

    Arrow parses the JSON: `Table.from_pylist` would import pandas (40 MB), and each writing thread
    would keep 15 MB.
    """
    from pyarrow import json  # noqa: PLC0415 - an extra

    text = b"\n".join(b'%s,"logged_at":%d}' % (row[:-1], row_time_ms) for row_time_ms, row in rows)
    types = schema(arrow)
    numbers = arrow.schema(
        [(f.name, arrow.int64() if arrow.types.is_timestamp(f.type) else f.type) for f in types]
    )
    parsed = json.read_json(
        arrow.BufferReader(text),
        json.ReadOptions(use_threads=False, block_size=len(text) + 1),
        json.ParseOptions(explicit_schema=numbers, unexpected_field_behavior="ignore"),
    )
    return parsed.cast(types)


def schema(arrow: Any) -> Any:
    """Return the pyarrow schema of `COLUMNS`."""
    types: Mapping[str, Any] = {
        "timestamp": arrow.timestamp("ms", tz="UTC"),
        "string": arrow.string(),
        "int32": arrow.int32(),
        "int64": arrow.int64(),
        "float": arrow.float32(),
        "bool": arrow.bool_(),
    }
    return arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])


PAGE_ROWS = 500
"""Rows to read per round trip. With 5,000, each reading thread would keep 13 MB."""
GROUP_PAGES = 10
"""Pages of rows per row group. Readers of the file load whole row groups."""


class CrawlLogStream:
    """
    The rows that are not in a file yet. Every method raises `BrokerUnavailable` if Redis does not
    respond.

    Args:
        client: a client of `redis.url`.
        prefix: the start of every key.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}crawl_log"

    def add(self, rows: Sequence[bytes]) -> None:
        """Takes one round trip. Works even if the server's memory is full."""
        if rows:
            with redis_errors("crawl log"):
                load_script("aragog.crawl.pipeline", "crawl_log_add").run(
                    self._redis, crawl_log=self._key, rows=rows
                )

    def now_ms(self) -> int:
        """Return the time by the clock that generates the IDs."""
        with redis_errors("crawl log"):
            seconds, micros = self._redis.time()
        return seconds * 1000 + micros // 1000

    def first(self) -> bytes | None:
        """Return the oldest row's ID, or None if there are no rows."""
        with redis_errors("crawl log"):
            entries = cast("list[Any]", self._redis.xrange(self._key, count=1))
        return entries[0][0] if entries else None

    def has(self, row_id: bytes) -> bool:
        with redis_errors("crawl log"):
            return bool(self._redis.xrange(self._key, row_id, row_id))

    def pages(self, from_id: bytes, until_ms: int) -> Iterator[list[tuple[int, bytes]]]:
        """Yield pages of (time in ms, row) from an ID up to a time (exclusive), in order."""
        start = from_id.decode()
        while True:
            with redis_errors("crawl log"):
                entries = cast(
                    "list[Any]",
                    self._redis.xrange(self._key, start, str(until_ms - 1), count=PAGE_ROWS),
                )
            if not entries:
                return
            yield [(row_time_ms(row_id), row[b"r"]) for row_id, row in entries]
            start = f"({entries[-1][0].decode()}"

    def forget(self, until_ms: int) -> None:
        """Remove all rows before a time, in one command. Idempotent."""
        with redis_errors("crawl log"):
            self._redis.xtrim(self._key, minid=f"{until_ms}-0", approximate=False)

    def waiting(self) -> int:
        """Return how many rows are not in a file yet."""
        with redis_errors("crawl log"):
            return self._redis.xlen(self._key)


def row_time_ms(row_id: bytes) -> int:
    """Return when the row was logged, in ms since the epoch."""
    return int(row_id.partition(b"-")[0])


class LogFiles(Protocol):
    """Storage for finished files."""

    def put(self, name: str, source: Path) -> None:
        """
        Store a finished local file durably, replacing any file of that name.

        Raises:
            ContentUnavailable: it was not stored. An old file of that name remains.
        """

    def check(self) -> None:
        """Check access by writing and removing a small file. Raises the same errors as `put`."""


class FolderFiles:
    """Files in a folder. Creates subfolders."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def put(self, name: str, source: Path) -> None:
        target = self.folder / name
        part = target.with_name(f".{target.name}.{os.getpid()}")  # Spark ignores such names
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
            with source.open("rb") as data, part.open("wb") as file:
                shutil.copyfileobj(data, file)
                file.flush()
                os.fsync(file.fileno())
            part.replace(target)
            _sync(target.parent)
            for leftover in target.parent.glob(f".{target.name}.*"):  # left by killed writers
                leftover.unlink(missing_ok=True)
        except OSError as error:
            part.unlink(missing_ok=True)
            raise ContentUnavailable(str(self.folder), error.strerror or str(error)) from error

    def check(self) -> None:
        probe = self.folder / ".aragog-check"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            probe.write_bytes(b"")
            probe.unlink()
        except OSError as error:
            raise ContentUnavailable(str(self.folder), error.strerror or str(error)) from error


def _sync(folder: Path) -> None:
    """Make renames in a folder durable (fsync(2))."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class S3Files:
    """
    Objects in a bucket, with the endpoint, region and time limits of `[content]`.

    Raises:
        ConfigError: boto3 is not installed, or the endpoint cannot be used.
    """

    def __init__(self, settings: CrawlLogSettings, content: ContentSettings) -> None:
        require("s3", 'crawl_log.engine = "s3"')
        from aragog.urlstore import s3_connection  # noqa: PLC0415 - boto3 takes 0.3 s to import

        self._bucket, self._prefix = settings.s3_bucket, settings.s3_prefix
        self._errors, self._delete = s3_connection.s3_errors, s3_connection.delete_object
        self._where = f"S3 bucket {self._bucket} at {content.s3_endpoint or 'AWS'}"
        self._client: Any = s3_connection.s3_client(content)

    def put(self, name: str, source: Path) -> None:
        with self._errors(self._where):
            self._client.upload_file(str(source), self._bucket, self._prefix + name)

    def check(self) -> None:
        key = f"{self._prefix}.aragog-check"
        with self._errors(self._where):
            self._client.put_object(Bucket=self._bucket, Key=key, Body=b"")
            self._delete(self._client, self._bucket, key)


def log_files(settings: CrawlLogSettings, content: ContentSettings, data_dir: Path) -> LogFiles:
    """
    Return the storage chosen in the settings.

    Raises:
        ConfigError: a required package is not installed.
    """
    require("parquet", f'crawl_log.engine = "{settings.engine}"')
    if settings.engine == "s3":
        return S3Files(settings, content)
    return FolderFiles(settings.folder or data_dir / "crawl-log")


# Redis syncs its append-only file every second, so a killed server may lose the removal of rows. In
# that case all rows of the file must come back, not just some.
SETTLE_MS = 5_000
LEASE_S = 150.0
"""Longer than an upload to a hanging server takes. After a writer was killed, rows wait this
long."""
_LEASE = "writer"


def writer_lease(client: redis.Redis, *, prefix: str) -> Leases:
    """Return the lease for writing. Only one process can hold it."""
    return Leases(client, f"{prefix}crawl_log.writer", LEASE_S)


@dataclass(frozen=True, slots=True)
class CrawlLogWriter:
    """
    Writes the files of past spans.

    Args:
        span_s: the time span of one file.
        lease: keeps other processes from writing the same files again. If None, nothing prevents
            that.
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
            return self._write_due()
        with redis_errors("crawl log"):
            (fence,) = self.lease.acquire([_LEASE])
        if fence <= HELD:
            return []
        try:
            return self._write_due()
        finally:
            with redis_errors("crawl log"):
                self.lease.release([_LEASE])

    def _write_due(self) -> list[str]:
        names = []
        while (first := self.stream.first()) is not None:
            if self.lease is not None:
                with redis_errors("crawl log"):
                    self.lease.renew([_LEASE], LEASE_S)
            start_ms = row_time_ms(first) // self._span_ms * self._span_ms
            end_ms = start_ms + self._span_ms
            if self.stream.now_ms() < end_ms + SETTLE_MS:
                break
            name = file_name(start_ms, self.span_s)
            if self._write(name, first, end_ms):
                names.append(name)
        return names

    @property
    def _span_ms(self) -> int:
        return self.span_s * 1000

    def _write(self, name: str, first: bytes, end_ms: int) -> bool:
        with tempfile.TemporaryDirectory(prefix="aragog-crawl-log-") as folder:
            path = Path(folder) / "crawl.parquet"
            # Use a short-lived thread, because a thread keeps 10 MB after writing.
            with ThreadPoolExecutor(1, "crawl-log") as thread:
                thread.submit(self._build_file, path, first, end_ms).result()
            # A span's rows are removed from the stream together. If the first row is still there,
            # the file contains all rows.
            if not self.stream.has(first):
                return False
            self.files.put(name, path)
        self.stream.forget(end_ms)
        return True

    def _build_file(self, path: Path, first: bytes, end_ms: int) -> None:
        require("parquet", "the crawl log")
        import pyarrow as pa  # noqa: PLC0415 - an extra, and 0.2 s
        from pyarrow import parquet  # noqa: PLC0415

        with parquet.ParquetWriter(path, schema(pa), compression="zstd") as file:
            pages = (table_of(rows, pa) for rows in self.stream.pages(first, end_ms))
            while chunk := list(islice(pages, GROUP_PAGES)):
                file.write_table(pa.concat_tables(chunk).combine_chunks())


def file_name(start_ms: int, span_s: int) -> str:
    """Return the file name for a span."""
    start = datetime.fromtimestamp(start_ms / 1000, tz=UTC)
    return f"dt={start:%Y-%m-%d}/crawl-{start:%Y%m%dT%H%M%SZ}-{span_s}s.parquet"
