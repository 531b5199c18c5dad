"""The rows of the crawl log and their Parquet schema. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from aragog.pipeline.messages import UrlJob
from aragog.urlstore.records import PageWrite

COLUMNS = {
    "logged_at": "timestamp",
    "fetched_at": "timestamp",
    "url": "string",
    "final_url": "string",
    "canonical_url": "string",
    "outcome": "string",
    "status": "int32",
    "reason": "string",
    "page_type": "string",
    "content_type": "string",
    "bytes": "int64",
    "stored": "bool",
    "latency_ms": "float",
    "redirects": "int32",
    "attempts": "int32",
    "address": "string",
    "rendering": "string",
    "depth": "int32",
    "refresh": "bool",
    "request_id": "string",
}
"""Column to type. `fetched_at` has the worker's clock, `logged_at` that of Redis; both ms, UTC."""
_FACTS = (
    "outcome", "status", "reason", "page_type", "content_type", "bytes", "latency_ms", "redirects",
    "attempts", "address", "rendering",
)  # fmt: skip


def rows_of(writes: Sequence[PageWrite], jobs: Sequence[UrlJob]) -> list[bytes]:
    """A row for each fetch of a batch that was stored, as JSON, without `logged_at`."""
    by_url = {job.url: job for job in jobs}
    return [_row(write, by_url[write.url]) for write in writes if write.url in by_url]


def _row(write: PageWrite, job: UrlJob) -> bytes:
    facts = {name: write.facts.get(name) for name in _FACTS}
    return orjson.dumps(
        facts
        | {
            "url": write.url,
            "final_url": write.final_url,
            "canonical_url": write.canonical_url,
            "fetched_at": write.fetched_at_ms,
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
