"""
Reads a record, or a fetch report (the `FetchRecord`), from a node's cells. No I/O.

A report is compressed, usually to 0.5 to 1 KB. Only the report that was stored with the content has
the response's headers. It is kept until the content is replaced, because exports need the headers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import orjson

from aragog.errors import CorruptRow
from aragog.fetch_record.outcome import FetchRecord
from aragog.urlstore import nodes
from aragog.urlstore.nodes import field_column, provenance_column, text
from aragog.urlstore.records import FieldInfo, FieldValues, Record
from aragog.urlstore.zstd import ZstdError, compress, decompress
from zengraph.records import Cell, Row

LEVEL = 3


def to_cell(report: FetchRecord) -> bytes:
    """Encode a report for a cell."""
    return compress(orjson.dumps(report.plain()), LEVEL)


def from_cell(cell: bytes, row: str) -> FetchRecord:
    """
    Decode a report. `row` is the node's key, for the error message.

    Raises:
        CorruptRow: the cell was not written by `to_cell`.
    """
    try:
        return FetchRecord.read(orjson.loads(decompress(cell)))
    except (ZstdError, orjson.JSONDecodeError, KeyError, TypeError, ValueError) as error:
        raise CorruptRow("n", row, f"fetch report: {error}") from error


REPORTS = (nodes.FETCH, nodes.FETCHED)
"""The columns with reports; the newer cell is the URL's report. If both have the same time, the
first one counts: it is from a 304 that changed headers of the response in the second one."""


def newest_report(row: Row) -> Cell | None:
    """Return the report of a node's last fetch, as stored, or None."""
    cells = (row[column] for column in REPORTS if column in row)
    return max(cells, key=lambda cell: cell.at_ms, default=None)


_WITHOUT_PAGE = frozenset(
    {nodes.OWN, nodes.SENTINEL, nodes.URL, nodes.CANONICAL, nodes.FACTS, nodes.VERSION, nodes.DUE}
)
"""The columns that are still shown when a page is hidden."""
BASE = (
    nodes.OWN,
    nodes.SENTINEL,
    nodes.URL,
    nodes.CANONICAL,
    nodes.PROVISIONAL,
    nodes.FACTS,
    nodes.VERSION,
    *nodes.POINTERS,
    nodes.CONTENT_HASH,
    nodes.CONTENT_LENGTH,
    nodes.DUE,
    nodes.REMOVED,
)
"""The columns for every read."""


def record_columns(fields: Sequence[str] | None, *, info: bool) -> tuple[bytes, ...] | None:
    """Return the columns to read for a record; None for all."""
    return None if fields is None else _columns(tuple(fields), info)


@lru_cache(maxsize=1024)
def _columns(fields: tuple[str, ...], info: bool) -> tuple[bytes, ...]:
    columns = [*BASE, *[b"m:" + field.encode() for field in fields]]
    if info:
        columns += [nodes.PROVENANCE, *map(provenance_column, fields)]
    return tuple(columns)


FACTS = (nodes.FACTS, nodes.CONTENT_HASH, nodes.CONTENT_LENGTH, nodes.DUE)
"""The columns of the facts, in the order of `FieldValues`."""
BEFORE_VALUES = 4
"""Number of `value_columns` before the fields: sentinel, URL, canonical URL, version."""


@lru_cache(maxsize=1024)
def value_columns(fields: tuple[str, ...], *, facts: bool = False) -> tuple[bytes, ...]:
    """Return the columns to read for `Pages.values`; with `facts`, those in `FACTS` come last."""
    first = (nodes.SENTINEL, nodes.URL, nodes.CANONICAL, nodes.VERSION)
    last = FACTS if facts else ()
    return (*first, *[b"m:" + field.encode() for field in fields], *last)


def to_field_values(record: Record, fields: tuple[str, ...]) -> FieldValues:
    """Convert a record to the values of its fields."""
    values = tuple(record.fields.get(field) for field in fields)
    return FieldValues(
        record.url,
        record.canonical_url,
        record.version.encode(),
        values,
        orjson.dumps(record.facts),
        None if record.content_hash is None else record.content_hash.encode(),
        None if record.content_bytes is None else b"%d" % record.content_bytes,
        None if record.due_at_ms is None else b"%d" % record.due_at_ms,
    )


