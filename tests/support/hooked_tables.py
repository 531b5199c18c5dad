"""Tables that call a function before their calls. Each row of a batch counts as a call."""

from __future__ import annotations

from collections.abc import Callable

from zengraph.tables import CellTable, Tables

Hook = Callable[[], None]


def nothing() -> None:
    """Do nothing."""


class HookedTable(CellTable):
    """A table with a function before each write, and one before each read."""

    def __init__(self, inner: CellTable, before_write: Hook, before_read: Hook) -> None:
        self._inner = inner
        self._before_write = before_write
        self._before_read = before_read

    def get(self, row, columns=None):
        self._before_read()
        return self._inner.get(row, columns)

    def get_many(self, rows, columns=None):
        self._before_read()
        return self._inner.get_many(rows, columns)

    def get_many_names(self, rows, column):
        self._before_read()
        return self._inner.get_many_names(rows, column)

    def get_many_needed(self, rows, guide, unneeded):
        self._before_read()
        return self._inner.get_many_needed(rows, guide, unneeded)

    def _scan(self, rows):
        self._before_read()
        return self._inner._scan(rows)

    def put(self, row, cells, *, at_ms):
        self._before_write()
        self._inner.put(row, cells, at_ms=at_ms)

    def put_many(self, items):
        for row, cells, at_ms in items:
            self.put(row, cells, at_ms=at_ms)

    def delete(self, row, columns=None, *, at_ms):
        self._before_write()
        self._inner.delete(row, columns, at_ms=at_ms)

    def delete_many(self, items):
        for row, columns, at_ms in items:
            self.delete(row, columns, at_ms=at_ms)

    def check_and_put_many(self, items):
        done = []
        for item in items:
            self._before_write()
            done += self._inner.check_and_put_many([item])
        return done

    def incr(self, row, column, delta):
        self._before_write()
        return self._inner.incr(row, column, delta)


class HookedTables(Tables):
    """All tables of an engine, with these functions before their calls."""

    def __init__(self, inner: Tables, before_write: Hook, before_read: Hook = nothing) -> None:
        self._inner = inner
        self._hooks = before_write, before_read

    def __getitem__(self, name: str) -> HookedTable:
        return HookedTable(self._inner[name], *self._hooks)

    def format(self) -> int:
        return self._inner.format()

    def create(self) -> None:
        self._inner.create()

    def close(self) -> None:
        self._inner.close()
