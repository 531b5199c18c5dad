"""
Optimized versions of `get` and `get_many`, which encode stored values as Thrift records.

Calls that select fields, but no `facts` (data about the last fetch), share a read. This takes less
than half of the generic operation's CPU time (docs/adr/0109). Records are encoded with a template
(docs/adr/0126).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import orjson

from aragog.api.operations.batch_urls import check_present, normalize_urls, replace_taken_down
from aragog.api.operations.large_reads import MAX_BYTES, ReadTooLarge, TooManyReads
from aragog.api.operations.store_reads import ReadStore, unhedged
from aragog.api.operations.values import MAX_ITEMS, MAX_NAME_BYTES
from aragog.api.server.thrift import record_template
from aragog.api.server.thrift.contract import EncodedValue, idl
from aragog.api.server.thrift.errors import Missing
from aragog.errors import (
    BAD_INPUT,
    PERMANENT,
    BadInput,
    SizeExceeded,
    StoreDamaged,
    StoreUnavailable,
    TakenDown,
)
from aragog.pages.preferences import PURPOSES
from aragog.urlstore.records import FieldValues, Record, is_allowed
from aragog.urlstore.store import UrlStore
from urlspelling import normalize
from zengraph.records import counted_result

T = TypeVar("T")


def check_names(values: Sequence[str] | None) -> tuple[str, ...]:
    """Return distinct field names. Raises BadInput if there are too many or one is too long."""
    result = tuple(dict.fromkeys(values or ()))
    if len(result) > MAX_ITEMS or any(len(name) > MAX_NAME_BYTES for name in result):
        raise BadInput(
            f"fields: must be at most {MAX_ITEMS} names of at most {MAX_NAME_BYTES} bytes"
        )
    return result


def check_items(values: Sequence[T] | None, name: str) -> Sequence[T]:
    """Return a request's list. Raises BadInput if it is missing or too long."""
    if values is None:
        raise BadInput(f"{name}: is required")
    if len(values) > MAX_ITEMS:
        raise BadInput(f"{name}: must have at most {MAX_ITEMS} items, got {len(values)}")
    return values


def require_string(value: str | None, name: str) -> str:
    """Return a request's string. Raises BadInput if it is missing."""
    if value is None:
        raise BadInput(f"{name}: is required")
    return value


def check_purpose(value: str | None) -> str | None:
    """Return a request's purpose. Raises BadInput if it is unknown."""
    if value is not None and value not in PURPOSES:
        raise BadInput(f"purpose: must be one of {', '.join(PURPOSES)}")
    return value


class _ReadOptions(NamedTuple):
    fields: tuple[str, ...]
    """Empty for all fields."""
    facts: bool
    purpose: str | None


MAX_REPLY_BYTES = 15_000_000
"""
Maximum size of the records in one reply. Clients accept 16,384,000 bytes, including up to 1,000
LEFT_OUT results.
"""


def record_facts(record: Record) -> dict[str, Any]:
    """Return the members of a Record that callers only get with `facts`."""
    return {
        "facts": {name: orjson.dumps(value).decode() for name, value in record.facts.items()},
        "content_bytes": record.content_bytes,
        "content_hash": record.content_hash,
        "due_at_ms": record.due_at_ms,
    }


_BATCH_SIZE = 100
"""Number of URLs that are read together."""


