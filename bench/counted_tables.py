"""A SQLite table that counts what is read and written, which does not depend on load."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from zengraph.clock import SystemClock
from zengraph.tables import Deletion, Row, Unneeded
from zengraph.tables.sqlite import SqliteTables
from zengraph.tables.sqlite.tables import SqliteTable


@dataclass(slots=True)
class Counts:
    """Calls, cells and bytes of values since the last call of `taken`."""

    gets: int = 0
    cells_read: int = 0
    bytes_read: int = 0
    cells_written: int = 0
    """Cells that were put or deleted."""
    bytes_written: int = 0

    def taken(self) -> Counts:
        """Return a copy, and start again from 0."""
        copy = Counts(*[getattr(self, name) for name in self.__slots__])
        for name in self.__slots__:
            setattr(self, name, 0)
        return copy


class CountedTable(SqliteTable):
    """A table that adds its reads and writes to `counts`. Scans are not counted."""

    counts: Counts

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        return self._read(super().get_many(rows, columns))

    def get_many_names(self, rows: Sequence[bytes], column: bytes) -> dict[bytes, Row]:
        return self._read(super().get_many_names(rows, column))

    def get_many_needed(
        self, rows: Sequence[bytes], guide: bytes, unneeded: Unneeded
    ) -> dict[bytes, Row]:
        def counting(row: bytes, value: bytes) -> Container[bytes]:
            self.counts.cells_read += 1
            self.counts.bytes_read += len(value)
            return unneeded(row, value)

        return self._read(super().get_many_needed(rows, guide, counting))

    def _read(self, found: dict[bytes, Row]) -> dict[bytes, Row]:
        """Count a call and the cells that it read. Cells that were not needed are empty."""
        values = [value for row in found.values() for value, _ in row.values() if value]
        self.counts.gets += 1
        self.counts.cells_read += len(values)
        self.counts.bytes_read += sum(map(len, values))
        return found

    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        self._written([value for _, cells, _ in items for value in cells.values()])
        super().put_many(items)

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        self._written([value for *_, value in items])
        return super().check_and_put_many(items)

    def delete_many(self, items: Sequence[Deletion]) -> None:
        self._written([b"" for _, columns, _ in items for _ in columns or ()])
        super().delete_many(items)

    def _written(self, values: Iterable[bytes]) -> None:
        sizes = list(map(len, values))
        self.counts.cells_written += len(sizes)
        self.counts.bytes_written += sum(sizes)


def counted(tables: SqliteTables, name: str) -> Counts:
    """Count the reads and writes of a table from now on."""
    table = CountedTable(name, tables._shards, SystemClock())
    table.counts = Counts()
    tables._tables[name] = table
    return table.counts
