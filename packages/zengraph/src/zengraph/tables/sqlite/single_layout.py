"""
A layout that stores each cell of the table as one row of the file.

Used for tables whose rows have one to three cells. The statement that writes a cell compares
timestamps, so the row is not read first.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Container, Sequence
from contextlib import closing

from zengraph._read_bytes import counted_rows
from zengraph.tables import Cell, CellSize, Row, RowSizes, Unneeded
from zengraph.tables.sqlite.layout import (
    MAX_ROWS_PER_STATEMENT,
    PAGE_BYTES,
    CheckItem,
    DeleteItem,
    Layout,
    RowItem,
    count_read,
    scan_of,
    scans,
    statements_for,
)


class Single(Layout):
    """Stores each cell of the table as one row of the file."""

    def __init__(self, name: str) -> None:
        self.schema = (
            f"CREATE TABLE IF NOT EXISTS {name} (row BLOB, col BLOB, at INTEGER, value BLOB, "
            "PRIMARY KEY (row, col))"
        )
        self._get = f"SELECT col, value, at FROM {name} WHERE row=?"  # noqa: S608
        self._sizes = f"SELECT col, length(value), at FROM {name} WHERE row=?"  # noqa: S608
        self._get_some = statements_for(name, "row, col, value, at")
        self._columns = f"SELECT col FROM {name} WHERE row=?"  # noqa: S608
        self._get_cells = [
            f"{sql.removesuffix('row=column1')}row=? AND col=column1"
            for sql in statements_for(name, "col, value, at")
        ]
        # Columns are in the key's index. SQLite reads a cell itself only if it needs the value.
        self._get_names = statements_for(name, "row, col, CASE WHEN col=? THEN value END")
        self._put = (
            f"INSERT INTO {name} VALUES (?, ?, ?, ?) "  # noqa: S608
            "ON CONFLICT (row, col) DO UPDATE SET at=excluded.at, value=excluded.value "
            "WHERE excluded.at >= at"
        )
        self._put_new = f"INSERT INTO {name} VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING"  # noqa: S608
        self._put_expected = (
            f"UPDATE {name} SET at=max(at, ?), value=? WHERE row=? AND col=? AND value=?"  # noqa: S608
        )
        self._delete = f"DELETE FROM {name} WHERE row=? AND at<=?"  # noqa: S608
        # A page's limit counts rows, not cells, so a subquery first selects the rows' keys.
        keys = scans(f"SELECT DISTINCT row FROM {name}")  # noqa: S608
        self._scan = {
            shape: f"SELECT row, col, value, at FROM {name} WHERE row IN ({sql}) ORDER BY row"  # noqa: S608
            + (" DESC" if shape[1] else "")
            for shape, sql in keys.items()
        }

    def get(self, db: sqlite3.Connection, row: bytes, columns: Sequence[bytes] | None) -> Row:
        if columns is not None and len(columns) == 1:
            rows = db.execute(self._get + " AND col=?", (row, columns[0])).fetchall()
        else:
            rows = db.execute(self._get, (row,)).fetchall()
        count_read(sum([len(value) for _, value, _ in rows]))
        if columns is None:
            return {column: Cell(value, at_ms) for column, value, at_ms in rows}
        return {column: Cell(value, at_ms) for column, value, at_ms in rows if column in columns}

    def get_many(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> dict[bytes, Row]:
        result: dict[bytes, Row] = {}
        for at in range(0, len(rows), MAX_ROWS_PER_STATEMENT):
            some = rows[at : at + MAX_ROWS_PER_STATEMENT]
            size = 0
            for row, column, value, at_ms in db.execute(self._get_some[len(some) - 1], some):
                if columns is None or column in columns:
                    cell = tuple.__new__(Cell, (value, at_ms))  # half the time of Cell(…)
                    size += len(value)
                    if row in result:
                        result[row][column] = cell
                    else:
                        result[row] = {column: cell}
            count_read(size)
        return result

    def get_many_needed(
        self, db: sqlite3.Connection, rows: Sequence[bytes], guide: bytes, unneeded: Unneeded
    ) -> dict[bytes, Row]:
        if not rows:
            return {}
        if len(rows) > MAX_ROWS_PER_STATEMENT or counted_rows() is not None:
            return self.get_many(db, rows, None)
        result: dict[bytes, Row] = {}
        # SQLite returns cells in the order of columns, so it reads few before `guide`. While
        # this cursor is open, the statements below see the same snapshot.
        with closing(db.execute(self._get_some[len(rows) - 1], rows)) as cursor:
            for row, column, value, at_ms in cursor:
                if column == guide:
                    rest = [key for key in rows if key != row]
                    found = self.get_many_needed(db, rest, guide, unneeded)
                    found[row] = self._needed(db, row, unneeded(row, value))
                    return found
                result.setdefault(row, {})[column] = tuple.__new__(Cell, (value, at_ms))
        return result

    def _needed(self, db: sqlite3.Connection, row: bytes, unneeded: Container[bytes]) -> Row:
        columns = [column for (column,) in db.execute(self._columns, (row,))]
        cells = dict.fromkeys(columns, Cell(b"", 0))
        needed = [column for column in columns if column not in unneeded]
        for at in range(0, len(needed), MAX_ROWS_PER_STATEMENT):
            some = needed[at : at + MAX_ROWS_PER_STATEMENT]
            for column, value, at_ms in db.execute(self._get_cells[len(some) - 1], (*some, row)):
                cells[column] = Cell(value, at_ms)
        return cells

    def get_many_names(
        self, db: sqlite3.Connection, rows: Sequence[bytes], column: bytes
    ) -> dict[bytes, Row]:
        result: dict[bytes, Row] = {}
        for at in range(0, len(rows), MAX_ROWS_PER_STATEMENT):
            some = rows[at : at + MAX_ROWS_PER_STATEMENT]
            size = 0
            for row, name, value in db.execute(self._get_names[len(some) - 1], (column, *some)):
                cell = Cell(value or b"", 0)
                size += len(cell.value)
                result.setdefault(row, {})[name] = cell
            count_read(size)
        return result

    def put(self, db: sqlite3.Connection, items: Sequence[RowItem]) -> None:
        db.executemany(
            self._put,
            [
                (row, column, at_ms, value)
                for row, cells, at_ms in items
                for column, value in cells.items()
            ],
        )

    def check_and_put(
        self, db: sqlite3.Connection, items: Sequence[CheckItem], at_ms: int
    ) -> list[bool]:
        """Let SQLite compare the values, with one statement per item."""
        done = []
        for row, column, expected, value in items:
            if expected is None:
                cursor = db.execute(self._put_new, (row, column, at_ms, value))
            else:
                cursor = db.execute(self._put_expected, (at_ms, value, row, column, expected))
            done.append(cursor.rowcount == 1)
        return done

    def delete(self, db: sqlite3.Connection, items: Sequence[DeleteItem]) -> None:
        whole = [(row, at_ms) for row, columns, at_ms in items if columns is None]
        cells = [(row, at_ms, c) for row, columns, at_ms in items for c in columns or ()]
        if whole:
            db.executemany(self._delete, whole)
        if cells:
            db.executemany(self._delete + " AND col=?", cells)

    def scan(
        self,
        db: sqlite3.Connection,
        low: bytes,
        high: bytes | None,
        limit: int,
        columns: Sequence[bytes] | None,  # noqa: ARG002 - every column is read
        *,
        reverse: bool,
    ) -> tuple[list[tuple[bytes, Row]], bool]:
        sql, arguments = scan_of(self._scan, low, high, limit, reverse=reverse)
        rows: dict[bytes, Row] = {}
        size = 0
        cursor = db.execute(sql, arguments)
        for row, column, value, at_ms in cursor:
            if row not in rows:
                if size > PAGE_BYTES:
                    break
                rows[row] = {}
            rows[row][column] = Cell(value, at_ms)
            size += len(value)
        cursor.close()
        count_read(size)
        return list(rows.items()), len(rows) == limit or size > PAGE_BYTES

    def sizes(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        found: dict[bytes, RowSizes] = {}
        for row in rows:
            cells = db.execute(self._sizes, (row,)).fetchall()
            if cells:
                found[row] = {column: CellSize(size, at_ms) for column, size, at_ms in cells}
        return found
