"""
Import and export records as Parquet files, with pyarrow (the `parquet` extra).

An export has a column for each requested field or, if none were requested, for each field of a
known type. Decimal values are stored as doubles. The column `fields` maps all other fields to their
bytes. If a column cannot restore a value exactly, `fields` contains the value's bytes too, and an
import prefers them.

An import accepts exports of this version, exports of earlier versions (which had no columns for
fields), and other programs' files. In another program's file, each column that exports do not use
becomes a field. Null means no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import orjson

from aragog.errors import ConfigError
from aragog.runtime.extras import require
from aragog.transfer.json_lines import BadRecord, ReadRecord, UrlRecord, from_mapping
from aragog.transfer.typed_fields import TypedFields
from richpins.field_types import FieldType

BATCH_ROWS = 500
GROUP_ROWS = 5000

_NUMBER_COLUMNS = ("canonical_at_ms", "due_at_ms", "content_bytes")
_TEXT_COLUMNS = ("canonical_url", "content_key", "content_hash")
_RECORD_COLUMNS = (
    "url", "fields", "at_ms", "provenance", *_TEXT_COLUMNS, *_NUMBER_COLUMNS, "provisional",
    "facts", "links",
)  # fmt: skip


def _arrow() -> Any:
    require("parquet", "a Parquet file")
    import pyarrow.parquet  # noqa: PLC0415 - an extra, and importing it takes 0.2 s

    return pyarrow


def read_parquet(
    path: Path, types: TypedFields | None = None, *, after: int = 0
) -> Iterator[ReadRecord]:
    """
    Yield a file's rows after the first `after` rows.

    Raises:
        ConfigError: pyarrow is missing, the file is not Parquet, or it has no column `url`.
    """
    arrow, types = _arrow(), types or TypedFields()
    try:
        file = arrow.parquet.ParquetFile(path)
    except (arrow.ArrowException, OSError) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet: {error}") from error
    with file:
        if "url" not in file.schema_arrow.names:
            raise ConfigError(f"{path} has no column url")
        number = 0
        try:
            for batch in file.iter_batches(BATCH_ROWS):
                if number + batch.num_rows <= after:
                    number += batch.num_rows
                    continue
                for row in batch.to_pylist(maps_as_pydicts="lossy"):
                    number += 1
                    if number > after:
                        yield number, _record(row, types)
        except (arrow.ArrowException, OSError) as error:
            yield number + 1, BadRecord(f"the file cannot be read from here on: {error}")


def _record(row: dict[str, Any], types: TypedFields) -> UrlRecord | BadRecord:
    names = UrlRecord.__dataclass_fields__
    raw = {name: value for name, value in row.items() if name in names and value is not None}
    try:
        if isinstance(raw.get("facts"), str):
            raw["facts"] = orjson.loads(raw["facts"])
        raw["links"] = _links(raw.get("links"))
        fields = {
            name: _field(name, value, types)
            for name, value in row.items()
            if name not in names and value is not None
        }
        return from_mapping({**raw, "fields": {**fields, **(raw.get("fields") or {})}})
    except BadRecord as error:
        return error
    except (orjson.JSONDecodeError, TypeError, ValueError) as error:
        return BadRecord(str(error))


def _links(raw: Any) -> list[Any] | None:
    if raw is None:
        return None
    return [
        [link["url"], link.get("text") or "", link.get("rel") or ""]
        if isinstance(link, dict)
        else link
        for link in raw
    ]


def _field(name: str, value: object, types: TypedFields) -> bytes:
    try:
        return types.from_column(name, value)
    except (TypeError, ValueError) as error:
        raise BadRecord(f"{name}: {error}") from None


class ParquetSink:
    """
    Writes records to a Parquet file (zstd, 5,000 rows per group). Closing completes it.

    Args:
        path: the file to create or replace.
        types: the types of fields.
        fields: the fields with columns. If None, those with known types.

    Raises:
        ConfigError: pyarrow is missing, or the file is not writable.
    """

    def __init__(
        self, path: Path, types: TypedFields | None = None, fields: Sequence[str] | None = None
    ) -> None:
        self._arrow = _arrow()
        self._types = types or TypedFields()
        names = self._types.known() if fields is None else fields
        self._columns = [name for name in dict.fromkeys(names) if name not in _RECORD_COLUMNS]
        self._schema = self._typed_schema()
        self._rows: list[UrlRecord] = []
        try:
            self._writer = self._arrow.parquet.ParquetWriter(path, self._schema, compression="zstd")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error}") from error

    def write(self, records: Sequence[UrlRecord]) -> None:
        self._rows += records
        if len(self._rows) >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        records, self._rows = self._rows, []
        if not records:
            return
        columns: dict[str, list[Any]] = {
            name: [None] * len(records) for name in (*_RECORD_COLUMNS, *self._columns)
        }
        typed = frozenset(self._columns)
        for number, record in enumerate(records):
            inexact_values = []
            for name, value in record.fields.items():
                is_exact = name in typed
                if is_exact:
                    try:
                        columns[name][number], is_exact = self._types.to_column(name, value)
                    except ValueError:
                        is_exact = False
                if not is_exact:
                    inexact_values.append((name, value))
            for name, cell in _row(record, inexact_values).items():
                columns[name][number] = cell
        self._writer.write_table(self._arrow.Table.from_pydict(columns, schema=self._schema))

    def _typed_schema(self) -> Any:
        arrow = self._arrow
        columns = [(name, arrow_type(arrow, self._types.type_of(name))) for name in self._columns]
        return arrow.schema([("url", arrow.string()), *columns, *_record_columns(arrow)])


def arrow_type(arrow: Any, field_type: FieldType | None) -> Any:
    """Return the Arrow type of a field's column; `arrow` is the pyarrow module."""
    if field_type is None:
        return arrow.binary()
    match field_type.kind:
        case "list":
            return arrow.list_(arrow_type(arrow, field_type.item))
        case "map":
            return arrow.map_(arrow.string(), arrow_type(arrow, field_type.item))
        case "record":
            members = field_type.members.items()
            return arrow.struct([(name, arrow_type(arrow, part)) for name, part in members])
        case "integer":
            return arrow.int64()
        case "number" | "decimal":
            return arrow.float64()
        case "boolean":
            return arrow.bool_()
        case "date":
            return arrow.date32()
    return arrow.string()


def _record_columns(arrow: Any) -> list[tuple[str, Any]]:
    """Return the columns that every export has, except `url`."""
    text, number = arrow.string(), arrow.int64()
    link = arrow.struct([("url", text), ("text", text), ("rel", text)])
    return [
        ("fields", arrow.map_(text, arrow.binary())),
        ("at_ms", arrow.map_(text, number)),
        ("provenance", arrow.map_(text, text)),
        *((name, text) for name in _TEXT_COLUMNS),
        *((name, number) for name in _NUMBER_COLUMNS),
        ("provisional", arrow.bool_()),
        ("facts", text),
        ("links", arrow.list_(link)),
    ]


def _row(record: UrlRecord, inexact_values: list[tuple[str, bytes]]) -> dict[str, Any]:
    row = {
        name: getattr(record, name)
        for name in ("url", "provisional", *_TEXT_COLUMNS, *_NUMBER_COLUMNS)
    }
    row["fields"] = inexact_values
    row |= {name: list(getattr(record, name).items()) for name in ("at_ms", "provenance")}
    row["facts"] = orjson.dumps(dict(record.facts)).decode() if record.facts else None
    row["links"] = None if record.links is None else [link._asdict() for link in record.links]
    return row
