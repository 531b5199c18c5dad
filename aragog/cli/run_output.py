"""
The records that `aragog run --output` writes: one a page, with chosen fields and plain values.

A name without a prefix stands for the field of a rule (`site.price`), of an extractor
(`books.price`) or of every page (`page.title`), the first that a page has. JSON has numbers as
numbers with the digits that are stored; a Parquet column has the narrowest type that holds all its
values, and text in JSON where they are of several kinds.

A file that exists keeps the records of its pages that are stored: those that the run did not reach
are written again as they are stored now.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import orjson
import zstandard

from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.text_processes import PageTextUnavailable
from aragog.cli.arguments import absent_fields
from aragog.errors import ALL, BadInput, ConfigError, CorruptContent, TakenDown
from aragog.pages.main_text import FIELDS, load
from aragog.runtime.extras import require
from aragog.settings import Settings
from aragog.settings.extractor_names import SITE, prefix_of
from aragog.transfer.json_lines import open_to_read, open_to_write
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

MAX_LINE_BYTES = 1 << 26


class EarlierOutput(NamedTuple):
    """What a file holds."""

    records: int | None
    """How many records it has; None: it cannot be read to its end, so it is not known."""
    urls: frozenset[str] | None = None
    """The URLs of its records; None: some records have none, or it cannot be read."""


def read_earlier(file: Path) -> EarlierOutput:
    """What a file of `aragog run -O` holds; no records for a file that does not exist."""
    if not file.exists():
        return EarlierOutput(0, frozenset())
    try:
        urls = list(_parquet_urls(file) if file.suffix == ".parquet" else _json_urls(file))
    except (*ALL, OSError, EOFError, ValueError, zlib.error, zstandard.ZstdError):
        return EarlierOutput(None)
    named = frozenset(url for url in urls if url is not None)
    return EarlierOutput(len(urls), named if None not in urls else None)


def _json_urls(file: Path) -> Iterator[str | None]:
    with closing(open_to_read(file)) as stream:
        while line := stream.readline(MAX_LINE_BYTES):
            record = orjson.loads(line)
            url = record.get("url") if isinstance(record, dict) else None
            yield url if isinstance(url, str) else None


def _parquet_urls(file: Path) -> Iterator[str | None]:
    import pyarrow.parquet as pq  # noqa: PLC0415 - an extra, and 0.2 s

    with pq.ParquetFile(file) as table:
        if "url" not in table.schema_arrow.names:
            yield from [None] * table.metadata.num_rows
            return
        for batch in table.iter_batches(columns=["url"]):
            yield from batch.column(0).to_pylist()


def free_name(file: Path) -> Path:
    """The first name beside a file that nothing has: `pages-2.jsonl.gz` beside `pages.jsonl.gz`."""
    stem, ending = file.name.partition(".")[0], "".join(file.suffixes)
    number = 2
    while (other := file.with_name(f"{stem}-{number}{ending}")).exists():
        number += 1
    return other


READ_AT_ONCE = 500
_INT64 = 2**63


Rows = Callable[[], Iterator[dict[str, Any]]]
"""Begins to read the records."""


class RunOutput:
    """
    The file of one run.

    Args:
        file: replaced when the records are complete, by one with at least as many of stored pages.
        fields: names of fields, in the order of the columns; None: those of the rules and
            extractors of `settings`, else all.
        settings: of the system that fetches the pages.

    Raises:
        BadInput: the file's name has no known ending.
        ConfigError: its folder cannot be written, or pyarrow is missing.
        Unsupported: a main text is asked for, and the extra `text` is not installed.
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
        self._texts, self._text_names = PageTexts(settings.pipeline), _text_names(fields)
        if self._text_names:
            load(settings.pipeline.text_finder)
        self._urls: dict[str, None] = {}
        self._given: set[str] = set()
        self._kept = 0
        """Records of pages that an earlier file has, and the run did not reach."""

    def add(self, url: str) -> None:
        """Add the page of a canonical URL; a page that is there already stays once."""
        self._urls[url] = None

    def write(self, store: UrlStore) -> str:
        """Write the records of the pages as they are stored now; returns what was done."""
        part = self._file.with_name(f".{os.getpid()}-{self._file.name}")
        earlier = read_earlier(self._file)
        others = sorted((earlier.urls or frozenset()) - self._urls.keys())
        try:
            write = self._parquet_to if self._parquet else self._json_to
            count = write(partial(self._rows, store, others), part)
            file = self._place(earlier, count)
            part.replace(file)
        except OSError as error:
            raise ConfigError(f"{self._file}: cannot be written: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)
            self._texts.close()
        absent = absent_fields(self._names, self._given) if count else ""
        kept = f", {self._kept:,} of them of pages that only the earlier file had"
        beside = f"; {self._file} has other records and stays" if file != self._file else ""
        return f"{count:,} records in {file}{kept if self._kept else ''}{beside}{absent}"

    def _place(self, earlier: EarlierOutput, count: int) -> Path:
        """The file to replace; a new one beside it if that would lose records."""
        if earlier.urls is not None or (earlier.records is not None and count >= earlier.records):
            return self._file
        return free_name(self._file)

    def _rows(self, store: UrlStore, others: Sequence[str]) -> Iterator[dict[str, Any]]:
        for record in _records(store, self._urls):
            yield self._row(store, record)
        kept = set(self._urls)  # two URLs of the earlier file may be one page by now
        for record in _records(store, others):
            if record.content_key is not None and record.canonical_url not in kept:
                kept.add(record.canonical_url)
                yield self._row(store, record)
        self._kept = len(kept) - len(self._urls)

    def _row(self, store: UrlStore, record: Record) -> dict[str, Any]:
        own = {"url": record.canonical_url, "fetched_at_ms": record.facts.get("fetched_at_ms")}
        if self._names is not None:
            record.fields.update(self._found_texts(store, record))
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

    def _found_texts(self, store: UrlStore, record: Record) -> Mapping[str, bytes]:
        """The main texts that were asked for; none of a page that has no text, or no content."""
        missing = tuple(name for name in self._text_names if name not in record.fields)
        if not missing or record.content_key is None:
            return {}
        try:
            return self._texts.fields(store, record.canonical_url, missing)
        except (PageTextUnavailable, CorruptContent, TakenDown):
            return {}

    def _value(self, store: UrlStore, record: Record, name: str) -> Any:
        for full in (name, *(f"{prefix}.{name}" for prefix in (*self._prefixes, "page"))):
            if full in record.fields:
                return store.formats.decode(full, record.fields[full])
        return None

    def _json_to(self, rows: Rows, part: Path) -> int:
        count = 0
        with closing(open_to_write(part)) as sink:
            for count, row in enumerate(rows(), 1):  # noqa: B007 - how many there were
                sink.write(orjson.dumps(row, default=_exact, option=orjson.OPT_APPEND_NEWLINE))
        return count

    def _parquet_to(self, rows: Rows, part: Path) -> int:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and 0.2 s
        import pyarrow.parquet  # noqa: PLC0415

        columns = _columns(rows(), self._names or ("url",))
        schema = pa.schema([(name, _type(pa, kinds)) for name, kinds in columns.items()])
        count, left = 0, rows()
        with pa.parquet.ParquetWriter(part, schema, compression="zstd") as writer:
            while some := list(islice(left, READ_AT_ONCE)):
                cells = {
                    field.name: pa.array(
                        [_cell(row.get(field.name), field.type) for row in some], field.type
                    )
                    for field in schema
                }
                writer.write_table(pa.table(cells, schema=schema))
                count += len(some)
        return count


def _records(store: UrlStore, urls: Iterable[str]) -> Iterator[Record]:
    """The records of those URLs that have one."""
    left = iter(urls)
    while some := list(islice(left, READ_AT_ONCE)):
        yield from (record for record in store.get_many(some) if record is not None)


def _text_names(fields: Sequence[str] | None) -> tuple[str, ...]:
    """The main texts that are named, with their prefix or without."""
    named = fields or ()
    return tuple(n for n in FIELDS.values() if n in named or n.partition(".")[2] in named)


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
