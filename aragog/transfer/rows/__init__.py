"""
Files of plain rows, by their ending: JSON Lines, JSON, CSV, Parquet and SQLite.

A row is a mapping of names to JSON values and decimals. The tables (CSV, Parquet, SQLite) have one
flattening, that of `tables`; a list is JSON in one cell (in Parquet a list of texts stays a list).
The rows are read twice for a table: first for its columns, then for its cells.

Public are the functions and constants of this module.
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
NO_END = ("json", "parquet")
"""Formats to whose files nothing can be added."""
ENDINGS = ".jsonl, .json, .csv (each with .gz or .zst if you like), .parquet or .sqlite"


def kind_of(file: Path) -> str:
    """
    The format of a file, by its name.

    Raises:
        BadInput: it has none of the endings, or a compressed table that is not a text.
    """
    name = file.with_suffix("") if file.suffix in COMPRESSED else file
    kind = KINDS.get(name.suffix.lower())
    if kind is None or (name != file and kind in ("parquet", "sqlite")):
        raise BadInput(f"{file}: name it {ENDINGS}")
    if kind == "parquet":
        require("parquet", "a Parquet file")
    return kind


def write_rows(rows: Rows, file: Path, names: Sequence[str] = ()) -> int:
    """
    Write a new file, replacing one that exists; returns the number of rows.

    The rows are read once or twice; `names` are the columns that come first, even if no row has
    a value.

    Raises:
        BadInput: see `kind_of`.
        OSError: the file cannot be written; it is then incomplete.
    """
    file.unlink(missing_ok=True)
    return _WRITERS[kind_of(file)](rows, file, names)


def append_rows(rows: Rows, file: Path, names: Sequence[str] = ()) -> int:
    """
    Add rows to the end of a file, which may not exist; returns the number of those.

    A file of text is restored when adding to it fails; SQLite adds all rows or none. Killed in the
    middle, a file of text may end with a part of a line, to which nothing is added the next time.

    Raises:
        BadInput: the format has no end to add to, or a CSV file has no column for a value.
        OSError: the file cannot be written.
    """
    kind = kind_of(file)
    if kind in NO_END:
        raise BadInput(f"{file}: nothing can be added to its end; use .jsonl, .csv or .sqlite")
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


def urls_of(file: Path, column: str = "url") -> Iterator[str | None]:
    """
    The URL of each row, None for a row without one; raises whatever the file's reader does.

    Args:
        file: of rows.
        column: which has the URL.
    """
    return _READERS[kind_of(file)](file, column)


_WRITERS: Mapping[str, Callable[[Rows, Path, Sequence[str]], int]] = {
    "jsonl": write_lines, "json": write_json, "csv": write_csv,
    "parquet": write_parquet, "sqlite": write_sqlite,
}  # fmt: skip
_READERS: Mapping[str, Callable[[Path, str], Iterator[str | None]]] = {
    "jsonl": line_urls, "json": array_urls, "csv": csv_urls,
    "parquet": parquet_urls, "sqlite": sqlite_urls,
}  # fmt: skip
