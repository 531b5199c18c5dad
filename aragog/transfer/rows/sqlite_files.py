"""Write and read rows in the table `pages` of SQLite files. Missing columns are added."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from decimal import Decimal
from pathlib import Path
from typing import Any

from aragog.errors import ConfigError
from aragog.transfer.rows.tables import INT64, Kinds, Rows, build_table, cell_text

TABLE = "pages"


def write_sqlite(rows: Rows, file: Path, names: Sequence[str]) -> int:
    """Add the rows to the table, in one transaction."""
    columns, rows = build_table(rows, names)
    try:
        with closing(sqlite3.connect(file)) as database:
            columns_by_name = _sqlite_columns(database, columns or {"url": set()})
            placeholders = ", ".join("?" * len(columns_by_name))
            column_list = ", ".join(map(_quote, columns_by_name.values()))
            insert = f"INSERT INTO {TABLE} ({column_list}) VALUES ({placeholders})"  # noqa: S608 - quoted
            cells = (
                tuple(_sqlite_cell(row.get(name)) for name in columns_by_name) for row in rows()
            )
            count = max(0, database.executemany(insert, cells).rowcount)
            database.commit()
    except sqlite3.Error as error:
        raise ConfigError(f"{file}: cannot be written as SQLite: {error}") from error
    return count


def _sqlite_columns(database: sqlite3.Connection, columns: Mapping[str, Kinds]) -> dict[str, str]:
    existing_columns = {row[1] for row in database.execute(f"PRAGMA table_info({TABLE})")}
    columns_by_name: dict[str, str] = {}
    database.execute("BEGIN IMMEDIATE")
    for name, kinds in columns.items():
        column = (
            name
            if name in existing_columns
            else _distinct_column(name, {*existing_columns, *columns_by_name.values()})
        )
        columns_by_name[name] = column
        if column in existing_columns:
            continue
        definition = f"{_quote(column)} {_sqlite_type(kinds)}"
        is_new = not existing_columns and len(columns_by_name) == 1
        create, add = (
            f"CREATE TABLE {TABLE} ({definition})",
            f"ALTER TABLE {TABLE} ADD {definition}",
        )
        database.execute(create if is_new else add)
    return columns_by_name


def _distinct_column(name: str, taken_names: Iterable[str]) -> str:
    """Return the name, numbered if another name only differs in case, which SQLite ignores."""
    lower, number, candidate = {taken_name.lower() for taken_name in taken_names}, 1, name
    while candidate.lower() in lower:
        number += 1
        candidate = f"{name}_{number}"
    return candidate


def _quote(name: str) -> str:
    return '"' + name.replace('"', '""').replace("\0", "") + '"'


def _sqlite_type(kinds: Kinds) -> str:
    if kinds and kinds <= {"int", "bool"}:
        return "INTEGER"
    return "REAL" if kinds and kinds <= {"int", "float"} else "TEXT"


def _sqlite_cell(value: Any) -> Any:
    match value:
        case None | bool() | str() | float():
            return value
        case int() if -INT64 <= value < INT64:
            return value
        case Decimal() if value.is_finite():
            return f"{value:f}"  # SQLite converts this text in a numeric column
    return cell_text(value)


def sqlite_urls(file: Path, column: str) -> Iterator[str | None]:
    """Yield the URL of each row."""
    with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as database:
        names = {row[1] for row in database.execute(f"PRAGMA table_info({TABLE})")}
        name = _quote(column) if column in names else "NULL"
        for (url,) in database.execute(f"SELECT {name} FROM {TABLE}"):  # noqa: S608 - the table name is fixed
            yield url
