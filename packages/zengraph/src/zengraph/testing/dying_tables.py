"""Tables that simulate a killed process: after some writes, every call raises `Died`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zengraph.tables import CellTable, Row, RowRange, Scan, Tables


class Died(BaseException):
    """The process has been killed. `except Exception` does not catch it."""


class _Life:
    def __init__(self, writes: int) -> None:
        self.left = writes

    def write(self) -> None:
        if self.left <= 0:
            self.left = -1
            raise Died
        self.left -= 1

    def read(self) -> None:
        if self.left < 0:
            raise Died


class _DyingTable(CellTable):
    def __init__(self, inner: CellTable, life: _Life) -> None:
        self._inner = inner
        self._life = life

    def get(self, row: bytes, columns: Sequence[bytes] | None = None) -> Row:
        self._life.read()
        return self._inner.get(row, columns)

    def get_many(
        self, rows: Sequence[bytes], columns: Sequence[bytes] | None = None
    ) -> dict[bytes, Row]:
        self._life.read()
        return self._inner.get_many(rows, columns)

    def _scan(self, rows: RowRange) -> Scan:
        self._life.read()
        return self._inner.scan(
            *rows[:2], columns=rows.columns, limit=rows.limit, reverse=rows.reverse
        )

    def put(self, row: bytes, cells: Mapping[bytes, bytes], *, at_ms: int) -> None:
        self._life.write()
        self._inner.put(row, cells, at_ms=at_ms)

    def put_many(self, items: Sequence[tuple[bytes, Mapping[bytes, bytes], int]]) -> None:
        for row, cells, at_ms in items:
            self.put(row, cells, at_ms=at_ms)

    def delete(self, row: bytes, columns: Sequence[bytes] | None = None, *, at_ms: int) -> None:
        self._life.write()
        self._inner.delete(row, columns, at_ms=at_ms)

    def delete_many(self, items: Sequence[tuple[bytes, Sequence[bytes] | None, int]]) -> None:
        for row, columns, at_ms in items:
            self.delete(row, columns, at_ms=at_ms)

    def check_and_put_many(
        self, items: Sequence[tuple[bytes, bytes, bytes | None, bytes]]
    ) -> list[bool]:
        done: list[bool] = []
        for item in items:
            self._life.write()
            done += self._inner.check_and_put_many([item])
        return done

    def incr(self, row: bytes, column: bytes, delta: int) -> int:
        self._life.write()
        return self._inner.incr(row, column, delta)


class DyingTables(Tables):
    """An engine's tables, for a process that dies before write number `writes` + 1."""

    def __init__(self, inner: Tables, writes: int) -> None:
        self._inner = inner
        self._life = _Life(writes)

    @property
    def has_died(self) -> bool:
        """True once a call has raised `Died`."""
        return self._life.left < 0

    def __getitem__(self, name: str) -> CellTable:
        return _DyingTable(self._inner[name], self._life)

    def format(self) -> int:
        return self._inner.format()
