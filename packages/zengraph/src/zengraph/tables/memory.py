"""
In-memory cell tables, for tests and as the reference implementation.

With `masking`, a delete hides later puts that are not newer, as HBase does until it compacts.
"""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence

from zengraph.clock import Clock, SystemClock
from zengraph.tables import (
    FORMAT,
    TABLES,
    Cell,
    CellTable,
    Row,
    RowRange,
    Scan,
    Tables,
    Unneeded,
    refuse_empty,
)
from zengraph.tables._packed import merge_row, without

_COUNTER_BYTES = 8


class MemoryTable(CellTable):
    """One table; threads may share it."""

    def __init__(self, clock: Clock, *, masking: bool) -> None:
        self._clock = clock
        self._masking = masking
        self._lock = threading.RLock()
        self._rows: dict[bytes, Row] = {}
        self._keys: list[bytes] = []
        self._deleted: dict[tuple[bytes, bytes | None], int] = {}

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        with self._lock:
            cells = self._rows.get(row, {})
            if columns is None:
                return dict(cells)
            return {column: cells[column] for column in columns if column in cells}

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        return {row: cells for row in rows if (cells := self.get(row, columns))}

    def get_many_names(self, rows: Sequence[bytes], column: bytes) -> dict[bytes, Row]:
        return {
            row: {c: cell if c == column else Cell(b"", 0) for c, cell in cells.items()}
            for row, cells in self.get_many(rows).items()
        }

    def get_many_needed(
        self, rows: Sequence[bytes], guide: bytes, unneeded: Unneeded
    ) -> dict[bytes, Row]:
        found = self.get_many(rows)
        for row, cells in found.items():
            if guide in cells:
                columns = unneeded(row, cells[guide].value)
                cells.update({c: Cell(b"", 0) for c in cells if c in columns})
        return found

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        with self._lock:
            shown = {c: v for c, v in cells.items() if not self._masked(row, c, at_ms)}
            self._set(row, merge_row(self._rows.get(row, {}), [(shown, at_ms)]))

    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        for row, cells, at_ms in items:
            self.put(row, cells, at_ms=at_ms)

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        with self._lock:
            self._set(row, without(self._rows.get(row, {}), columns, at_ms))
            if self._masking:
                for column in [None] if columns is None else columns:
                    key = (row, column)
                    self._deleted[key] = max(at_ms, self._deleted.get(key, at_ms))

    def delete_many(self, items: Sequence[tuple[bytes, Sequence[bytes] | None, int]]) -> None:
        for row, columns, at_ms in items:
            self.delete(row, columns, at_ms=at_ms)

    def _scan(self, rows: RowRange) -> Scan:
        start, stop, columns, limit, reverse = rows
        with self._lock:
            first = bisect_left(self._keys, start)
            last = len(self._keys) if stop is None else bisect_left(self._keys, stop)
            keys = self._keys[first:last]
        count = 0
        for row in reversed(keys) if reverse else keys:
            if limit is not None and count >= limit:
                return
            cells = self.get(row, columns)
            if cells:
                count += 1
                yield row, cells

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        return [self._check_and_put(*item) for item in items]

    def _check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        refuse_empty(column, expected, value)
        with self._lock:
            cell = self._rows.get(row, {}).get(column)
            if (cell and cell.value) != expected:
                return False
            self._stamp(row, column, value, cell)
            return True

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        with self._lock:
            cell = self._rows.get(row, {}).get(column)
            count = delta + (int.from_bytes(cell.value, signed=True) if cell else 0)
            self._stamp(row, column, count.to_bytes(_COUNTER_BYTES, signed=True), cell)
            return count

    def _stamp(self, row: bytes, column: bytes, value: bytes, old: Cell | None) -> None:
        at_ms = max(self._clock.now_ms(), old.at_ms if old else 0)
        while self._masked(row, column, at_ms):
            at_ms += 1
        self._set(row, merge_row(self._rows.get(row, {}), [({column: value}, at_ms)]))

    def _masked(self, row: bytes, column: bytes, at_ms: int) -> bool:
        deleted = self._deleted
        return at_ms <= max(deleted.get((row, None), -1), deleted.get((row, column), -1))

    def _set(self, row: bytes, cells: Row) -> None:
        if cells and row not in self._rows:
            insort(self._keys, row)
        elif not cells and row in self._rows:
            del self._keys[bisect_left(self._keys, row)]
        if cells:
            self._rows[row] = cells
        else:
            self._rows.pop(row, None)


class MemoryTables(Tables):
    """All tables, initially empty. `form` is the result of `format`."""

    def __init__(
        self, clock: Clock | None = None, *, masking: bool = False, form: int = FORMAT
    ) -> None:
        clock = clock or SystemClock()
        self._form = form
        self._tables = {name: MemoryTable(clock, masking=masking) for name in TABLES}

    def __getitem__(self, name: str) -> MemoryTable:
        return self._tables[name]

    def format(self) -> int:
        return self._form
