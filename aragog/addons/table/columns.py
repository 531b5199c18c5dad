"""Which columns the table has, and the rows of records in it."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from typing import Any

from aragog.transfer.json_lines import UrlRecord
from aragog.transfer.parquet import arrow_type
from aragog.transfer.typed_fields import TypedFields
from aragog.urlstore.records import WITHHELD, absent_as
from urlspelling.domain import host

OWN = ("url", "host", "bucket", "final_url", "status", "fetched_at_ms", "content_hash")
"""The columns of every table, besides those of fields."""
LEAVES = "leaves"
"""The column of a merge's rows that is true for pages that the table no longer has."""


def bucket_of(url: str, buckets: int) -> int:
    """The partition of a URL: CRC-32 of its UTF-8, modulo their number."""
    return zlib.crc32(url.encode()) % buckets


def is_shown(record: UrlRecord) -> bool:
    """Whether the table has a page: not one that its site withholds now (401, 402, 403, 451)."""
    return record.canonical_url is None and absent_as(record.facts) not in WITHHELD


class Columns:
    """
    The schema of a table, and Arrow tables in it.

    A value that is not of its field's type is null.

    Args:
        types: of the fields.
        fields: the fields that are columns, in order.
        buckets: the number of partitions.
    """

    def __init__(self, types: TypedFields, fields: Sequence[str], buckets: int) -> None:
        import pyarrow as pa  # noqa: PLC0415 - an extra, and 0.2 s

        self._arrow, self._types, self._buckets = pa, types, buckets
        self._fields = [name for name in dict.fromkeys(fields) if name not in OWN]
        text = pa.string()
        kinds = dict.fromkeys(OWN, text)
        kinds |= {"bucket": pa.int32(), "status": pa.int32()}
        kinds |= {"fetched_at_ms": pa.int64()}
        kinds |= {name: arrow_type(pa, types.type_of(name)) for name in self._fields}
        self.schema = pa.schema(list(kinds.items()))

    def batch(self, records: Sequence[UrlRecord]) -> Any:
        """A record batch with a row for each record."""
        rows = [self._row(record) for record in records]
        return self._arrow.RecordBatch.from_pylist(rows, schema=self.schema)

    def merge(self, records: Sequence[UrlRecord], left: Sequence[str]) -> Any:
        """A table of rows to write and, with `LEAVES`, of URLs to delete."""
        rows = [{**self._row(record), LEAVES: False} for record in records]
        rows += [{**self._key(url), LEAVES: True} for url in left]
        schema = self.schema.append(self._arrow.field(LEAVES, self._arrow.bool_()))
        return self._arrow.Table.from_pylist(rows, schema=schema)

    def _key(self, url: str) -> dict[str, Any]:
        return {"url": url, "bucket": bucket_of(url, self._buckets)}

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
