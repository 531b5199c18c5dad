"""The rows of the crawl log and their Parquet schema. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from aragog.fetcher.outcome import SINGLE_VALUES, FetchRecord
from aragog.pipeline.messages import UrlJob
from aragog.urlstore.records import PageWrite

_OTHER_NAMES = {"fetched_at_ms": "fetched_at", "total_ms": "latency_ms", "body_bytes": "bytes"}
_SMALL = ("status", "attempts")
_TYPES = {str: "string", int: "int64", float: "float", bool: "bool"}


def _columns_of_the_fetch() -> dict[str, str]:
    """A column for each single value of the fetch record."""
    columns = {
        _OTHER_NAMES.get(name, name): "int32" if name in _SMALL else _TYPES[value.type]
        for name, value in SINGLE_VALUES.items()
    }
    return columns | {"fetched_at": "timestamp"}


COLUMNS = {
    "logged_at": "timestamp",
    **_columns_of_the_fetch(),
    "redirects": "int32",
    "canonical_url": "string",
    "page_type": "string",
    "stored": "bool",
    "depth": "int32",
    "refresh": "bool",
    "request_id": "string",
}
"""Column to type. `fetched_at` has the worker's clock, `logged_at` that of Redis; both ms, UTC."""


def rows_of(writes: Sequence[PageWrite], jobs: Sequence[UrlJob]) -> list[bytes]:
    """A row for each fetch of a batch that was stored, as JSON, without `logged_at`."""
    by_url = {job.url: job for job in jobs}
    return [
        _row(write, write.report, by_url[write.url])
        for write in writes
        if write.report is not None and write.url in by_url
    ]


def _row(write: PageWrite, fetch: FetchRecord, job: UrlJob) -> bytes:
    fetched = {_OTHER_NAMES.get(name, name): getattr(fetch, name) for name in SINGLE_VALUES}
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
        }
    )


def table_of(rows: Sequence[tuple[int, bytes]], arrow: Any) -> Any:
    """The pyarrow table of (logged at, row as JSON) each."""
    read = [{**orjson.loads(row), "logged_at": at_ms} for at_ms, row in rows]
    return arrow.Table.from_pylist(read, schema=schema(arrow))


def schema(arrow: Any) -> Any:
    """The pyarrow schema of `COLUMNS`."""
    types: Mapping[str, Any] = {
        "timestamp": arrow.timestamp("ms", tz="UTC"),
        "string": arrow.string(),
        "int32": arrow.int32(),
        "int64": arrow.int64(),
        "float": arrow.float32(),
        "bool": arrow.bool_(),
    }
    return arrow.schema([(name, types[kind]) for name, kind in COLUMNS.items()])
