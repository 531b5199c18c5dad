"""
Count the bytes of rows while they are read, so that a caller can end a read that becomes too large.

What a row takes is known only when it has been read, and one call may read any number of rows. The
engine that has the rows in its own file (SQLite) therefore counts each before it reads the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Count = Callable[[int], None]
"""Called with the bytes of a row; what it raises ends the read."""

_COUNT: ContextVar[Count | None] = ContextVar("count", default=None)


@contextmanager
def counted_by(count: Count) -> Iterator[None]:
    """Call `count` for each row that this thread reads in the block."""
    token = _COUNT.set(count)
    try:
        yield
    finally:
        _COUNT.reset(token)


def row_count() -> Count | None:
    """What counts the rows that this thread reads; None: nothing does."""
    return _COUNT.get()
