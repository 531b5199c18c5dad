"""Read many records for one response, up to a maximum size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from aragog.api.operations.large_reads import ReadTooLarge, TooManyReads
from aragog.api.operations.store_reads import ReadStore
from aragog.api.server.http.record_reads import RecordJson, RecordResult, read_hedged
from aragog.api.server.memory import GrowingBytes
from aragog.errors import PERMANENT, InvalidUrl, SizeExceeded, TakenDown
from aragog.urlstore.records import is_allowed

MAX_BYTES = 33_554_432
"""Maximum size of the records in one response. The last part of a batch may exceed it."""
FIRST_PART_SIZE = 20
MAX_PART_SIZE = 500
SPLIT_COUNT = 4
"""If a batch is too large to read at once, it is split into this many parts."""
PART_BYTES = 4_194_304
"""Target size of later parts, estimated from the mean record size so far."""


def read_urls(
    read: ReadStore,
    urls: Sequence[str],
    fields: Sequence[str] | None,
    memory: GrowingBytes,
    purpose: str | None = None,
) -> list[dict[str, Any]]:
    """
    Read many records, in order.

    Each result has `status` 200 and `record`, or 400, 403, 404, 413 or 500 and `detail`. An invalid
    URL or damaged row does not affect the others. Records above `MAX_BYTES` in total, or above the
    limit of `memory`, get status 413, and the caller must request them again.

    Raises:
        Problem: 503, there is no memory for the first records.
        TransientError: the store does not respond.
    """
    items: list[dict[str, Any]] = []
    names = None if fields is None else tuple(fields)
    total_bytes, part_size = 0, FIRST_PART_SIZE
    while part := urls[len(items) : len(items) + part_size]:
        if total_bytes >= MAX_BYTES:
            return items + [_omitted_item(url) for url in urls[len(items) :]]
        try:
            results = read_hedged(read, part, names)
        except ReadTooLarge:
            part_size = max(1, len(part) // SPLIT_COUNT)
            continue
        if purpose is not None:
            results = [_filter_by_purpose(result, purpose) for result in results]
        if items and any(isinstance(result, TooManyReads) for result in results):
            return items + [_omitted_item(url) for url in urls[len(items) :]]
        part_bytes = sum(len(record.data) for record in results if isinstance(record, RecordJson))
        if not memory.take(part_bytes):
            if not items:
                raise memory.problem()
            return items + [_omitted_item(url) for url in urls[len(items) :]]
        total_bytes += part_bytes
        items += map(_to_item, part, results)
        part_size = max(1, min(MAX_PART_SIZE, PART_BYTES * len(items) // max(total_bytes, 1)))
    return items


def _filter_by_purpose(result: RecordResult, purpose: str) -> RecordResult:
    """Return the result, or None if the page's site does not allow this purpose."""
    if not isinstance(result, RecordJson):
        return result
    return result if is_allowed(orjson.loads(result.data)["facts"], purpose) else None


def _to_item(url: str, result: RecordResult) -> dict[str, Any]:
    match result:
        case None:
            return {"input": url, "status": 404, "detail": "there is no record of this URL"}
        case TakenDown():
            return {"input": url, "status": 403, "detail": str(result)}
        case InvalidUrl() | SizeExceeded():
            return {"input": url, "status": 400, "detail": str(result)}
        case _ if isinstance(result, PERMANENT):
            return {"input": url, "status": 500, "detail": str(result)}
        case RecordJson():
            return {"input": url, "status": 200, "record": orjson.Fragment(result.data)}
    raise result


def _omitted_item(url: str) -> dict[str, Any]:
    detail = "the response is full: request this URL again"
    return {"input": url, "status": 413, "detail": detail}
