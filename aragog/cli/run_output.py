"""
The records that `aragog run --output` writes: one a page, with chosen fields and plain values.

A name without a prefix stands for the field of a rule (`site.price`), of an extractor
(`books.price`) or of every page (`page.title`), the first that a page has. JSON has numbers as
numbers with the digits that are stored; a Parquet column has the narrowest type that holds all its
values, and text in JSON where they are of several kinds.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import orjson

from aragog.cli.arguments import absent_fields
from aragog.errors import BadInput, ConfigError
from aragog.extras import require
from aragog.settings import Settings
from aragog.settings.extractor_names import SITE, prefix_of
from aragog.transfer.json_lines import open_to_write
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

READ_AT_ONCE = 500
_INT64 = 2**63


class RunOutput:
    """
    The file of one run.

    Args:
        file: replaced when the records are complete.
        fields: names of fields, in the order of the columns; None: those of the rules and
            extractors of `settings`, else all.
        settings: of the system that fetches the pages.

    Raises:
        BadInput: the file's name has no known ending.
        ConfigError: its folder cannot be written, or pyarrow is missing.
    """

    def __init__(self, file: Path, fields: Sequence[str] | None, settings: Settings) -> None:
        self._file = file
        self._parquet = file.suffix == ".parquet"
        if not self._parquet and ".jsonl" not in file.suffixes:
            raise BadInput(f"{file}: name it .jsonl (.gz, .zst) or .parquet")
        if self._parquet:
            require("parquet", "a Parquet file")
        if not os.access(file.absolute().parent, os.W_OK):
            raise ConfigError(f"{file}: its folder does not exist or cannot be written")
        extractors = map(prefix_of, settings.pipeline.extractors)
        rules = (SITE,) if settings.extract else ()
        self._prefixes = (*rules, *extractors)
        self._names = tuple(fields) if fields is not None else None
        self._urls: dict[str, None] = {}
        self._given: set[str] = set()

    def add(self, url: str) -> None:
        """Add the page of a canonical URL; a page that is there already stays once."""
        self._urls[url] = None

    def write(self, store: UrlStore) -> str:
        """Write the records of the pages as they are stored now; returns what was done."""
        part = self._file.with_name(f".{os.getpid()}-{self._file.name}")
        try:
            count = self._parquet_to(store, part) if self._parquet else self._json_to(store, part)
            part.replace(self._file)
        except OSError as error:
            raise ConfigError(f"{self._file}: cannot be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)
        absent = absent_fields(self._names, self._given) if count else ""
        return f"{count:,} records in {self._file}{absent}"

    def _rows(self, store: UrlStore) -> Iterator[dict[str, Any]]:
        urls = iter(self._urls)
        while some := list(islice(urls, READ_AT_ONCE)):
            for record in store.get_many(some):
                if record is not None:
                    yield self._row(store, record)

    def _row(self, store: UrlStore, record: Record) -> dict[str, Any]:
        own = {"url": record.canonical_url, "fetched_at_ms": record.facts.get("fetched_at_ms")}
        if self._names is not None:
            row = {name: own.get(name) or self._value(store, record, name) for name in self._names}
            self._given.update(name for name, value in row.items() if value is not None)
            return row
        row = {"url": record.canonical_url}
        for name, value in sorted(record.fields.items()):
            prefix, _, short = name.partition(".")
            if not self._prefixes:
                row[name] = store.formats.decode(name, value)
            elif prefix in self._prefixes:
                row[short if short not in row else name] = store.formats.decode(name, value)
        return row

    def _value(self, store: UrlStore, record: Record, name: str) -> Any:
        for full in (name, *(f"{prefix}.{name}" for prefix in (*self._prefixes, "page"))):
            if full in record.fields:
                return store.formats.decode(full, record.fields[full])
        return None

    def _json_to(self, store: UrlStore, part: Path) -> int:
        count = 0
        with closing(open_to_write(part)) as sink:
            for count, row in enumerate(self._rows(store), 1):  # noqa: B007 - how many there were
                sink.write(orjson.dumps(row, default=_exact, option=orjson.OPT_APPEND_NEWLINE))
        return count

    def _parquet_to(self, store: UrlStore, part: Path) -> int:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and 0.2 s
        import pyarrow.parquet  # noqa: PLC0415

        columns = _columns(self._rows(store), self._names or ("url",))
        schema = pa.schema([(name, _type(pa, kinds)) for name, kinds in columns.items()])
        count, rows = 0, self._rows(store)
        with pa.parquet.ParquetWriter(part, schema, compression="zstd") as writer:
            while some := list(islice(rows, READ_AT_ONCE)):
                cells = {
                    field.name: pa.array(
                        [_cell(row.get(field.name), field.type) for row in some], field.type
                    )
                    for field in schema
                }
                writer.write_table(pa.table(cells, schema=schema))
                count += len(some)
        return count


def _exact(value: Any) -> Any:
    """A decimal as a JSON number with its digits; bytes that fit no format as text."""
    if isinstance(value, Decimal) and value.is_finite():
        return orjson.Fragment(f"{value:f}".encode())
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


Kinds = set[str]
"""What kinds of values a column has."""


def _columns(rows: Iterable[dict[str, Any]], names: Sequence[str]) -> dict[str, Kinds]:
    columns: dict[str, Kinds] = {name: set() for name in names}
    for row in rows:
        for name, value in row.items():
            if value is not None:
                columns.setdefault(name, set()).add(_kind(value))
    return columns


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int" if -_INT64 <= value < _INT64 else "json"
        case float() | Decimal():
            return "float"
        case str():
            return "str"
        case list() if all(isinstance(item, str) for item in value):
            return "texts"
    return "json"


def _type(arrow: Any, kinds: Kinds) -> Any:
    types = {"bool": arrow.bool_(), "int": arrow.int64(), "texts": arrow.list_(arrow.string())}
    if kinds <= {"int", "float"} and "float" in kinds:
        return arrow.float64()
    return types.get(next(iter(kinds)), arrow.string()) if len(kinds) == 1 else arrow.string()


def _cell(value: Any, kind: Any) -> Any:
    """A value as its column has it."""
    if value is None:
        return None
    if str(kind) == "string" and not isinstance(value, str):
        return orjson.dumps(value, default=_exact).decode()
    return float(value) if str(kind) == "double" else value
