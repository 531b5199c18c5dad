"""
Limit how many large reads of an embedded store run at the same time.

Reading a record takes several times its stored size in memory, for the row, its values, their JSON
and the response. Responses count toward the memory limit (`memory.py`) only once they exist. Until
then, sixteen threads that each build a 30 MB response would use gigabytes. A read above 1 MiB
therefore waits for one of `MAX_CONCURRENT` permits. A read of many records fails at `MAX_BYTES`.
Both rows and results count, because two reads of the same record share its row, but not the result.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from aragog.api.operations.abandonment import is_abandoned
from aragog.errors import SizeExceeded, TransientError
from zengraph.records import CountedRows

MAX_CONCURRENT = 2
MIN_LIMITED_BYTES = 1_048_576
MAX_BYTES = 33_554_432
MAX_WAIT_S = 0.5
"""
How long a read waits for a permit: longer than a large read takes, but not until its deadline.
"""


class TooManyReads(TransientError):
    """Other large reads are running. The same call may work later."""


class ReadAbandoned(TransientError):
    """The caller has disconnected or its deadline has passed. Nobody receives this error."""


class ReadTooLarge(TransientError):
    """The records of one read exceed `MAX_BYTES` in total. Read fewer at once."""


_permits = threading.BoundedSemaphore(MAX_CONCURRENT)
"""This process's permits. HTTP and Thrift share them, because they share memory."""


class BoundedRead(CountedRows):
    """
    A context manager that limits this thread's reads until their results have been built.

    Args:
        is_over: returns True once nobody is waiting for the read. By default, it checks the call
            that this thread runs.
        permits: the permits for large reads. The default is the process's permits.

    Raises:
        TooManyReads: other large reads are running.
        ReadAbandoned: the caller has disconnected.
        ReadTooLarge: the records are too large in total.
        SizeExceeded: one record is too large to read as a whole.
    """

    __slots__ = ("_bytes", "_has_permit", "_is_over", "_permits", "_results")

    def __init__(
        self,
        is_over: Callable[[], bool] = is_abandoned,
        permits: threading.BoundedSemaphore | None = None,
    ) -> None:
        self._is_over = is_over
        self._permits = permits or _permits
        self._bytes = 0
        self._results = 0
        self._has_permit = False

    def __exit__(self, *exc: object) -> None:
        super().__exit__(*exc)
        if self._has_permit:
            self._permits.release()

    def add(self, size: int) -> None:
        """See `CountedRows`."""
        if self._is_over():
            raise ReadAbandoned("read", "its caller has disconnected")
        if size > MAX_BYTES:
            raise SizeExceeded(
                f"the record has {size:,} bytes, and one read may have {MAX_BYTES:,}; select the "
                "fields to read (`field_sizes` lists them: GET /v1/fields, Thrift fieldSizes)"
            )
        if self._bytes > MAX_BYTES:
            raise ReadTooLarge("read", f"more than {MAX_BYTES} bytes at once")
        self._add_bytes(size)

    def made(self, size: int) -> None:
        """See `CountedRows`. The first result is always allowed, since one record may be large."""
        if self._is_over():
            raise ReadAbandoned("read", "its caller has disconnected")
        if self._results and self._bytes + size > MAX_BYTES:
            raise ReadTooLarge("read", f"more than {MAX_BYTES} bytes of results at once")
        self._results += 1
        self._add_bytes(size)

    def _add_bytes(self, size: int) -> None:
        self._bytes += size
        if self._bytes > MIN_LIMITED_BYTES and not self._has_permit:
            if not self._permits.acquire(timeout=MAX_WAIT_S):
                raise TooManyReads(
                    "read", f"{MAX_CONCURRENT} other large reads are running; retry later"
                )
            self._has_permit = True


class SmallRead(CountedRows):
    """
    A context manager that aborts large reads, for use when no caller is waiting.

    Raises:
        TooManyReads: the read is large.
    """

    __slots__ = ("_bytes",)

    def __init__(self) -> None:
        self._bytes = 0

    def add(self, size: int) -> None:
        """See `CountedRows`."""
        self._bytes += size
        if self._bytes > MIN_LIMITED_BYTES:
            raise TooManyReads("read", "the record is large, and nobody waits for it")
