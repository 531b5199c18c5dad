"""
Count the bytes of rows while they are read, so that a caller can stop a read that is too large.

A row's size is known only after reading it, and one call may read any number of rows. Therefore the
SQLite engine, which reads files itself, counts each row before it reads the next.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TypeVar

Result = TypeVar("Result", bytes, bytearray)


class CountedRows:
    """A context in which `add` is called for the rows that this thread reads."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _COUNTED.set(self)

    def __exit__(self, *_: object) -> None:
        _COUNTED.reset(self._token)

    def add(self, size: int) -> None:
        """Count the bytes of a row, or of several small ones. An exception stops the read."""

    def made(self, size: int) -> None:
        """Count a result built from rows. An exception stops the read."""


_COUNTED: ContextVar[CountedRows | None] = ContextVar("counted", default=None)


def counted_result(result: Result) -> Result:
    """
    Count a result's bytes together with the rows that this thread reads; return the result.

    Use it when results are built one by one from rows that were read together, because several
    results may come from one row.
    """
    if (counted := _COUNTED.get()) is not None:
        counted.made(len(result))
    return result


counted_rows = _COUNTED.get
"""The counter of rows that this thread reads, or None."""
