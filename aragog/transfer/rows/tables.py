"""
Arrange rows as a table: find its columns, and flatten records into columns.

A record, even a nested one, becomes one column per member, `NAME.MEMBER`. If there would be more
than `MAX_COLUMNS` columns, records stay JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import orjson

Row = dict[str, Any]
Rows = Callable[[], Iterator[Row]]
"""Starts a new iteration over the rows."""
Kinds = set[str]
"""The kinds of values in a column: `bool`, `int`, `float`, `str`, `strings`, `json`."""

MAX_COLUMNS = 500
INT64 = 2**63
"""Integers in a table are at least -INT64 and below INT64."""


def build_table(rows: Rows, names: Sequence[str]) -> tuple[dict[str, Kinds], Rows]:
    """
    Return a table's columns, in order, and its rows. To find the columns, all rows are read, twice
    if there are too many columns.

    The columns in `names` come first, even without values. A record's members take its position.
    """

    def flat_rows() -> Iterator[Row]:
        return map(flatten, rows())

    columns = _columns(flat_rows(), names)
    if len(columns) > MAX_COLUMNS:
        return _columns(rows(), names), rows
    return columns, flat_rows


def flatten(row: Mapping[str, Any], prefix: str = "") -> Row:
    """Return the row with one column for each member of its records."""
    columns: Row = {}
    for name, value in row.items():
        if isinstance(value, dict) and value:
            columns |= flatten(value, f"{prefix}{name}.")
        else:
            columns[f"{prefix}{name}"] = value
    return columns


def _columns(rows: Iterable[Row], names: Sequence[str]) -> dict[str, Kinds]:
    kinds_by_column: dict[str, Kinds] = {name: set() for name in names}
    for row in rows:
        for name, value in row.items():
            kinds = kinds_by_column.setdefault(name, set())
            if value is not None:
                kinds.add(_kind(value))
    positions = {name: number for number, name in enumerate(names)}
    requested_names = {name: _covering_name(name, positions) for name in kinds_by_column}
    record_columns = {record for name, record in requested_names.items() if record != name}
    ordered = sorted(
        kinds_by_column, key=lambda name: positions.get(requested_names[name], len(positions))
    )
    return {
        name: kinds_by_column[name]
        for name in ordered
        if kinds_by_column[name] or name not in record_columns
    }


def _covering_name(column: str, positions: Mapping[str, int]) -> str:
    """
    Return the requested name that includes this column: its own name, or that of a record around
    it. If none was requested, return the column's name.
    """
    name = column
    while name not in positions and "." in name:
        name = name.rpartition(".")[0]
    return name if name in positions else column


def _kind(value: Any) -> str:
    match value:
        case bool():
            return "bool"
        case int():
            return "int" if -INT64 <= value < INT64 else "json"
        case float() | Decimal():
            return "float"
        case str():
            return "str"
        case list() if all(isinstance(item, str) for item in value):
            return "strings"
    return "json"


def exact_json(value: Any) -> Any:
    """Convert decimals to JSON numbers with exact digits, and bytes to text."""
    if isinstance(value, Decimal) and value.is_finite():
        return orjson.Fragment(f"{value:f}".encode())
    return value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)


def cell_text(value: Any) -> str:
    """Return a value as the text of a cell."""
    match value:
        case None:
            return ""
        case str():
            return value
        case Decimal() if value.is_finite():
            return f"{value:f}"
    return orjson.dumps(value, default=exact_json).decode()
