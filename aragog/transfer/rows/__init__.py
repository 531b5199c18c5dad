"""
Read and write files of plain rows. A file's extension determines its format: JSON Lines, JSON, CSV,
Parquet or SQLite.

A row maps names to JSON values and decimals. The table formats (CSV, Parquet, SQLite) flatten rows
with `tables`. A list becomes JSON in one cell, except for lists of strings in Parquet. For a table,
the rows are read twice, first to find its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from aragog.errors import BadInput
from aragog.runtime.extras import require
from aragog.transfer.rows.parquet_files import parquet_urls, write_parquet
from aragog.transfer.rows.sqlite_files import sqlite_urls, write_sqlite
from aragog.transfer.rows.tables import Row as Row
from aragog.transfer.rows.tables import Rows as Rows
from aragog.transfer.rows.tables import exact_json as exact_json
from aragog.transfer.rows.text_files import (
    COMPRESSED,
    CsvFile,
    append_bytes,
    array_urls,
    csv_urls,
    line_urls,
    write_csv,
    write_json,
    write_lines,
)

KINDS = {
    ".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "json", ".csv": "csv", ".parquet": "parquet",
    ".sqlite": "sqlite", ".sqlite3": "sqlite", ".db": "sqlite",
}  # fmt: skip
NON_APPENDABLE = ("json", "parquet")
"""Formats to which rows cannot be appended."""
EXTENSIONS = ".jsonl, .json, .csv (each optionally with .gz or .zst), .parquet or .sqlite"


def file_format(file: Path) -> str:
    """
    Return the format that a file's extension selects.

    Raises:
        BadInput: the extension is unknown, or `.gz` or `.zst` follows the extension of a binary
            format.
    """
    name = file.with_suffix("") if file.suffix in COMPRESSED else file
    kind = KINDS.get(name.suffix.lower())
    if kind is None or (name != file and kind in ("parquet", "sqlite")):
        raise BadInput(f"{file}: unknown extension; use {EXTENSIONS}")
    if kind == "parquet":
        require("parquet", "a Parquet file")
    return kind


def write_rows(rows: Rows, file: Path, names: Sequence[str] = ()) -> int:
    """
    Write a file, replacing an existing one; returns how many rows were written.

    The rows are read once or twice. The columns `names` come first, even without values.

    Raises:
        BadInput: see `file_format`.
        OSError: the file cannot be written; it is then incomplete.
    """
    file.unlink(missing_ok=True)
    return _WRITERS[file_format(file)](rows, file, names)


def append_rows(rows: Rows, file: Path, names: Sequence[str] = ()) -> int:
    """
    Append rows to a file, which may not exist yet; returns how many were added.

    If appending fails, a text file is restored, and SQLite rolls back. If the process is killed, a
    text file may end with an incomplete line; the next call then refuses to append.

    Raises:
        BadInput: the format cannot be appended to, or a CSV file has no column for a value.
        OSError: the file cannot be written.
    """
    kind = file_format(file)
    if kind in NON_APPENDABLE:
        raise BadInput(f"{file}: cannot be appended to; use .jsonl, .csv or .sqlite")
    if not file.exists() or not file.stat().st_size:
        return write_rows(rows, file, names)
    if kind == "sqlite":
        return write_sqlite(rows, file, names)
    part = file.with_name(f".more-{file.name}")
    try:
        count = CsvFile(file).add(rows, part) if kind == "csv" else write_lines(rows, part, names)
        append_bytes(part, file)
    finally:
        part.unlink(missing_ok=True)
    return count


def read_urls(file: Path, column: str = "url") -> Iterator[str | None]:
    """
    Yield each row's URL or None. Raises whatever the format's reader raises.

    Args:
        file: a file of rows.
        column: the column with URLs.
    """
    return _READERS[file_format(file)](file, column)


_WRITERS: Mapping[str, Callable[[Rows, Path, Sequence[str]], int]] = {
    "jsonl": write_lines, "json": write_json, "csv": write_csv,
    "parquet": write_parquet, "sqlite": write_sqlite,
}  # fmt: skip
_READERS: Mapping[str, Callable[[Path, str], Iterator[str | None]]] = {
    "jsonl": line_urls, "json": array_urls, "csv": csv_urls,
    "parquet": parquet_urls, "sqlite": sqlite_urls,
}  # fmt: skip
