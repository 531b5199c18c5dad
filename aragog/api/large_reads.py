"""
Large reads of an embedded store, of which only a few run at once.

A record in the making takes several times its stored bytes: the row, its values, their JSON and the
response. Responses are counted (`memory.py`) when they exist, so sixteen threads that each make one
of 30 MB would hold gigabytes before any is counted. A read above 1 MiB therefore waits until it is
one of `AT_ONCE`, and one of many records ends at `MOST_BYTES`; then its caller asks for fewer.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from aragog.errors import TransientError
from aragog.zen.read_bytes import counted_by

AT_ONCE = 2
FREE_BYTES = 1_048_576
MOST_BYTES = 33_554_432
WAIT_S = 0.5
"""Longer than a large read takes, and shorter than the deadline of a request."""


class TooManyReads(TransientError):
    """Other large reads run; the same call may work later."""


class ReadTooLarge(TransientError):
    """The records of one read have more than `MOST_BYTES`; read fewer of them at once."""


_places = threading.BoundedSemaphore(AT_ONCE)
"""Of this process: HTTP and Thrift share its memory."""


class _Read:
    """The rows of one read."""

    def __init__(self) -> None:
        self._bytes = 0
        self._has_place = False

    def count(self, size: int) -> None:
        if self._bytes > MOST_BYTES:
            raise ReadTooLarge("read", f"more than {MOST_BYTES} bytes at once")
        self._bytes += size
        if self._bytes > FREE_BYTES and not self._has_place:
            if not _places.acquire(timeout=WAIT_S):
                raise TooManyReads("read", f"{AT_ONCE} other large reads run; repeat it later")
            self._has_place = True

    def end(self) -> None:
        if self._has_place:
            _places.release()


@contextmanager
def bounded_read() -> Iterator[None]:
    """
    Bound what this thread reads in the block, until it has made its results from it.

    Raises:
        TooManyReads: other large reads run.
        ReadTooLarge: the records are too many for their size.
    """
    read = _Read()
    try:
        with counted_by(read.count):
            yield
    finally:
        read.end()
