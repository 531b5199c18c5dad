"""
One connection: frames in, replies out, one call at a time.

A client can hold no more memory than the rest of one frame, one chunk that came while its call ran,
and one reply that it has not read. Frames and replies that are too large for that are counted for
all connections together (`Gate`).
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Protocol

SMALL_BYTES = 65_536
"""Frames and replies up to this size are not counted."""
_LENGTH_BYTES = 4
_FRAMES_AT_ONCE = 64


class ConnectionOwner(Protocol):
    """The callbacks of a connection to its server."""

    max_frame_bytes: int

    def opened(self, connection: Connection) -> bool:
        """Count a new connection; False: there are too many."""

    def closed(self, connection: Connection) -> None:
        """Forget it."""

    def reserve(self, size: int) -> bool:
        """Reserve memory for a large frame; False: there is none."""

    def free(self, size: int) -> None:
        """Return what was reserved."""

    def take(self, connection: Connection, frame: bytes) -> None:
        """Handle a frame; `connection.answer` is called once, at once or later."""


class Connection(asyncio.Protocol):
    """
    A client.

    Attributes:
        authorization: the header of its token; None: it sent none.
        gone: the connection is lost.
    """

    def __init__(self, gate: ConnectionOwner) -> None:
        self.authorization: str | None = None
        self.gone = False
        self._gate = gate
        self._transport: Any = None
        self._buffer = bytearray()
        self._size: int | None = None
        """Of the frame that is being received, if it is known."""
        self._reserved = 0
        self._unsent = 0
        self._busy = False
        self._going = False
        self._blocked = False
        """The client has not read its last reply."""
        self._paused = False
        """Reading is paused."""
        self._closing = False
        self._since_s = time.monotonic()
        """When the client last sent data, or began a frame that is not complete yet."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if not self._gate.opened(self):
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._gate.free(self._reserved + self._unsent)
        self._reserved = self._unsent = 0
        self._closing = self.gone = True
        self._buffer.clear()
        self._gate.closed(self)

    def data_received(self, data: bytes) -> None:
        if self._busy or self._going or self._closing or self._blocked:
            # The next frame waits for the replies to those before, and further data in the kernel.
            self._buffer += data
            self._transport.pause_reading()
            self._paused = True
            return
        if not self._buffer:
            size = int.from_bytes(data[:_LENGTH_BYTES])
            if len(data) == size + _LENGTH_BYTES and 0 < size <= self._gate.max_frame_bytes:
                self._busy = True
                self._gate.take(self, data[_LENGTH_BYTES:])
                return
            self._since_s = time.monotonic()
        self._buffer += data
        self._continue()

    def answer(self, data: bytes) -> None:
        """Send the reply to the current frame, and begin the next one."""
        if self._transport is None or self._transport.is_closing():
            return
        self._transport.write(data)
        self._since_s = time.monotonic()
        self._busy = False
        if self._closing:
            self._transport.close()
        elif (self._buffer or self._paused) and not self._going:
            self._continue()

    def pause_writing(self) -> None:
        """The client does not read its reply: it gets no other before it has."""
        self._blocked = True
        size = self._transport.get_write_buffer_size()
        self._unsent = size if self._gate.reserve(size) else 0
        self._since_s = time.monotonic()

    def resume_writing(self) -> None:
        self._blocked = False
        self._gate.free(self._unsent)
        self._unsent = 0
        self._since_s = time.monotonic()
        if not self._busy and not self._going:
            self._continue()

    def close_if_quiet(self, quiet_s: float) -> None:
        """Close if no call runs, and none came for so long."""
        if not self._busy and time.monotonic() - self._since_s >= quiet_s:
            self._closing = True
            self._transport.close()

    def abort(self) -> None:
        """Close at once."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def overdue(self, now_s: float, receive_s: float, send_s: float, idle_s: float) -> bool:
        """True if the client is too slow, or has been silent for too long."""
        waited_s = now_s - self._since_s
        if self._blocked:
            return waited_s > send_s
        if self._busy:
            return False
        return waited_s > (receive_s if self._buffer else idle_s)

    def _continue(self) -> None:
        """Take the frames that are there, one after the other, and read on."""
        self._going = True
        for _ in range(_FRAMES_AT_ONCE):
            if self._busy or self._closing or self._blocked:
                break
            frame = self._next_frame()
            if frame is None:
                break
            self._busy = True
            self._gate.take(self, frame)
        else:
            # A client that sent thousands of small frames lets others have their turn.
            asyncio.get_running_loop().call_soon(self._continue)
            return
        self._going = False
        if self._paused and not (self._busy or self._closing or self._blocked):
            self._paused = False
            self._transport.resume_reading()

    def _next_frame(self) -> bytes | None:
        """The next frame in the buffer; None if it is not there as a whole."""
        buffer = self._buffer
        if self._size is None:
            if len(buffer) < _LENGTH_BYTES:
                return None
            size = int.from_bytes(buffer[:_LENGTH_BYTES])
            large = size > SMALL_BYTES
            if not 0 < size <= self._gate.max_frame_bytes or (
                large and not self._gate.reserve(size)
            ):
                self.abort()
                return None
            self._size, self._reserved = size, size if large else 0
        end = _LENGTH_BYTES + self._size
        if len(buffer) < end:
            return None
        frame = bytes(buffer[_LENGTH_BYTES:end])
        del buffer[:end]
        self._gate.free(self._reserved)
        self._size, self._reserved = None, 0
        self._since_s = time.monotonic()
        return frame