class EncodedReads:
    """
    Handles the operations `get` and `get_many`, in threads.

    Args:
        store: the store to read.
        read: reads from the store or its standby. If None, `store` is read directly.
        get: the generic operation, for requests that need more than fields and facts.
    """

    def __init__(self, store: UrlStore, read: ReadStore | None, get: Callable[[Any], Any]) -> None:
        self._get = get
        self._store = store
        self._read = read or unhedged(store)

    def get(self, args: Any) -> Any:
        fields, url = check_names(args.fields), require_string(args.url, "url")
        options = args.options
        if options is not None and (options.extras or options.purpose is not None):
            return self._get(args)
        if not fields or (options is not None and options.facts):
            record, standby = self._read(lambda store: store.get(url, fields or None))
            if (record := check_present(self._store, url, record)) is None:
                raise Missing
            return _complete_reply(
                _encode_record(record, standby, facts=bool(options and options.facts))
            )
        urls = (normalize(url),)
        (values,), standby = self._read(lambda store: store.pages.values(urls, fields))
        if check_present(self._store, url, values) is None or values is None:
            raise Missing
        return _complete_reply(record_template.encode_get(values, fields, from_standby=standby))

    @staticmethod
    def can_batch_get(arguments: Mapping[str, Any]) -> bool:
        """
        Return True if `get` calls that only differ in the URL can share a read. To allow this, the
        arguments must select fields and request nothing else.
        """
        options = arguments.get("options")
        needs_generic_read = options is not None and (
            bool(options.facts or options.extras) or options.purpose is not None
        )
        return bool(arguments.get("fields")) and not needs_generic_read

    def get_batch(self, calls: Sequence[Any]) -> list[Any]:
        """Return values or exceptions for several `get` calls, with one read."""
        try:
            fields = check_names(calls[0].fields)
        except BAD_INPUT as error:
            return [error] * len(calls)
        urls, errors = normalize_urls([call.url for call in calls])
        results = self._encoded_values(urls, fields) if urls else []
        for position, invalid in errors.items():
            results.insert(position, invalid)
        return results

    def _encoded_values(self, urls: Sequence[str], fields: tuple[str, ...]) -> list[Any]:
        """Return the value of `get`, or an exception, for each normalized URL."""
        try:
            encoded = self._read(
                lambda store: [
                    None if values is None else _encode_reply(values, fields)
                    for values in store.pages.values(urls, fields)
                ]
            )[0]
            results = replace_taken_down(self._store, urls, encoded)
            return [Missing() if result is None else result for result in results]
        except TooManyReads as error:
            return [error] * len(urls)
        except Exception as error:  # noqa: BLE001 - it may be the result of only one call
            if len(urls) == 1 or _affects_all(error):
                return [error] * len(urls)
        return self._encode_values_separately(urls, fields)

    def _encode_values_separately(self, urls: Sequence[str], fields: tuple[str, ...]) -> list[Any]:
        """
        Like `_encoded_values`, with one read per URL. Once the total size is too large, the other
        URLs fail.
        """
        values: list[Any] = []
        size = 0
        for url in urls:
            [value] = (
                self._encoded_values([url], fields) if size <= MAX_BYTES else [_read_too_large()]
            )
            size += len(value) if isinstance(value, EncodedValue) else 0
            values.append(value)
        return values

    def getMany(self, args: Any) -> Any:  # noqa: N802 - its name in the contract
        urls, fields = check_items(args.urls, "urls"), check_names(args.fields)
        options = args.options or idl.BatchReadOptions()
        read_options = _ReadOptions(fields, bool(options.facts), check_purpose(options.purpose))
        results: list[bytes] = []
        remaining_bytes = MAX_REPLY_BYTES
        batch_size = _BATCH_SIZE
        while batch := urls[len(results) : len(results) + batch_size]:
            try:
                encoded = self._read_batch(batch, read_options)
            except ReadTooLarge:
                batch_size = max(1, len(batch) // 4)
                continue
            remaining_bytes -= sum(map(len, encoded))
            results += (
                encoded if remaining_bytes >= 0 else _without_excess(encoded, remaining_bytes)
            )
            if remaining_bytes < 0:
                break
        results += [_LEFT_OUT_RESULT] * (len(urls) - len(results))
        return record_template.encode_get_many(results, len(urls))

    def _read_batch(self, urls: Sequence[str], read_options: _ReadOptions) -> list[bytes]:
        valid, errors = normalize_urls(urls)
        try:
            results = self._encode_results(valid, read_options)
        except (*PERMANENT, SizeExceeded):
            results = [self._encode_single_result(url, read_options) for url in valid]
        for position, error in errors.items():
            results.insert(
                position, record_template.encode_missing(idl.ItemStatus.BAD_INPUT, str(error))
            )
        return results

    def _encode_results(self, urls: Sequence[str], read_options: _ReadOptions) -> list[bytes]:
        fields = read_options.fields
        if fields and not read_options.facts and read_options.purpose is None:
            values, standby = self._read(lambda store: store.pages.values(urls, fields))
            encoded = record_template.encode_results(
                values, fields, _UNKNOWN_RESULT, from_standby=standby
            )
            return encoded if None not in values else self._mark_takedowns(urls, values, encoded)
        rows, standby = self._read(lambda store: store.get_many(urls, fields or None))
        allowed = [
            row if row and is_allowed(row.facts, read_options.purpose) else None for row in rows
        ]
        encoded = [
            _UNKNOWN_RESULT
            if row is None
            else record_template.encode_result(
                _encode_record(row, standby, facts=read_options.facts)
            )
            for row in allowed
        ]
        return self._mark_takedowns(urls, allowed, encoded)

    def _mark_takedowns(
        self, urls: Sequence[str], results: Sequence[Any], encoded: list[bytes]
    ) -> list[bytes]:
        """Replace missing results with TAKEN_DOWN if the URL was taken down."""
        return [
            record_template.encode_missing(idl.ItemStatus.TAKEN_DOWN, str(result))
            if isinstance(result, TakenDown)
            else data
            for result, data in zip(
                replace_taken_down(self._store, urls, results), encoded, strict=True
            )
        ]

    def _encode_single_result(self, url: str, read_options: _ReadOptions) -> bytes:
        try:
            return self._encode_results([url], read_options)[0]
        except PERMANENT as error:
            return record_template.encode_missing(idl.ItemStatus.DAMAGED, str(error))
        except SizeExceeded as error:
            return record_template.encode_missing(idl.ItemStatus.BAD_INPUT, str(error))


_UNKNOWN_RESULT = record_template.encode_missing(
    idl.ItemStatus.NOT_FOUND, "there is no record of this URL"
)

_LEFT_OUT_RESULT = record_template.encode_missing(
    idl.ItemStatus.LEFT_OUT, "the reply is full: request this URL in another call, or fewer fields"
)


def _without_excess(results: list[bytes], excess: int) -> list[bytes]:
    """Remove at least `-excess` bytes of results from the end."""
    while results and excess < 0:
        excess += len(results.pop())
    return results


def _encode_reply(result: FieldValues, fields: tuple[str, ...]) -> Any:
    try:
        return counted_result(_complete_reply(record_template.encode_get(result, fields)))
    except BAD_INPUT as error:
        return error


def _affects_all(error: Exception) -> bool:
    """Return False if the error may only affect some URLs, for example because of damaged files."""
    return isinstance(error, StoreUnavailable) and not isinstance(error, StoreDamaged)


def _read_too_large() -> ReadTooLarge:
    return ReadTooLarge("read", f"more than {MAX_BYTES} bytes in one read; retry")


def _complete_reply(reply: EncodedValue) -> EncodedValue:
    """Return the reply to `get`. Raises BadInput if it is too large for clients."""
    if len(reply) > MAX_REPLY_BYTES:
        raise BadInput(f"fields: have more than {MAX_REPLY_BYTES} bytes in total; select fewer")
    return reply


def _encode_record(record: Record, standby: bool, *, facts: bool) -> EncodedValue:
    values = FieldValues(
        record.url, record.canonical_url, record.version.encode(), tuple(record.fields.values())
    )
    facts_record = idl.Record(**record_facts(record)) if facts else None
    return record_template.encode_get(
        values, tuple(record.fields), from_standby=standby, extra_members=facts_record
    )
