"""
Large reads of an embedded store, of which only a few run at once.

A record in the making takes several times its stored bytes: the row, its values, their JSON and the
response. Responses are counted (`memory.py`) when they exist, so sixteen threads that each make one
of 30 MB would hold gigabytes before any is counted. A read above 1 MiB therefore waits until it is
one of `AT_ONCE`, and one of many records ends at `MOST_BYTES`; then its caller asks for fewer. The
results are counted with the rows as they are made: many readers of one record are answered from one
row, but each has a response of its own.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from aragog.api.operations.abandonment import is_abandoned
from aragog.errors import SizeExceeded, TransientError
from zengraph.records import CountedRows

AT_ONCE = 2
FREE_BYTES = 1_048_576
MOST_BYTES = 33_554_432
WAIT_S = 0.5
"""More time than a large read takes, and less than the deadline of a request."""


class TooManyReads(TransientError):
    """Other large reads run; the same call may work later."""


class NobodyWaits(TransientError):
    """The caller of the read has disconnected, or its deadline has passed; nobody receives this."""


class ReadTooLarge(TransientError):
    """The records of one read have more than `MOST_BYTES`; read fewer of them at once."""


_places = threading.BoundedSemaphore(AT_ONCE)
"""The places of this process: HTTP and Thrift share its memory."""


class BoundedRead(CountedRows):
    """
    A block that bounds what this thread reads in it, until it has made its results from that.

    Args:
        is_over: whether nobody waits for it anymore; by default the caller of this thread's call.
        places: those of large reads; by default the ones of this process.

    Raises:
        TooManyReads: other large reads run.
        NobodyWaits: its caller has gone.
        ReadTooLarge: the records are too many for their size.
        SizeExceeded: one of them alone is too large to be read whole.
    """

    __slots__ = ("_bytes", "_has_place", "_is_over", "_places", "_results")

    def __init__(
        self,
        is_over: Callable[[], bool] = is_abandoned,
        places: threading.BoundedSemaphore | None = None,
    ) -> None:
        self._is_over = is_over
        self._places = places or _places
        self._bytes = 0
        self._results = 0
        self._has_place = False

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self._has_place:
            self._places.release()

    def add(self, size: int) -> None:
        """See `CountedRows`."""
        if self._is_over():
            raise NobodyWaits("read", "its caller has gone")
        if size > MOST_BYTES:
            raise SizeExceeded(
                f"the record has {size:,} bytes, and {MOST_BYTES:,} are read at once: name the "
                "fields to read (`field_sizes` lists them: GET /v1/fields, Thrift fieldSizes)"
            )
        if self._bytes > MOST_BYTES:
            raise ReadTooLarge("read", f"more than {MOST_BYTES} bytes at once")
        self._count(size)

    def made(self, size: int) -> None:
        """See `CountedRows`. The first result is allowed: it may be of a record that is large."""
        if self._is_over():
            raise NobodyWaits("read", "its caller has gone")
        if self._results and self._bytes + size > MOST_BYTES:
            raise ReadTooLarge("read", f"more than {MOST_BYTES} bytes of results at once")
        self._results += 1
        self._count(size)

    def _count(self, size: int) -> None:
        self._bytes += size
        if self._bytes > FREE_BYTES and not self._has_place:
            if not self._places.acquire(timeout=WAIT_S):
                raise TooManyReads("read", f"{AT_ONCE} other large reads run; repeat it later")
            self._has_place = True


class SmallRead(CountedRows):
    """
    A block that ends a read as soon as it is a large one: nobody waits for what it reads.

    Raises:
        TooManyReads: it is large.
    """

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = 0

    def add(self, size: int) -> None:
        """See `CountedRows`."""
        self._bytes += size
        if self._bytes > FREE_BYTES:
            raise TooManyReads("read", "it is large, and nobody waits for it")
