"""
The records that `aragog run -O` and `-o` write: one per page, with plain values.

A field name without a prefix refers to the field of a rule (`site.price`), or else of an extractor
(`books.price`), or else of the page itself (`page.title`). In JSON, numbers keep their stored
digits. A table column has the narrowest type that fits all values. If their types differ, the
column contains JSON text.

An existing file keeps the records of pages that are still stored. Pages that the run did not reach
are written from the store.
"""

from __future__ import annotations

import csv
import os
import sqlite3
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import zstandard

from aragog.api.operations.text_processes import PageTextUnavailable
from aragog.cli.arguments import absent_fields
from aragog.cli.reextract import reextract_pages
from aragog.cli.run_texts import RunTexts
from aragog.crawl.stages.reextract import Versions, outdated_urls, text_version
from aragog.errors import ALL, BadInput, ConfigError, CorruptContent, TakenDown
from aragog.observability.formatting import pluralize
from aragog.pages.items import SiteKinds, load_kinds
from aragog.pages.main_text import FIELDS, load
from aragog.pages.rules_version import rules_versions
from aragog.runtime.extras import require
from aragog.settings import Settings
from aragog.settings.extractor_names import SITE, field_prefix
from aragog.transfer.item_rows import PAGE_COLUMN, ItemRows
from aragog.transfer.rows import NON_APPENDABLE, append_rows, file_format, read_urls, write_rows
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore

if TYPE_CHECKING:
    from aragog.transfer.s3_files import S3File

READ_ERRORS = (
    OSError, EOFError, ValueError, csv.Error, sqlite3.Error, zlib.error, zstandard.ZstdError,
)  # fmt: skip
"""Errors from reading a file that was not written by a run."""


class EarlierOutput(NamedTuple):
    """How many records an existing file has, and their URLs."""

    records: int | None
    """Number of records; None if the file is not readable."""
    urls: frozenset[str] | None = None
    """The records' URLs; None if some have none or the file is not readable."""


def read_earlier(file: Path, column: str = "url") -> EarlierOutput:
    """
    Return how many records an output file has, and their URLs. A missing file counts as empty.

    Args:
        file: its path.
        column: the column with page URLs.
    """
    if not file.exists():
        return EarlierOutput(0, frozenset())
    try:
        urls = list(read_urls(file, column))
    except (*ALL, *READ_ERRORS):
        return EarlierOutput(None)
    known_urls = frozenset(url for url in urls if url is not None)
    return EarlierOutput(len(urls), known_urls if None not in urls else None)


def free_name(file: Path, exists: Callable[[Path], bool] = Path.exists) -> Path:
    """Return the first unused name, such as `pages-2.jsonl.gz` for `pages.jsonl.gz`."""
    stem, suffix = file.name.partition(".")[0], "".join(file.suffixes)
    number = 2
    while exists(candidate := file.with_name(f"{stem}-{number}{suffix}")):
        number += 1
    return candidate


BATCH_SIZE = 500


