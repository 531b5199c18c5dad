"""
Import and export records as Parquet files, with pyarrow (the `parquet` extra).

An export has maps (`fields`: name to bytes). An import accepts those, or plain columns: each column
that an export does not have is a field of that name, with text as UTF-8, numbers and booleans as in
JSON, and null as no value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from aragog.errors import ConfigError
from aragog.extras import require
from aragog.transfer.json_lines import BadRecord, Read, UrlRecord, from_mapping

BATCH_ROWS = 500
GROUP_ROWS = 5000

_PLAIN = ("canonical_at_ms", "due_at_ms", "content_bytes")
_TEXTS = ("canonical_url", "content_key", "content_hash")
_MAPS = ("fields", "at_ms", "provenance")


def _arrow() -> Any:
    require("parquet", "a Parquet file")
    import pyarrow.parquet  # noqa: PLC0415 - an extra, and 0.2 s

    return pyarrow


def read_parquet(path: Path, *, after: int = 0) -> Iterator[Read]:
    """
    The rows of a file after the first `after` rows.

    Raises:
        ConfigError: pyarrow is missing, the file is not Parquet, or it has no column `url`.
    """
    arrow = _arrow()
    try:
        file = arrow.parquet.ParquetFile(path)
    except (arrow.ArrowException, OSError) as error:
        raise ConfigError(f"{path}: cannot be read as Parquet: {error}") from error
    with file:
        if "url" not in file.schema_arrow.names:
            raise ConfigError(f"{path}: has no column url")
        number = 0
        try:
            for batch in file.iter_batches(BATCH_ROWS):
                if number + batch.num_rows <= after:
                    number += batch.num_rows
                    continue
                for row in batch.to_pylist(maps_as_pydicts="lossy"):
                    number += 1
                    if number > after:
                        yield number, _record(row)
        except (arrow.ArrowException, OSError) as error:
            yield number + 1, BadRecord(f"the file cannot be read from here on: {error}")


def _record(row: dict[str, Any]) -> UrlRecord | BadRecord:
    names = UrlRecord.__dataclass_fields__
    raw = {name: value for name, value in row.items() if name in names and value is not None}
    try:
        if isinstance(raw.get("facts"), str):
            raw["facts"] = orjson.loads(raw["facts"])
        raw["links"] = _links(raw.get("links"))
        others = {name: value for name, value in row.items() if name not in names}
        fields = dict(raw.get("fields") or {})
        fields |= {n: _field(n, value) for n, value in others.items() if value is not None}
        return from_mapping({**raw, "fields": fields})
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


def _field(name: str, value: object) -> bytes | str:
    if isinstance(value, bytes | str):
        return value
    try:
        return orjson.dumps(value)
    except TypeError:
        raise BadRecord(f"{name}: a {type(value).__name__} cannot be a field") from None


class ParquetSink:
    """
    Writes records to a Parquet file, zstd, 5,000 rows a group; it is complete once closed.

    Raises:
        ConfigError: pyarrow is missing, or the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self._arrow = _arrow()
        self._schema = _schema(self._arrow)
        self._rows: list[Mapping[str, Any]] = []
        try:
            self._writer = self._arrow.parquet.ParquetWriter(path, self._schema, compression="zstd")
        except OSError as error:
            raise ConfigError(f"{path}: cannot be written: {error}") from error

    def write(self, records: Sequence[UrlRecord]) -> None:
        self._rows += map(_row, records)
        if len(self._rows) >= GROUP_ROWS:
            self._flush()

    def close(self) -> None:
        self._flush()
        self._writer.close()

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        if rows:
            self._writer.write_table(self._arrow.Table.from_pylist(rows, schema=self._schema))


def _schema(arrow: Any) -> Any:
    text, number = arrow.string(), arrow.int64()
    link = arrow.struct([("url", text), ("text", text), ("rel", text)])
    return arrow.schema(
        [
            ("url", text),
            ("fields", arrow.map_(text, arrow.binary())),
            ("at_ms", arrow.map_(text, number)),
            ("provenance", arrow.map_(text, text)),
            *((name, text) for name in _TEXTS),
            *((name, number) for name in _PLAIN),
            ("provisional", arrow.bool_()),
            ("facts", text),
            ("links", arrow.list_(link)),
        ]
    )


def _row(record: UrlRecord) -> dict[str, Any]:
    row = {name: getattr(record, name) for name in ("url", "provisional", *_TEXTS, *_PLAIN)}
    row |= {name: list(getattr(record, name).items()) for name in _MAPS}
    row["facts"] = orjson.dumps(dict(record.facts)).decode() if record.facts else None
    row["links"] = None if record.links is None else [link._asdict() for link in record.links]
    return row
