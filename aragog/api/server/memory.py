"""The memory that clients can make a server hold, counted over all of its connections."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Self

from aragog.api.problems import Problem, unavailable

SMALL_BYTES = 65_536
"""
Frames and responses up to this size are not counted: `serving.max_connections` bounds them.

It is also the size of the pieces in which a larger response is passed to its connection.
"""

UNCOUNTED_BYTES = 16_384
"""
What may lie in the buffer of a connection uncounted: 16 MiB for 1,024 connections.

Event loops report that a client does not read once its buffer exceeds a mark, by default 64 KiB. A
smaller one than this would be no better: what the kernel takes of a new connection (46 KB) and this
are together a response of `SMALL_BYTES`, so nobody who reads is disconnected for such a response
while the memory is full.
"""


class MemoryLimit:
    """
    Bytes that are held for one purpose, and their limit; safe in threads.

    Args:
        most_bytes: the limit.
        purpose: for the error, such as "requests".

    Attributes:
        held_bytes: how many are held now.
    """

    def __init__(self, most_bytes: int, purpose: str) -> None:
        self.held_bytes = 0
        self._most_bytes = most_bytes
        self._purpose = purpose
        self._lock = Lock()

    def take(self, size: int) -> bool:
        """Count more bytes; False: that would exceed the limit, and nothing was counted."""
        with self._lock:
            if self.held_bytes + size > self._most_bytes:
                return False
            self.held_bytes += size
            return True

    def give_back(self, size: int) -> None:
        """Count fewer bytes."""
        with self._lock:
            self.held_bytes -= size

    def problem(self) -> Problem:
        """503: the limit is reached."""
        return unavailable(
            f"too much memory is in use for {self._purpose}; repeat the request later"
        )

    def require(self, size: int) -> None:
        """
        `take`, with an error.

        Raises:
            Problem: 503, the limit would be exceeded.
        """
        if not self.take(size):
            raise self.problem()

    @contextmanager
    def holding(self, size: int) -> Iterator[None]:
        """
        Count a large object inside a `with` block; a small one is not counted.

        Raises:
            Problem: 503, the limit would be exceeded.
        """
        counted = size if size > SMALL_BYTES else 0
        self.require(counted)
        try:
            yield
        finally:
            self.give_back(counted)


class GrowingBytes:
    """
    The counted bytes of a response while a thread still reads its parts.

    A context manager: at its end all are given back, and a thread abandoned at its deadline
    gets no more.

    Args:
        memory: counts them.
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
            self._memory.give_back(self._bytes)

    def take(self, size: int) -> bool:
        """Count more bytes; False: there is no room, or nobody waits for them anymore."""
        with self._lock:
            if self._is_closed or not self._memory.take(size):
                return False
            self._bytes += size
            return True

    def require(self, size: int) -> None:
        """
        `take`, with an error; a small response is not counted.

        Raises:
            Problem: 503, there is no room.
        """
        if size > SMALL_BYTES and not self.take(size):
            raise self.problem()

    def require_copy(self) -> None:
        """`require` all parts once more, for a response that is made of copies of them."""
        self.require(self._bytes)

    def problem(self) -> Problem:
        """503: the limit is reached."""
        return self._memory.problem()


class UnreadBytes:
    """
    The bytes of one connection that its client has not read, counted among those of all.

    A large response is counted before it is written (`writing`, `written`), and what else lies in
    the buffer of a client that does not read is counted when it stops to read (`blocked`): its
    connection learns that once the buffer exceeds `UNCOUNTED_BYTES`.

    Args:
        memory: counts them; one for all connections and doors of a process.
    """

    __slots__ = ("_buffered", "_bytes", "_memory", "_pending")

    def __init__(self, memory: MemoryLimit) -> None:
        self._memory = memory
        self._bytes = 0
        self._buffered = 0
        self._pending = 0

    def writing(self, size: int) -> None:
        """A response whose bytes are counted is written now."""
        self._pending = size

    def written(self, size: int, *, blocked: bool) -> None:
        """Keep counted bytes until `were_read`; give them back if the client reads at once."""
        self._pending = 0
        if blocked:
            self._bytes += size
        else:
            self._memory.give_back(size)

    def blocked(self, buffered: int) -> bool:
        """
        Count what the buffer holds beside counted bytes.

        False: there is no room; the connection must be closed, because its client does not read.
        """
        more = buffered - self._bytes - self._buffered - self._pending
        if more <= 0:
            return True
        if not self._memory.take(more):
            return False
        self._buffered += more
        return True

    def were_read(self) -> None:
        """Give them back: the client has read nearly all, or has gone."""
        self._memory.give_back(self._bytes + self._buffered)
        self._bytes = self._buffered = 0
