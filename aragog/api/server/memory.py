"""Limits on the total memory that a server uses for all of its clients."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Self

from aragog.api.problems import Problem, unavailable

SMALL_BYTES = 65_536
"""
Frames (Thrift messages) and responses up to this size are not counted. `serving.max_connections`
limits their number. Larger responses are written in pieces of this size.
"""

UNCOUNTED_BYTES = 16_384
"""
How many uncounted bytes a connection's buffer may hold, in total 16 MiB for 1,024 connections.

The event loop reports that a client has stopped reading when the buffer exceeds this limit
(asyncio's default is 64 KiB). This buffer and the kernel's buffer of a new connection (46 KB)
together hold a response of `SMALL_BYTES`. A client that keeps reading is therefore never
disconnected because of such a response, even if the memory is full.
"""


class MemoryLimit:
    """
    Counts bytes that are held for one purpose, up to a limit. Thread-safe.

    Args:
        max_bytes: the limit.
        purpose: what the memory is used for, such as "requests", for the error message.

    Attributes:
        held_bytes: number of bytes currently held.
    """

    def __init__(self, max_bytes: int, purpose: str) -> None:
        self.held_bytes = 0
        self._max_bytes = max_bytes
        self._purpose = purpose
        self._lock = Lock()

    def take(self, size: int) -> bool:
        """Count more bytes and return True, or return False if that would exceed the limit."""
        with self._lock:
            if self.held_bytes + size > self._max_bytes:
                return False
            self.held_bytes += size
            return True

    def release(self, size: int) -> None:
        with self._lock:
            self.held_bytes -= size

    def problem(self) -> Problem:
        return unavailable(f"too much memory is in use for {self._purpose}; retry later")

    def require(self, size: int) -> None:
        """
        Like `take`, but raises an error.

        Raises:
            Problem: 503, because the limit would be exceeded.
        """
        if not self.take(size):
            raise self.problem()

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """
        Count a large object during a `with` block. A small one is not counted.

        Raises:
            Problem: 503, because the limit would be exceeded.
        """
        counted = size if size > SMALL_BYTES else 0
        self.require(counted)
        try:
            yield
        finally:
            self.release(counted)


class GrowingBytes:
    """
    A context manager that counts a response's bytes while a thread is reading its parts. On exit,
    it releases all bytes. After that, a thread that missed its deadline cannot count any more
    bytes.

    Args:
        memory: counts the bytes.
    """

    def __init__(self, memory: MemoryLimit) -> None:
        self._memory = memory
        self._bytes = 0
        self._lock = Lock()
        self._is_closed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            self._memory.release(self._bytes)

    def take(self, size: int) -> bool:
        """Count more bytes. Returns False if there is no memory, or after the exit."""
        with self._lock:
            if self._is_closed or not self._memory.take(size):
                return False
            self._bytes += size
            return True

    def require(self, size: int) -> None:
        """
        Like `take`, but raises an error. A small response is not counted.

        Raises:
            Problem: 503, because there is no memory.
        """
        if size > SMALL_BYTES and not self.take(size):
            raise self.problem()

    def require_copy(self) -> None:
        """Count all bytes once more, because building the response copies them."""
        self.require(self._bytes)

    def problem(self) -> Problem:
        return self._memory.problem()


class UnreadBytes:
    """
    Counts the bytes that one client has not read yet. A large response is counted before it is
    written (`begin_write`, `end_write`). The rest of the buffer is counted when the client stops
    reading and the buffer exceeds `UNCOUNTED_BYTES` (`count_buffered`).

    Args:
        memory: the limit, shared by all connections in the process.
    """

    __slots__ = ("_buffered", "_bytes", "_memory", "_pending")

    def __init__(self, memory: MemoryLimit) -> None:
        self._memory = memory
        self._bytes = 0
        self._buffered = 0
        self._pending = 0

    def begin_write(self, size: int) -> None:
        """Record that a counted response is being written."""
        self._pending = size

    def end_write(self, size: int, *, blocked: bool) -> None:
        """Release the bytes, or keep them until `mark_read` if the client is not reading."""
        self._pending = 0
        if blocked:
            self._bytes += size
        else:
            self._memory.release(size)

    def count_buffered(self, buffered: int) -> bool:
        """
        Count the other buffered bytes. Returns False if there is no memory. The connection must
        then be closed.
        """
        more = buffered - self._bytes - self._buffered - self._pending
        if more <= 0:
            return True
        if not self._memory.take(more):
            return False
        self._buffered += more
        return True

    def mark_read(self) -> None:
        """Release the bytes, once the client has read nearly all of them or has disconnected."""
        self._memory.release(self._bytes + self._buffered)
        self._bytes = self._buffered = 0