class RunOutput:
    """
    A run's output file.

    Args:
        file: a path, or `s3://BUCKET/KEY`. It is replaced when all records are written, unless that
            would lose records of stored pages.
        fields: field names, in column order. None: the fields of rules and extractors in
            `settings`, or all fields if there are no rules and extractors.
        settings: the settings of the running system.
        items: write items of these kinds; () for all kinds. None: write pages, unless `settings`
            only define kinds of items.
        append: append to the existing file instead.

    Raises:
        BadInput: the file has no known suffix, or its format cannot be appended to.
        ConfigError: its folder is not writable, or pyarrow is missing.
        ContentUnavailable: its bucket does not respond.
        Unsupported: main text needs the extra `text`.
    """

    def __init__(
        self,
        file: Path | str,
        fields: Sequence[str] | None,
        settings: Settings,
        *,
        items: Sequence[str] | None = None,
        append: bool = False,
    ) -> None:
        self._items = _create_item_rows(items, fields, settings)
        self._display_name = str(file)
        self._file = Path(self._display_name.rpartition("/")[2] if _is_s3(file) else file)
        self._append = append
        if file_format(self._file) in NON_APPENDABLE and append:
            raise BadInput(f"{file} cannot be appended to; use .jsonl, .csv or .sqlite")
        self._s3 = _s3_file(self._display_name, settings) if _is_s3(file) else None
        if self._s3 is None and not os.access(self._file.absolute().parent, os.W_OK):
            raise ConfigError(f"the folder of {file} does not exist or cannot be written")
        extractors = map(field_prefix, settings.pipeline.extractors)
        rules = (SITE,) if _has_rules(settings) else ()
        self._prefixes = (*rules, *extractors)
        self._names = tuple(fields) if fields is not None else None
        self._text_names = () if self._items else _text_names(fields)
        self._texts = RunTexts(settings.pipeline, self._text_names)
        if self._text_names:
            load(settings.pipeline.text_finder)
        self._versions = Versions(
            text_version(settings.pipeline),
            rules_versions(settings.pipeline.extractors, settings.extract),
        )
        self._urls: dict[str, None] = {}
        self._fields_found: set[str] = set()
        self.records = 0
        """Number of rows written (pages or items)."""
        self.kept = 0
        """How many of these rows are pages that were only in the existing file."""

    @property
    def has_items(self) -> bool:
        """True if the rows are items."""
        return self._items is not None

    @property
    def pages(self) -> int:
        """Number of the run's pages."""
        return len(self._urls)

    def add(self, url: str, store: UrlStore | None = None) -> None:
        """
        Add the page of a canonical URL, unless it was added before.

        With a store, the page's main text is extracted during the run.
        """
        if store is not None and url not in self._urls:
            self._texts.enqueue(store, url)
        self._urls[url] = None

    def continue_texts(self, store: UrlStore) -> None:
        """Continue to extract main text during the run. Call this often."""
        self._texts.start_queued(store)

    def write(self, store: UrlStore) -> str:
        """Write the pages from the store. Returns a description of the file."""
        try:
            if self._s3 is None:
                return self._write(store, self._file)
            with TemporaryDirectory(prefix="aragog-run-") as folder:
                local = Path(folder, self._file.name)
                self._s3.download(local)
                return self._write(store, local)
        except OSError as error:
            raise ConfigError(
                f"{self._display_name}: cannot be written: {error.strerror}"
            ) from error
        finally:
            self._texts.close()

    def _write(self, store: UrlStore, file: Path) -> str:
        names = self._items.columns if self._items else self._names or ("url",)
        reextracted_text = self._reextract_outdated(store, file)
        if self._append:
            count, target = append_rows(partial(self._rows, store, ()), file, names), file
        else:
            count, target = self._replace(store, file, names)
        self.records = count
        destination = self._s3.upload(target) if self._s3 else target
        if self._items:
            kept_text = (
                f"; {self._display_name} has other items and was kept" if target != file else ""
            )
            notes = f"{kept_text}{self._items.dropped_text()}{reextracted_text}"
            return f"{count:,} items in {destination}{notes}"
        absent_text = absent_fields(self._names, self._fields_found) if count else ""
        earlier_text = f", {self.kept:,} of them from the earlier file only" if self.kept else ""
        kept_text = (
            f"; {self._display_name} has other records and was kept" if target != file else ""
        )
        notes = f"{earlier_text}{kept_text}{absent_text}{reextracted_text}"
        return f"{count:,} records in {destination}{notes}"

    def _reextract_outdated(self, store: UrlStore, file: Path) -> str:
        """Extract pages again if their fields come from other rules. Returns a description."""
        if not self._versions.rules.whole:
            return ""
        earlier = (
            None if self._append else read_earlier(file, PAGE_COLUMN if self._items else "url").urls
        )
        urls = list(dict.fromkeys([*self._urls, *(earlier or ())]))
        urls_to_reextract = [
            url
            for start in range(0, len(urls), BATCH_SIZE)
            for url in outdated_urls(store, urls[start : start + BATCH_SIZE], self._versions)
        ]
        counts = reextract_pages(urls_to_reextract)
        count = counts["changed"] + counts["read"]
        return (
            f"; {pluralize(count, 'page')} extracted again with the current rules" if count else ""
        )

    def _replace(self, store: UrlStore, file: Path, names: Sequence[str]) -> tuple[int, Path]:
        """Write the file or a new one; returns the number of rows and the path."""
        temporary_file = file.with_name(f".{os.getpid()}-{file.name}")
        earlier = read_earlier(file, PAGE_COLUMN if self._items else "url")
        others = sorted((earlier.urls or frozenset()) - self._urls.keys())
        try:
            count = write_rows(partial(self._rows, store, others), temporary_file, names)
            target = self._choose_target(file, earlier, count)
            temporary_file.replace(target)
        finally:
            temporary_file.unlink(missing_ok=True)
        return count, target

    def _choose_target(self, file: Path, earlier: EarlierOutput, count: int) -> Path:
        """Return the file to replace, or a new file if that would lose records."""
        if earlier.urls is not None or (earlier.records is not None and count >= earlier.records):
            return file
        s3 = self._s3
        return free_name(file, (lambda other: s3.exists(other.name)) if s3 else Path.exists)

    def _rows(self, store: UrlStore, others: Sequence[str]) -> Iterator[dict[str, Any]]:
        if self._items:
            yield from self._items.rows_of_pages(store, list(dict.fromkeys([*self._urls, *others])))
            return
        for record in _read_records(store, self._urls):
            yield self._row(store, record)
        written_urls = set(
            self._urls
        )  # two URLs in the existing file may now lead to the same page
        for record in _read_records(store, others):
            if record.content_key is not None and record.canonical_url not in written_urls:
                written_urls.add(record.canonical_url)
                yield self._row(store, record)
        self.kept = len(written_urls) - len(self._urls)

    def _row(self, store: UrlStore, record: Record) -> dict[str, Any]:
        page_values = {
            "url": record.canonical_url,
            "fetched_at_ms": record.facts.get("fetched_at_ms"),
        }
        if self._names is not None:
            record.fields.update(self._extracted_texts(store, record))
            row = {
                name: page_values.get(name) or self._read_value(store, record, name)
                for name in self._names
            }
            self._fields_found.update(name for name, value in row.items() if value is not None)
            return row
        row = {"url": record.canonical_url}
        for name, value in sorted(record.fields.items()):
            prefix, _, short_name = name.partition(".")
            if not self._prefixes:
                row[name] = store.formats.decode(name, value)
            elif prefix in self._prefixes:
                row[short_name if short_name not in row else name] = store.formats.decode(
                    name, value
                )
        return row

    def _extracted_texts(self, store: UrlStore, record: Record) -> Mapping[str, bytes]:
        missing = tuple(name for name in self._text_names if name not in record.fields)
        if not missing or record.content_key is None:
            return {}
        try:
            return self._texts.fields(store, record.canonical_url, missing)
        except (PageTextUnavailable, CorruptContent, TakenDown):
            return {}

    def _read_value(self, store: UrlStore, record: Record, name: str) -> Any:
        for full_name in (name, *(f"{prefix}.{name}" for prefix in (*self._prefixes, "page"))):
            if full_name in record.fields:
                return store.formats.decode(full_name, record.fields[full_name])
        return None


