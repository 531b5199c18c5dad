"""Read records for responses, many at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from aragog.api.operations.batch_urls import check_present, normalize_urls, replace_taken_down
from aragog.api.operations.large_reads import ReadTooLarge, TooManyReads
from aragog.api.operations.store_reads import ReadStore
from aragog.api.record_json import FROM_STANDBY, record_json, values_json
from aragog.errors import TRANSIENT
from aragog.urlstore.records import FieldValues, Record
from aragog.urlstore.store import UrlStore
from zengraph.records import counted_result


class RecordJson(NamedTuple):
    """A record as JSON (`aragog.api.record_json`)."""

    data: bytes
    version: str


RecordResult = RecordJson | Exception | None
"""A record, None if nothing is stored, or an exception that only affects this URL."""


def read_records(
    store: UrlStore, urls: Sequence[str], fields: tuple[str, ...] | None
) -> list[RecordResult]:
    """
    Read the records of URLs in any spelling, in order.

    Raises:
        TransientError: the store does not respond.
    """
    if len(urls) == 1 and fields is None:
        return [_read_one(store, urls[0], fields)]
    valid, errors = normalize_urls(urls)
    try:
        result = _read_together(store, valid, fields)
    except TRANSIENT:
        raise
    except Exception:  # noqa: BLE001 - one of the URLs failed: read them separately
        result = [_read_one(store, url, fields) for url in valid]
    for position, error in errors.items():
        result.insert(position, error)
    return result


def read_hedged(
    read: ReadStore, urls: Sequence[str], fields: tuple[str, ...] | None
) -> list[RecordResult]:
    """
    Like `read_records`, from a store or its standby. Marks records from the standby.

    Raises:
        ReadTooLarge: the records are too large in total. Never raised for one record.
    """
    try:
        results, standby = read(lambda store: read_records(store, urls, fields))
    except TRANSIENT as error:
        if len(urls) == 1:
            return [error]
        if isinstance(error, ReadTooLarge):
            raise
        if isinstance(error, TooManyReads):
            return [error] * len(urls)
        # Perhaps only one URL is affected, because the files of an SQLite store fail separately.
        return [record for url in urls for record in read_hedged(read, [url], fields)]
    return [_mark_from_standby(result) for result in results] if standby else results


def _mark_from_standby(result: RecordResult) -> RecordResult:
    if not isinstance(result, RecordJson):
        return result
    return RecordJson(result.data[:-1] + FROM_STANDBY, result.version)


def _read_together(
    store: UrlStore, urls: Sequence[str], fields: tuple[str, ...] | None
) -> list[RecordResult]:
    results: list[RecordResult]
    if fields is None:
        results = [_full_record(store, record) for record in store.get_many(urls)]
    else:
        results = [
            _record_json(store, values, fields)
            for values in store.pages.values(urls, fields, facts=True)
        ]
    return list(replace_taken_down(store, urls, results)) if None in results else results


def _read_one(store: UrlStore, url: str, fields: tuple[str, ...] | None) -> RecordResult:
    try:
        return _full_record(store, check_present(store, url, store.get(url, fields)))
    except TRANSIENT:
        raise
    except Exception as error:  # noqa: BLE001 - the error is the result of this URL only
        return error


def _full_record(store: UrlStore, record: Record | None) -> RecordResult:
    if record is None:
        return None
    data = orjson.dumps(record_json(record, store.formats))
    return RecordJson(counted_result(data), record.version)


def _record_json(
    store: UrlStore, values: FieldValues | None, fields: tuple[str, ...]
) -> RecordResult:
    if values is None:
        return None
    data = orjson.dumps(values_json(values, fields, store.formats))
    return RecordJson(counted_result(data), values.version.decode())
