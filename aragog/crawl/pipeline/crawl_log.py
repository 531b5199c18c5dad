"""
The crawl log: one row per fetch, in dated Parquet files in a folder or S3.

`crawl_log_writer` writes the files, and `crawl_log_files` stores them.

Until rows are in a file, a Redis stream keeps them (about 600 bytes each). The stream's IDs never
decrease, even if the server's clock goes back. So once a time span has passed, its rows are final.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

import orjson
import redis

from aragog.crawl.pipeline.messages import UrlJob
from aragog.fetch_record.outcome import SCALAR_FIELDS, FetchRecord
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
"""Types by column. `fetched_at` and `logged_at` are by the Redis server's clock, in ms, UTC. If the
body was not stored again, `same_as` is the URL of the page that already has it."""


def make_rows(
    writes: Sequence[PageWrite], jobs: Sequence[UrlJob], results: Mapping[str, Written]
) -> list[bytes]:
    """
    Return one row for each fetch of a stored batch, as JSON without `logged_at`.

    `results` contains the results of the writes, by URL.
    """
    by_url = {job.url: job for job in jobs}
    return [
        _row(write, write.confirmation or write.report, by_url[write.url], results.get(write.url))
        for write in writes
        if write.report is not None and write.url in by_url
    ]


def _row(write: PageWrite, fetch: FetchRecord, job: UrlJob, results: Written | None) -> bytes:
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
            "same_as": results and results.same_as,
        }
    )


def to_arrow_table(rows: Sequence[tuple[int, bytes]], arrow: Any) -> Any:
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
    return arrow.schema([(name, types[column_type]) for name, column_type in COLUMNS.items()])


ROWS_PER_PAGE = 500
"""Rows to read in one round trip. With 5,000, each reading thread would keep 13 MB."""


class CrawlLogStream:
    """
    The rows that are not in a file yet.

    Every method raises `BrokerUnavailable` if Redis does not respond.

    Args:
        client: a client of `redis.url`.
        prefix: the start of every key.
    """

    def __init__(self, client: redis.Redis, *, prefix: str) -> None:
        self._redis = client
        self._key = f"{prefix}crawl_log"

    def add(self, rows: Sequence[bytes]) -> None:
        """Add rows. Takes one round trip. Works even if the server's memory is full."""
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

    def oldest_row_id(self) -> bytes | None:
        """Return the oldest row's ID, or None if there are no rows."""
        with redis_errors("crawl log"):
            entries = cast("list[Any]", self._redis.xrange(self._key, count=1))
        return entries[0][0] if entries else None

    def contains(self, row_id: bytes) -> bool:
        with redis_errors("crawl log"):
            return bool(self._redis.xrange(self._key, row_id, row_id))

    def read_pages(self, from_id: bytes, until_ms: int) -> Iterator[list[tuple[int, bytes]]]:
        """Yield rows from an ID up to a time (exclusive), in chunks of pairs (time in ms, row)."""
        start = from_id.decode()
        while True:
            with redis_errors("crawl log"):
                entries = cast(
                    "list[Any]",
                    self._redis.xrange(self._key, start, str(until_ms - 1), count=ROWS_PER_PAGE),
                )
            if not entries:
                return
            yield [(row_time_ms(row_id), row[b"r"]) for row_id, row in entries]
            start = f"({entries[-1][0].decode()}"

    def remove_before(self, until_ms: int) -> None:
        """Remove all rows before a time, in one command. Idempotent."""
        with redis_errors("crawl log"):
            self._redis.xtrim(self._key, minid=f"{until_ms}-0", approximate=False)

    def count_rows(self) -> int:
        """Return how many rows are not in a file yet."""
        with redis_errors("crawl log"):
            return self._redis.xlen(self._key)


def row_time_ms(row_id: bytes) -> int:
    """Return when the row was logged, in ms since the epoch."""
    return int(row_id.partition(b"-")[0])