_BASE_COUNT = len(BASE)


def plain_record(url: str, values: Sequence[bytes | None], fields: Sequence[str]) -> Record | None:
    """
    Return the record in a node, given the values of `record_columns`.

    Returns None for nodes that need `record_of`: aliases, pages that are hidden or not stored, and
    those where the times of cells decide something.
    """
    _, sentinel, stored, canonical, _, facts, version, key, pack, digest, length, due, _ = values[
        :_BASE_COUNT
    ]
    if (
        sentinel != nodes.PRESENT
        or stored != url.encode()
        or (canonical and canonical != stored)
        or (key and pack)
    ):
        return None
    pairs = zip(fields, values[_BASE_COUNT:], strict=True)
    location = pack or key
    return Record(
        url,
        url,
        {name: value for name, value in pairs if value is not None},
        {} if facts is None else orjson.loads(facts),
        "" if version is None else version.decode(),
        location.decode() if location else None,
        None if digest is None else digest.decode(),
        None if length is None else int(length),
        int(due) if due else None,
    )


def row_of(columns: Sequence[bytes], values: Sequence[bytes | None]) -> Row:
    """Return a row with these values, if there are any. The times of its cells are unknown (0)."""
    return {c: Cell(v, 0) for c, v in zip(columns, values, strict=False) if v is not None}


def has_two_pointers(values: Sequence[bytes | None]) -> bool:
    """Return True if the times of cells decide where the content is (`nodes.content_cell`)."""
    return all(values[BASE.index(column)] for column in nodes.POINTERS)


def record_of(
    url: str,
    canonical: str,
    row: Row,
    fields: Sequence[str] | None,
    *,
    info: bool,
    alias: Row | None = None,
    now_ms: Callable[[], int] | None = None,
) -> Record | None:
    """
    Return the record in a node, or None if the node has no data to show.

    If a clock is given and the page's `unavailable_after` has passed, the record only has facts, as
    if the page were deleted.
    """
    sentinel = row.get(nodes.SENTINEL)
    if sentinel is None:
        return None
    nodes.check_url(row, canonical)
    if sentinel.value != nodes.PRESENT and now_ms and int(sentinel.value) <= now_ms():
        row = {column: cell for column, cell in row.items() if column in _WITHOUT_PAGE}
        fields = ()
    if fields is None:
        values = {
            column[2:].decode(): cell.value
            for column, cell in row.items()
            if column.startswith(b"m:") and column != nodes.SENTINEL
        }
    else:
        values = {f: cell.value for f in fields if (cell := row.get(field_column(f)))}
    get = row.get
    version, location, digest = get(nodes.VERSION), nodes.content_cell(row), get(nodes.CONTENT_HASH)
    facts, length, due = get(nodes.FACTS), get(nodes.CONTENT_LENGTH), get(nodes.DUE)
    return Record(
        url,
        canonical,
        values,
        orjson.loads(facts[0]) if facts else {},
        version[0].decode() if version else "",
        location[1].value.decode() if location else None,
        digest[0].decode() if digest else None,
        int(length[0]) if length else None,
        int(due[0]) if due and due[0] else None,
        _info(row, values) if info else {},
        alias is not None and bool(text(alias, nodes.PROVISIONAL)) and nodes.OWN not in row,
    )


def _info(row: Row, value: dict[str, bytes]) -> dict[str, FieldInfo]:
    sources = nodes.facts_of(row, nodes.PROVENANCE)
    result = {}
    for name in value:
        cell, source_cell = row[field_column(name)], row.get(provenance_column(name))
        if source_cell is not None and source_cell.at_ms == cell.at_ms:
            result[name] = FieldInfo(cell.at_ms, source_cell.value.decode() or None)
        else:
            source = sources.get(name)
            result[name] = FieldInfo(cell.at_ms, None if source is None else str(source))
    return result
