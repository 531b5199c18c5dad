"""
Export plain rows: a URL, its canonical URL, its fetch time, and a value for each field.

Such a file is for programs that read tables. It has no timestamps, provenance, links or facts
(metadata of the last fetch), and cannot be imported.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path

import orjson

from aragog.errors import ConfigError
from aragog.transfer.json_lines import UrlRecord, open_to_read, open_to_write
from aragog.transfer.rows import Row, write_rows
from aragog.transfer.typed_fields import TypedFields

_BUILT_IN_COLUMNS = ("url", "canonical_url", "fetched_at_ms")


class RowSink:
    """
    Writes records as rows (see `aragog.transfer.rows`). Closing creates the file.

    The columns are only known at the end, so until then the rows are in a compressed temporary
    file.

    Args:
        path: the file to create or replace.
        types: the types of fields.
        fields: the columns, in order. If None, all fields of the records.

    Raises:
        ConfigError: the folder is not writable.
    """

    def __init__(self, path: Path, types: TypedFields, fields: Sequence[str] | None = None) -> None:
        self._path, self._types = path, types
        self._names = (
            *_BUILT_IN_COLUMNS,
            *(name for name in fields or () if name not in _BUILT_IN_COLUMNS),
        )
        self._temporary_rows = path.with_name(f".{os.getpid()}-{path.name}.rows.zst")
        self._partial_file = path.with_name(f".{os.getpid()}-{path.name}")
        self._sink = open_to_write(self._temporary_rows)

    def write(self, records: Sequence[UrlRecord]) -> None:
        for record in records:
            self._sink.write(self._line(record))

    def close(self) -> None:
        """Write the file."""
        self._sink.close()
        try:
            write_rows(self._rows, self._partial_file, self._names)
            self._partial_file.replace(self._path)
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be written: {error.strerror}") from error
        finally:
            self._temporary_rows.unlink(missing_ok=True)
            self._partial_file.unlink(missing_ok=True)

    def _line(self, record: UrlRecord) -> bytes:
        row = {
            "url": record.url,
            "canonical_url": record.canonical_url,
            "fetched_at_ms": record.facts.get("fetched_at_ms"),
        }
        for name, value in record.fields.items():
            try:
                row[name], _ = self._types.to_json(name, value)
            except ValueError:  # the bytes do not fit the field's type
                row[name] = value.decode("utf-8", "backslashreplace")
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)

    def _rows(self) -> Iterator[Row]:
        with contextlib.closing(open_to_read(self._temporary_rows)) as stream:
            for line in stream:
                yield json.loads(line, parse_float=Decimal)
