"""The interface of row layouts in SQLite files, and shared statements."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from zengraph._read_bytes import counted_rows
from zengraph.tables import Row, RowExtent, RowSizes, Unneeded, sum_sizes

COUNTED_BYTES = 65_536
"""
Bytes are counted in steps of this size, because a call for each row would cost 5% of a read's time.
"""
MAX_ROWS_PER_STATEMENT = 32
"""
Reads of up to this many rows use a statement for exactly that number, which SQLite keeps prepared.
"""

PAGE_BYTES = 4_194_304
"""A scan's page ends with the row that makes it exceed this size."""

RowItem = tuple[bytes, Mapping[bytes, bytes], int]
DeleteItem = tuple[bytes, Sequence[bytes] | None, int]
CheckItem = tuple[bytes, bytes, bytes | None, bytes]


class Layout(Protocol):
    """Statements for one table. The caller begins the transactions."""

    schema: str
    """The statement that creates the table, without storage options (see `schemas`)."""

    def get(self, db: sqlite3.Connection, row: bytes, columns: Sequence[bytes] | None) -> Row:
        """Return the row's cells, or only those of `columns`."""

    def fetch(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> Iterable[tuple[bytes, Any]]:
        """Return the stored data of existing rows, in a format that `values` accepts."""
        return [(row, cells) for row in rows if (cells := self.get(db, row, columns))]

    def get_many(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> dict[bytes, Row]:
        """Return existing rows that have any of `columns`."""
        return {row: cells for row in rows if (cells := self.get(db, row, columns))}

    def get_many_needed(
        self, db: sqlite3.Connection, rows: Sequence[bytes], guide: bytes, unneeded: Unneeded
    ) -> dict[bytes, Row]:
        """See `CellTable.get_many_needed`."""
        del guide, unneeded
        return self.get_many(db, rows, None)

    def get_many_names(
        self, db: sqlite3.Connection, rows: Sequence[bytes], column: bytes
    ) -> dict[bytes, Row]:
        """See `CellTable.get_many_names`."""
        del column
        return self.get_many(db, rows, None)

    def values(
        self, fetched: Iterable[tuple[bytes, Any]], columns: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        """Return the values of `columns` for each fetched row that has any."""
        return {
            row: tuple([x.value if (x := cells.get(c)) else None for c in columns])
            for row, cells in fetched
            if not cells.keys().isdisjoint(columns)
        }

    def sizes(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        """See `CellTable.sizes_many`."""

    def extents(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> dict[bytes, RowExtent]:
        """See `CellTable.extents_many`."""
        return sum_sizes(self.sizes(db, rows))

    def put(self, db: sqlite3.Connection, items: Sequence[RowItem]) -> None:
        """Put each (row, cells, at_ms); a row may occur several times."""

    def check_and_put(
        self, db: sqlite3.Connection, items: Sequence[CheckItem], at_ms: int
    ) -> list[bool]:
        """
        Put each (row, column, expected, value) whose cell has the expected value. Returns, for each
        item, True if it was put.

        A later item sees the puts of earlier ones. A cell gets the time `at_ms` or, if later, the
        replaced cell's time, so that a clock that was set back loses no write.
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
        Return up to `limit` rows of the range, in order, and True if there may be more.

        The rows have `columns`, and may have other cells. Large rows can make the page shorter.
        """


def all_rows(cursor: sqlite3.Cursor) -> list[tuple[bytes, Any]]:
    """Fetch all rows. If a counter is active, each large row is counted before the next is read."""
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
        cursor.close()  # otherwise the traceback would keep it open with its snapshot of the file
        raise
    counted.add(size)
    return rows


def kept_bytes(data: bytes, cells: Row, columns: Sequence[bytes] | None) -> int:
    """Return how many bytes of a row its reader keeps; all of a small row."""
    if columns is None or len(data) <= COUNTED_BYTES:
        return len(data)
    return sum([len(cell.value) for cell in cells.values()])


def count_read(size: int) -> None:
    """Count bytes if a counter is active."""
    if size and (counted := counted_rows()) is not None:
        counted.add(size)


def statements_for(name: str, columns: str) -> list[str]:
    """
    Return the statements that read 1, 2, … rows by their keys.

    They avoid `row IN (?, …)`, because SQLite sorts such a list into a temporary table.
    """
    return [
        f"SELECT {columns} FROM (VALUES {', '.join(['(?)'] * count)}) "  # noqa: S608
        f"CROSS JOIN {name} ON row=column1"
        for count in range(1, MAX_ROWS_PER_STATEMENT + 1)
    ]


def scans(select: str) -> dict[tuple[bool, bool], str]:
    """Scan statements by (range has an end, reverse)."""
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
    """Return the statement of `scans` for a range, and its arguments."""
    ends = () if high is None else (high,)
    return statements[high is not None, reverse], (low, *ends, limit)
