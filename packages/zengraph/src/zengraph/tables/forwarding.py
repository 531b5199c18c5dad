"""
Tables that pass every call on to other tables. Subclasses override the methods that they change.

Each method is passed on by itself, because an engine may have a faster one than the interface's
default, such as one round trip for two reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from zengraph.tables import (
    CellTable,
    Deletion,
    Put,
    Row,
    RowExtent,
    RowRange,
    RowSizes,
    Salvaged,
    Scan,
    Tables,
    Unneeded,
)

Values = tuple[bytes | None, ...]
Cells = Mapping[bytes, bytes]


class ForwardingTable(CellTable):
    """Passes every call on to a table."""

    def __init__(self, table: CellTable) -> None:
        self._table = table

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        return self._table.get(row, columns)

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        return self._table.get_many(rows, columns)

    def get_many_needed(
        self, rows: Sequence[bytes], guide: bytes, unneeded: Unneeded
    ) -> dict[bytes, Row]:
        return self._table.get_many_needed(rows, guide, unneeded)

    def get_many_names(self, rows: Sequence[bytes], column: bytes) -> dict[bytes, Row]:
        return self._table.get_many_names(rows, column)

    def get_each(self, rows: Sequence[bytes], columns: Sequence[bytes]) -> list[Row]:
        return self._table.get_each(rows, columns)

    def values_many(self, rows: Sequence[bytes], columns: tuple[bytes, ...]) -> dict[bytes, Values]:
        return self._table.values_many(rows, columns)

    def sizes_many(self, rows: Sequence[bytes]) -> dict[bytes, RowSizes]:
        return self._table.sizes_many(rows)

    def extents_many(self, rows: Sequence[bytes]) -> dict[bytes, RowExtent]:
        return self._table.extents_many(rows)

    def get_prefix(self, row: bytes, prefix: bytes, limit: int, start_after: bytes = b"") -> Row:
        return self._table.get_prefix(row, prefix, limit, start_after)

    def put(self, row: bytes, cells: Cells, *, at_ms: int) -> None:
        self._table.put(row, cells, at_ms=at_ms)

    def put_many(self, items: Sequence[tuple[bytes, Cells, int]]) -> None:
        self._table.put_many(items)

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        self._table.delete(row, columns, at_ms=at_ms)

    def delete_many(self, items: Sequence[Deletion]) -> None:
        self._table.delete_many(items)

    def put_and_delete_many(
        self, puts: Sequence[tuple[bytes, Cells, int]], deletions: Sequence[Deletion]
    ) -> None:
        self._table.put_and_delete_many(puts, deletions)

    def get_then_scan(
        self,
        row: bytes,
        columns: Sequence[bytes],
        start: bytes,
        stop: bytes,
        *,
        limit: int,
        reverse: bool = False,
    ) -> tuple[Row, Scan]:
        return self._table.get_then_scan(row, columns, start, stop, limit=limit, reverse=reverse)

    def _scan(self, rows: RowRange) -> Scan:
        return self._table.scan(
            rows.start, rows.stop, columns=rows.columns, limit=rows.limit, reverse=rows.reverse
        )

    def check_and_put(
        self, row: bytes, column: bytes, expected: bytes | None, value: bytes
    ) -> bool:
        return self._table.check_and_put(row, column, expected, value)

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        return self._table.check_and_put_many(items)

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        return self._table.incr(row, column, delta)


class ForwardingTables(Tables):
    """Passes every call on to an engine's tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def __getitem__(self, name: str) -> CellTable:
        return self._tables[name]

    def write(self, puts: Sequence[Put]) -> None:
        self._tables.write(puts)

    def create(self) -> None:
        self._tables.create()

    def identity(self) -> str:
        return self._tables.identity()

    def format(self) -> int:
        return self._tables.format()

    def serves(self, first_byte: int) -> bool:
        return self._tables.serves(first_byte)

    def check(self) -> list[str]:
        return self._tables.check()

    def salvage(self, report: Callable[[str], None] = lambda _: None) -> list[Salvaged]:
        return self._tables.salvage(report)

    def salvage_finished(self, done: Sequence[Salvaged]) -> None:
        self._tables.salvage_finished(done)

    def scrub(self) -> None:
        self._tables.scrub()

    def close(self) -> None:
        self._tables.close()
