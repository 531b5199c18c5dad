"""What a layout of rows in an SQLite file does, and the statements that layouts share."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from zengraph._read_bytes import counted_rows
from zengraph.tables import Row, RowExtent, RowSizes, extents_of

COUNTED_BYTES = 65_536
"""Rows are counted together up to this number: a call for each costs 5 % of a read."""
ROWS_A_STATEMENT = 32
"""Each number of rows up to this one is a statement of its own, which SQLite keeps prepared."""

PAGE_BYTES = 4_194_304
"""A page of a scan ends with the row that makes it larger."""

RowItem = tuple[bytes, Mapping[bytes, bytes], int]
DeleteItem = tuple[bytes, Sequence[bytes] | None, int]
CheckItem = tuple[bytes, bytes, bytes | None, bytes]


class Layout(Protocol):
    """Statements of one table, on a connection whose transaction the caller has begun."""

    schema: str
    """Creates the table, up to where its rows lie (`schemas`)."""

    def get(self, db: sqlite3.Connection, row: bytes, columns: Sequence[bytes] | None) -> Row:
        """The row's cells, or those of `columns`."""

    def fetch(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> Iterable[tuple[bytes, Any]]:
        """The existing ones of these rows as they are stored, for `values` of `columns`."""
        return [(row, cells) for row in rows if (cells := self.get(db, row, columns))]

    def get_many(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> dict[bytes, Row]:
        """Existing rows with at least one of `columns`."""
        return {row: cells for row in rows if (cells := self.get(db, row, columns))}

    def values(
        self, fetched: Iterable[tuple[bytes, Any]], columns: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        """The values of `columns` of those fetched rows that have one of them."""
        return {
            row: tuple([x.value if (x := cells.get(c)) else None for c in columns])
            for row, cells in fetched
            if not cells.keys().isdisjoint(columns)
        }

    def sizes(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        """See `CellTable.sizes_many`."""

    def extents(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> dict[bytes, RowExtent]:
        """See `CellTable.extents_many`."""
        return extents_of(self.sizes(db, rows))

    def put(self, db: sqlite3.Connection, items: Sequence[RowItem]) -> None:
        """Put each (row, cells, at_ms); a row may occur several times."""

    def check_and_put(
        self, db: sqlite3.Connection, items: Sequence[CheckItem], at_ms: int
    ) -> list[bool]:
        """
        Put each (row, column, expected, value) whose cell is as expected; which ones were put.

        A later item sees what an earlier one has put. A value has the time `at_ms`, but never one
        before that of the value that it replaces: a clock set back must not lose a write.
        """
        done = []
        for row, column, expected, value in items:
            cell = self.get(db, row, [column]).get(column)
            is_expected = (cell and cell.value) == expected
            if is_expected:
                self.put(db, [(row, {column: value}, max(at_ms, cell.at_ms if cell else 0))])
            done.append(is_expected)
        return done

    def delete(self, db: sqlite3.Connection, items: Sequence[DeleteItem]) -> None:
        """Remove each (row, columns, at_ms)."""

    def scan(
        self,
        db: sqlite3.Connection,
        low: bytes,
        high: bytes | None,
        limit: int,
        columns: Sequence[bytes] | None,
        *,
        reverse: bool,
    ) -> tuple[list[tuple[bytes, Row]], bool]:
        """
        Up to `limit` rows of the range, in order, with `columns` and perhaps further cells.

        Fewer if they are large. And whether there may be more.
        """


def all_rows(cursor: sqlite3.Cursor) -> list[tuple[bytes, Any]]:
    """All rows, large ones counted before the next is read, if somebody counts them."""
    counted = counted_rows()
    if counted is None:
        return cursor.fetchall()
    rows: list[tuple[bytes, Any]] = []
    size = 0
    try:
        for row in cursor:
            rows.append(row)
            size += 0 if type(row[1]) is int else len(row[1])
            if size > COUNTED_BYTES:
                counted.add(size)
                size = 0
    except BaseException:
        cursor.close()  # the traceback would keep it, and the file as it is now with it
        raise
    counted.add(size)
    return rows


def kept_bytes(data: bytes, cells: Row, columns: Sequence[bytes] | None) -> int:
    """What a reader keeps of a row; of a small one simply its size."""
    if columns is None or len(data) <= COUNTED_BYTES:
        return len(data)
    return sum([len(cell.value) for cell in cells.values()])


def count_read(size: int) -> None:
    """Add to the bytes that were read, if somebody counts them."""
    if size and (counted := counted_rows()) is not None:
        counted.add(size)


def statements_for(name: str, columns: str) -> list[str]:
    """
    The statements that read 1, 2, … rows by their keys.

    Not `row IN (?, …)`, for which SQLite sorts the keys into a table of its own first.
    """
    return [
        f"SELECT {columns} FROM (VALUES {', '.join(['(?)'] * count)}) "  # noqa: S608
        f"CROSS JOIN {name} ON row=column1"
        for count in range(1, ROWS_A_STATEMENT + 1)
    ]


def scans(select: str) -> dict[tuple[bool, bool], str]:
    """The scan's statement by (has an end, reverse)."""
    return {
        (ends, reverse): f"{select} WHERE row>=?{' AND row<?' if ends else ''} "
        f"ORDER BY row{' DESC' if reverse else ''} LIMIT ?"
        for ends in (True, False)
        for reverse in (True, False)
    }


def scan_of(
    statements: Mapping[tuple[bool, bool], str],
    low: bytes,
    high: bytes | None,
    limit: int,
    *,
    reverse: bool,
) -> tuple[str, tuple[bytes | int, ...]]:
    """The statement of `scans` for a range, and its arguments."""
    ends = () if high is None else (high,)
    return statements[high is not None, reverse], (low, *ends, limit)
