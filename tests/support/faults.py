"""Tables and content that die between any two writes, as a process does that is killed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from aragog.zen.tables import CellTable, Tables
from aragog.zen.tables.memory import MemoryTables


class Killed(BaseException):
    """The process is gone; nothing of ours catches this."""


class Fuse:
    """Lets `left` writes pass, then kills; None: never."""

    def __init__(self) -> None:
        self.left: int | None = None
        self.passed = 0

    def burn(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1
        self.passed += 1


class MortalTable(CellTable):
    """A table whose batches are not atomic: each row is a write of its own."""

    def __init__(self, inner: CellTable, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def get(self, row, columns=None):
        return self._inner.get(row, columns)

    def get_many(self, rows, columns=None):
        return self._inner.get_many(rows, columns)

    def scan(self, start, stop, **options):
        return self._inner.scan(start, stop, **options)

    def put(self, row, cells, *, at_ms):
        self._fuse.burn()
        self._inner.put(row, cells, at_ms=at_ms)

    def put_many(self, items):
        for row, cells, at_ms in items:
            self.put(row, cells, at_ms=at_ms)

    def delete(self, row, columns=None, *, at_ms):
        self._fuse.burn()
        self._inner.delete(row, columns, at_ms=at_ms)

    def delete_many(self, items):
        for row, columns, at_ms in items:
            self.delete(row, columns, at_ms=at_ms)

    def check_and_put(self, row, column, expected, value):
        self._fuse.burn()
        return self._inner.check_and_put(row, column, expected, value)

    def incr(self, row, column, delta):
        self._fuse.burn()
        return self._inner.incr(row, column, delta)


class MortalTables(Tables):
    """Memory tables over a fuse."""

    def __init__(self, inner: MemoryTables, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def __getitem__(self, name: str) -> MortalTable:
        return MortalTable(self._inner[name], self._fuse)

    def create(self) -> None:
        self._inner.create()

    def close(self) -> None:
        self._inner.close()


class MortalContent:
    """A content store over a fuse."""

    def __init__(self, inner, fuse: Fuse) -> None:
        self._inner = inner
        self._fuse = fuse

    def put(self, key, body, meta):
        self._fuse.burn()
        self._inner.put(key, body, meta)

    def delete(self, key):
        self._fuse.burn()
        self._inner.delete(key)

    def get(self, key):
        return self._inner.get(key)

    def keys(self, prefix=""):
        return self._inner.keys(prefix)


def every_kill_point(act: Callable[[Fuse], None]) -> Iterator[int]:
    """
    Kill `act` before its first write, its second, and so on, until it comes to its end.

    Yields after each killing; `act` builds its own world and sets `fuse.left` through `arm`.
    """
    for point in count():
        fuse = Fuse()
        fuse.left = point
        try:
            act(fuse)
        except Killed:
            fuse.left = None
            yield point
        else:
            return
