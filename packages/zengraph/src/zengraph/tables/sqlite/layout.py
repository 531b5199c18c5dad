"""
The two layouts of rows in an SQLite file.

`Packed` stores a row in one value: right for nodes, whose twenty-odd cells are read and written
together (measured, 25 cells: 6 µs instead of 15 to read, 20 instead of 60 to write).
`Single` stores a row per cell: right for everything else, which has one to three cells, is written
without being read before, and has its timestamps compared by the engine.

Small cells lie in the tree of their keys. Large ones do not: inner pages of such a tree hold whole
cells, so those of 1 KB leave four branches to a page, and each write changes more pages the more
there are. They lie in the order of their arrival, and an index of keys leads to them; in files
of the first form they lie in the tree.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from zengraph._read_bytes import counted_rows
from zengraph.tables import TABLES, TOGETHER, Cell, CellSize, Row, RowSizes
from zengraph.tables._packed import CellPut, merged, pack, unpack, updated, values_of_rows, without
from zengraph.tables._packed_parts import LARGE_BYTES, sizes_of
from zengraph.tables.sqlite.large_rows import LargePackedRows

_COUNTED_BYTES = 65_536
"""Rows are counted together up to this number: a call for each costs 5 % of a read."""
_ROWS_A_STATEMENT = 32
"""Each number of rows up to this one is a statement of its own, which SQLite keeps prepared."""

_PAGE_BYTES = 4_194_304
"""A page of a scan ends with the row that makes it larger."""

RowItem = tuple[bytes, Mapping[bytes, bytes], int]
DeleteItem = tuple[bytes, Sequence[bytes] | None, int]


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

    def put(self, db: sqlite3.Connection, items: Sequence[RowItem]) -> None:
        """Put each (row, cells, at_ms); a row may occur several times."""

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


class Packed(Layout):
    """Stores a row of the table as one row of the file."""

    def __init__(self, name: str) -> None:
        # Not WITHOUT ROWID: such tables store values over 1 KB out of line, one more page a read.
        self.schema = f"CREATE TABLE IF NOT EXISTS {name} (row BLOB PRIMARY KEY, data BLOB)"
        # A row that is too large to be read whole is only measured here: then `data` is its size.
        some = f"CASE WHEN length(data)<={LARGE_BYTES} THEN data ELSE length(data) END"
        self._get = f"SELECT {some} FROM {name} WHERE row=?"  # noqa: S608
        self._get_some = _get_some(name, f"row, {some}")
        self._put = (
            f"INSERT INTO {name} (row, data) VALUES (?, ?) "  # noqa: S608
            "ON CONFLICT (row) DO UPDATE SET data=excluded.data"
        )
        self._delete = f"DELETE FROM {name} WHERE row=?"  # noqa: S608
        self._scan = _scans(f"SELECT row, {some} FROM {name}")  # noqa: S608
        self._large = LargePackedRows(name)

    def get(self, db: sqlite3.Connection, row: bytes, columns: Sequence[bytes] | None) -> Row:
        rows = db.execute(self._get, (row,)).fetchone()
        if not rows:
            return {}
        data = rows[0]
        if type(data) is int:
            return unpack(self._large.read(db, row, columns), columns)
        cells = unpack(data, columns)
        if (counted := counted_rows()) is not None:
            counted.add(_kept_bytes(data, cells, columns))
        return cells

    def get_many(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> dict[bytes, Row]:
        if counted_rows() is not None:  # each row is counted before the next one is read
            return super().get_many(db, rows, columns)
        found = self._with_large(db, self._measured(db, rows), columns)
        return {row: cells for row, data in found if (cells := unpack(data, columns))}

    def fetch(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> Iterable[tuple[bytes, Any]]:
        return self._with_large(db, self._measured(db, rows), columns)

    def _measured(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> list[tuple[bytes, Any]]:
        """The existing ones of these rows: packed, or the size of a large one."""
        if len(rows) <= _ROWS_A_STATEMENT:
            return _counted(db.execute(self._get_some[len(rows) - 1], rows))
        parts = [rows[at : at + _ROWS_A_STATEMENT] for at in range(0, len(rows), _ROWS_A_STATEMENT)]
        return [pair for part in parts for pair in self._measured(db, part)]

    def _with_large(
        self,
        db: sqlite3.Connection,
        measured: list[tuple[bytes, Any]],
        columns: Sequence[bytes] | None,
    ) -> list[tuple[bytes, Any]]:
        for at, (row, data) in enumerate(measured):
            if type(data) is int:
                measured[at] = row, self._large.read(db, row, columns)
        return measured

    def values(
        self, fetched: Iterable[tuple[bytes, Any]], columns: tuple[bytes, ...]
    ) -> dict[bytes, tuple[bytes | None, ...]]:
        return values_of_rows(fetched, columns)

    def sizes(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        return {
            row: self._large.sizes(db, row) if type(data) is int else sizes_of(unpack(data))
            for row, data in self._measured(db, rows)
        }

    def put(self, db: sqlite3.Connection, items: Sequence[RowItem]) -> None:
        puts: dict[bytes, list[CellPut]] = {}
        for row, cells, at_ms in items:
            if cells:
                puts.setdefault(row, []).append((cells, at_ms))
        old = dict(self._measured(db, list(puts)))
        for row in [row for row, data in old.items() if type(data) is int]:
            self._large.change(db, row, partial(merged, puts=puts.pop(row)))
        new = [
            (row, updated(old[row], some) if row in old else pack(merged({}, some)))
            for row, some in puts.items()
        ]
        db.executemany(self._put, new)

    def delete(self, db: sqlite3.Connection, items: Sequence[DeleteItem]) -> None:
        for row, columns, at_ms in items:
            for _, data in self._measured(db, [row]):
                if type(data) is int:
                    change = partial(without, columns=columns, at_ms=at_ms)
                    self._large.change(db, row, change)
                else:
                    self._delete_from(db, row, data, columns, at_ms)

    def _delete_from(
        self,
        db: sqlite3.Connection,
        row: bytes,
        data: bytes,
        columns: Sequence[bytes] | None,
        at_ms: int,
    ) -> None:
        old = unpack(data)
        left = without(old, columns, at_ms)
        if left and len(left) < len(old):
            db.execute(self._put, (row, pack(left)))
        elif old and not left:
            db.execute(self._delete, (row,))

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
        sql, arguments = _scan(self._scan, low, high, limit, reverse=reverse)
        cursor = db.execute(sql, arguments)
        rows: list[tuple[bytes, Any]] = []
        size = 0
        for row, data in cursor:
            rows.append((row, data))
            size += _PAGE_BYTES if type(data) is int else len(data)
            if size > _PAGE_BYTES:
                break
        cursor.close()
        more = len(rows) == limit or size > _PAGE_BYTES
        large = {row for row, data in rows if type(data) is int}  # counted when they are read
        found = [
            (row, data, unpack(data, columns)) for row, data in self._with_large(db, rows, columns)
        ]
        _count(sum([_kept_bytes(d, cells, columns) for row, d, cells in found if row not in large]))
        return [(row, cells) for row, _, cells in found], more


def _counted(cursor: sqlite3.Cursor) -> list[tuple[bytes, Any]]:
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
            if size > _COUNTED_BYTES:
                counted.add(size)
                size = 0
    except BaseException:
        cursor.close()  # the traceback would keep it, and the file as it is now with it
        raise
    counted.add(size)
    return rows


def _kept_bytes(data: bytes, cells: Row, columns: Sequence[bytes] | None) -> int:
    """What a reader keeps of a row; of a small one simply its size."""
    if columns is None or len(data) <= _COUNTED_BYTES:
        return len(data)
    return sum([len(cell.value) for cell in cells.values()])


def _count(size: int) -> None:
    if size and (counted := counted_rows()) is not None:
        counted.add(size)


class Single(Layout):
    """Stores a cell of the table as one row of the file."""

    def __init__(self, name: str) -> None:
        self.schema = (
            f"CREATE TABLE IF NOT EXISTS {name} (row BLOB, col BLOB, at INTEGER, value BLOB, "
            "PRIMARY KEY (row, col))"
        )
        self._get = f"SELECT col, value, at FROM {name} WHERE row=?"  # noqa: S608
        self._sizes = f"SELECT col, length(value), at FROM {name} WHERE row=?"  # noqa: S608
        self._get_some = _get_some(name, "row, col, value, at")
        self._put = (
            f"INSERT INTO {name} VALUES (?, ?, ?, ?) "  # noqa: S608
            "ON CONFLICT (row, col) DO UPDATE SET at=excluded.at, value=excluded.value "
            "WHERE excluded.at >= at"
        )
        self._delete = f"DELETE FROM {name} WHERE row=? AND at<=?"  # noqa: S608
        # A page is counted in rows, not in cells, so their keys are found first.
        keys = _scans(f"SELECT DISTINCT row FROM {name}")  # noqa: S608
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
        _count(sum([len(value) for _, value, _ in rows]))
        if columns is None:
            return {column: Cell(value, at_ms) for column, value, at_ms in rows}
        return {column: Cell(value, at_ms) for column, value, at_ms in rows if column in columns}

    def get_many(
        self, db: sqlite3.Connection, rows: Sequence[bytes], columns: Sequence[bytes] | None
    ) -> dict[bytes, Row]:
        result: dict[bytes, Row] = {}
        for at in range(0, len(rows), _ROWS_A_STATEMENT):
            some = rows[at : at + _ROWS_A_STATEMENT]
            size = 0
            for row, column, value, at_ms in db.execute(self._get_some[len(some) - 1], some):
                if columns is None or column in columns:
                    cell = tuple.__new__(Cell, (value, at_ms))  # half the time of Cell(…)
                    size += len(value)
                    if row in result:
                        result[row][column] = cell
                    else:
                        result[row] = {column: cell}
            _count(size)
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
        columns: Sequence[bytes] | None,  # noqa: ARG002 - cells are read as they lie
        *,
        reverse: bool,
    ) -> tuple[list[tuple[bytes, Row]], bool]:
        sql, arguments = _scan(self._scan, low, high, limit, reverse=reverse)
        rows: dict[bytes, Row] = {}
        size = 0
        cursor = db.execute(sql, arguments)
        for row, column, value, at_ms in cursor:
            if row not in rows:
                if size > _PAGE_BYTES:
                    break
                rows[row] = {}
            rows[row][column] = Cell(value, at_ms)
            size += len(value)
        cursor.close()
        _count(size)
        return list(rows.items()), len(rows) == limit or size > _PAGE_BYTES

    def sizes(self, db: sqlite3.Connection, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        found: dict[bytes, RowSizes] = {}
        for row in rows:
            cells = db.execute(self._sizes, (row,)).fetchall()
            if cells:
                found[row] = {column: CellSize(size, at_ms) for column, size, at_ms in cells}
        return found


def _get_some(name: str, columns: str) -> list[str]:
    """
    The statements that read 1, 2, … rows by their keys.

    Not `row IN (?, …)`, for which SQLite sorts the keys into a table of its own first.
    """
    return [
        f"SELECT {columns} FROM (VALUES {', '.join(['(?)'] * count)}) "  # noqa: S608
        f"CROSS JOIN {name} ON row=column1"
        for count in range(1, _ROWS_A_STATEMENT + 1)
    ]


def _scans(select: str) -> dict[tuple[bool, bool], str]:
    """The scan's statement by (has an end, reverse)."""
    return {
        (ends, reverse): f"{select} WHERE row>=?{' AND row<?' if ends else ''} "
        f"ORDER BY row{' DESC' if reverse else ''} LIMIT ?"
        for ends in (True, False)
        for reverse in (True, False)
    }


def _scan(
    statements: Mapping[tuple[bool, bool], str],
    low: bytes,
    high: bytes | None,
    limit: int,
    *,
    reverse: bool,
) -> tuple[str, tuple[bytes | int, ...]]:
    ends = () if high is None else (high,)
    return statements[high is not None, reverse], (low, *ends, limit)


LAYOUTS: Mapping[str, Layout] = {
    name: Packed(name) if name == "n" else Single(name) for name in TABLES
}

_LARGE = ("o", "l")
"""Tables of large cells: outlinks, and lists of inlinks."""


def is_by_number(name: str, form: int) -> bool:
    """True if the rows of a table lie by their numbers in files of that form, not by their keys."""
    return isinstance(LAYOUTS[name], Packed) or (name in _LARGE and form >= TOGETHER)


def schemas(form: int) -> list[str]:
    """The statements that create the tables of a file of that form."""
    return [
        layout.schema + ("" if is_by_number(name, form) else " WITHOUT ROWID")
        for name, layout in LAYOUTS.items()
    ]