def _create_item_rows(
    items: Sequence[str] | None, fields: Sequence[str] | None, settings: Settings
) -> ItemRows | None:
    kinds = load_kinds(settings.extract)
    if items is None and (not kinds or _has_rules(settings) or settings.pipeline.extractors):
        return None
    if (
        items is None
        and fields
        and not kinds.has_functions(kinds.names)
        and _item_columns(kinds).isdisjoint(fields)
    ):
        return None  # only fields of pages are requested
    return ItemRows(kinds, items or (), fields)


def _item_columns(kinds: SiteKinds) -> set[str]:
    """Return the columns of items, except unknown columns that functions fill."""
    return {
        PAGE_COLUMN,
        *(column for name in kinds.names for column in kinds.columns_with_files(name)),
    }


def _has_rules(settings: Settings) -> bool:
    return any(
        isinstance(rule, str) for table in settings.extract.values() for rule in table.values()
    )


def _is_s3(file: Path | str) -> bool:
    return isinstance(file, str) and file.startswith("s3://")


def _s3_file(name: str, settings: Settings) -> S3File:
    require("s3", name)
    from aragog.transfer.s3_files import S3File  # noqa: PLC0415 - boto3 takes 0.3 s to import

    return S3File(name, settings.resolved().content)


def _read_records(store: UrlStore, urls: Iterable[str]) -> Iterator[Record]:
    remaining = iter(urls)
    while batch := list(islice(remaining, BATCH_SIZE)):
        yield from (record for record in store.get_many(batch) if record is not None)


def _text_names(fields: Sequence[str] | None) -> tuple[str, ...]:
    """Return the requested main-text fields. The names in `fields` may lack their prefix."""
    requested = fields or ()
    return tuple(n for n in FIELDS.values() if n in requested or n.partition(".")[2] in requested)
