"""
Exports as plain rows: a URL, its canonical URL, the time of its fetch, and a value for each field.

Such a file is for programs that read tables. It has no times, sources, links or facts, and no
import reads it: copies of a store are JSON Lines or Parquet.
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

_OWN = ("url", "canonical_url", "fetched_at_ms")


class RowSink:
    """
    Writes records as rows, see `aragog.transfer.rows`; the file is there once it is closed.

    The columns are known at the end, so the rows are kept in a compressed file beside it till then.

    Args:
        path: of the file, which is replaced.
        types: of the fields.
        fields: the columns of fields, in order; None: those that the records have.

    Raises:
        ConfigError: the folder cannot be written.
    """

    def __init__(self, path: Path, types: TypedFields, fields: Sequence[str] | None = None) -> None:
        self._path, self._types = path, types
        self._names = (*_OWN, *(name for name in fields or () if name not in _OWN))
        self._kept = path.with_name(f".{os.getpid()}-{path.name}.rows.zst")
        self._part = path.with_name(f".{os.getpid()}-{path.name}")
        self._sink = open_to_write(self._kept)

    def write(self, records: Sequence[UrlRecord]) -> None:
        for record in records:
            self._sink.write(self._line(record))

    def close(self) -> None:
        """Write the file."""
        self._sink.close()
        try:
            write_rows(self._rows, self._part, self._names)
            self._part.replace(self._path)
        except OSError as error:
            raise ConfigError(f"{self._path}: cannot be written: {error.strerror}") from error
        finally:
            self._kept.unlink(missing_ok=True)
            self._part.unlink(missing_ok=True)

    def _line(self, record: UrlRecord) -> bytes:
        row = {
            "url": record.url,
            "canonical_url": record.canonical_url,
            "fetched_at_ms": record.facts.get("fetched_at_ms"),
        }
        for name, value in record.fields.items():
            try:
                row[name], _ = self._types.to_json(name, value)
            except ValueError:  # bytes without a meaning
                row[name] = value.decode("utf-8", "backslashreplace")
        return orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE)

    def _rows(self) -> Iterator[Row]:
        with contextlib.closing(open_to_read(self._kept)) as stream:
            for line in stream:
                yield json.loads(line, parse_float=Decimal)
