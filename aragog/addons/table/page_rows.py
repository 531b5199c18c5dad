"""The rows of a table of pages: its columns, one row per page, and updates for changed pages."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from aragog.addons.table.delta_files import DeltaFiles, TableState
from aragog.addons.table.rows import DELETED, Merge, bucket_number, takedown_check
from aragog.transfer.import_export import NodeSelection, export_urls
from aragog.transfer.json_lines import UrlRecord
from aragog.transfer.parquet import arrow_type
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.records import WITHHELD, absent_as
from aragog.urlstore.store import UrlStore
from urlspelling.domain import host

BUILT_IN_COLUMNS = ("url", "host", "bucket", "final_url", "status", "fetched_at_ms", "content_hash")
"""The columns of every table, in addition to fields."""
_BATCH_SIZE = 2500


def is_shown(record: UrlRecord) -> bool:
    """True for a page that its site does not withhold (401, 402, 403, 451). False for an alias."""
    return record.canonical_url is None and absent_as(record.facts) not in WITHHELD


@dataclass(slots=True)
class _ShownRecords:
    shown_records: list[UrlRecord] = field(default_factory=list)

    def write(self, records: Sequence[UrlRecord]) -> None:
        self.shown_records += filter(is_shown, records)

    def close(self) -> None:
        """Do nothing."""


class PageTableRows:
    """
    The rows of a table of pages.

    A value that does not match its field's type is null.

    Args:
        store: contains the pages.
        files: the table.
        types: the types of fields.
        state: the columns, the number of partitions and the purpose.
    """

    key = "url"
    noun = "pages"
    max_pages = 10_000
    """Changed pages per merge. If each page has 5 KB of fields, they take 50 MB of memory."""

    def __init__(
        self, store: UrlStore, files: DeltaFiles, types: TypedFields, state: TableState
    ) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra; takes 0.2 s

        self._arrow, self._store, self._files, self._types = pa, store, files, types
        self._state = state
        self._fields = [
            name for name in dict.fromkeys(state.fields) if name not in BUILT_IN_COLUMNS
        ]
        column_types = dict.fromkeys(BUILT_IN_COLUMNS, pa.string())
        column_types |= {"bucket": pa.int32(), "status": pa.int32()}
        column_types |= {"fetched_at_ms": pa.int64()}
        column_types |= {name: arrow_type(pa, types.type_of(name)) for name in self._fields}
        self.schema = pa.schema(list(column_types.items()))

    def exported_batches(self) -> Iterator[Any]:
        """Yield record batches of all pages."""
        cursor: str | None = None
        while True:
            records, cursor = self._read(NodeSelection(cursor=cursor, limit=_BATCH_SIZE))
            rows = [self._row(record) for record in records]
            yield self._arrow.RecordBatch.from_pylist(rows, schema=self.schema)
            if cursor is None:
                return

    def merge(self, urls: Collection[str], *, taken_down: bool) -> Merge | None:
        """Return the rows of these pages and of taken-down pages; None without any page."""
        changed_urls = {*urls, *(self._taken_down_urls() if taken_down else ())}
        if not changed_urls:
            return None
        records, _ = self._read(NodeSelection(urls=sorted(changed_urls)))
        deleted = sorted(changed_urls - {record.url for record in records})
        rows = [{**self._row(record), DELETED: False} for record in records]
        rows += [{**self._key(url), DELETED: True} for url in deleted]
        schema = self.schema.append(self._arrow.field(DELETED, self._arrow.bool_()))
        return Merge(self._arrow.Table.from_pylist(rows, schema=schema), len(records), len(deleted))

    def _read(self, selection: NodeSelection) -> tuple[list[UrlRecord], str | None]:
        sink = _ShownRecords()
        report = export_urls(
            self._store.zen, sink, selection, fields=self._state.fields, aliases=False,
            purpose=self._state.purpose,
        )  # fmt: skip
        return sink.shown_records, report.cursor

    def _taken_down_urls(self) -> set[str]:
        """
        Return the table's URLs that were taken down, and the URLs of pages fetched from a
        taken-down URL.
        """
        is_refused = takedown_check(self._store)
        rows = self._files.read(["url", "final_url"])
        return {url for url, final_url in rows if is_refused(url) or is_refused(final_url)}

    def _key(self, url: str) -> dict[str, Any]:
        return {"url": url, "bucket": bucket_number(url, self._state.buckets)}

    def _row(self, record: UrlRecord) -> dict[str, Any]:
        facts = record.facts
        cells = {name: self._cell(name, record) for name in self._fields}
        return {
            **self._key(record.url),
            "host": host(record.url),
            "final_url": facts.get("final_url"),
            "status": facts.get("status"),
            "fetched_at_ms": facts.get("fetched_at_ms"),
            "content_hash": record.content_hash,
            **cells,
        }

    def _cell(self, name: str, record: UrlRecord) -> Any:
        if name not in record.fields:
            return None
        try:
            return self._types.to_column(name, record.fields[name])[0]
        except ValueError:
            return None
