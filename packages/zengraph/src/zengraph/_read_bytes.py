"""
Count the bytes of rows while they are read, so that a caller can end a read that becomes too large.

What a row takes is known only when it has been read, and one call may read any number of rows. The
engine that has the rows in its own file (SQLite) therefore counts each before it reads the next.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TypeVar

Result = TypeVar("Result", bytes, bytearray)


class CountedRows:
    """A block in which `add` is called for the rows that this thread reads."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _COUNTED.set(self)

    def __exit__(self, *_: object) -> None:
        _COUNTED.reset(self._token)

    def add(self, size: int) -> None:
        """Count the bytes of a row, or of several small ones; what it raises ends the read."""

    def made(self, size: int) -> None:
        """Count a result that was made of rows; what it raises ends the read as well."""


_COUNTED: ContextVar[CountedRows | None] = ContextVar("counted", default=None)


def counted_result(result: Result) -> Result:
    """
    The result, whose bytes are counted with the rows that this thread reads.

    For results that are made one by one of rows that were read together: several of them may be of
    one row, and all of them exist before any is passed on.
    """
    if (counted := _COUNTED.get()) is not None:
        counted.made(len(result))
    return result


counted_rows = _COUNTED.get
"""Call it for what counts the rows that this thread reads; None: nothing does."""
