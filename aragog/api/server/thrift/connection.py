"""
One connection, which has one call at a time. A frame is one message.

    IDLE ──start of a frame──▶ RECEIVING ──its end──▶ CALLING ──reply──▶ IDLE
                                                         ├─more data arrived─▶ QUEUED
                                                         └─client does not read─▶ BLOCKED ─▶ QUEUED

The event loop handles one frame of each QUEUED connection per turn.

Three things are not counted: up to `SMALL_BYTES` of a client's frame, one chunk that arrived during
its call, and `UNCOUNTED_BYTES` of unread replies. Everything else is counted as it arrives, for all
connections together.
"""

from __future__ import annotations

import asyncio
import time
from enum import Enum, auto
from typing import Any, Protocol

from aragog.api.server.memory import SMALL_BYTES, UNCOUNTED_BYTES, MemoryLimit, UnreadBytes
from aragog.settings import ServingSettings

_LENGTH_BYTES = 4


class ThriftState(Enum):
    """The event that a connection waits for."""

    IDLE = auto()
    """Waiting for the next frame."""
    RECEIVING = auto()
    """Waiting for the rest of a frame."""
    CALLING = auto()
    """Waiting for the reply to its call."""
    QUEUED = auto()
    """Waiting for its turn, after the client has sent more than one frame."""
    BLOCKED = auto()
    """Waiting for the client, which is not reading its replies."""
    CLOSED = auto()


class ConnectionOwner(Protocol):
    """The server's interface for connections."""

    max_frame_bytes: int
    limits_s: dict[ThriftState, float]
    """How long a connection may be in each state."""
    requests: MemoryLimit
    replies: MemoryLimit

    def on_open(self, connection: Connection, address: str) -> bool:
        """Count a new connection. Returns False if there are too many."""

    def on_close(self, connection: Connection) -> None:
        """Stop counting a connection."""

    def handle_frame(self, connection: Connection, frame: bytes) -> None:
        """Handle a frame, and call `connection.send_reply` once, now or later."""

    def is_waiting(self, connection: Connection) -> bool:
        """Return True if the connection's call is waiting for a condition."""

    def refuse_frame(self, connection: Connection, frame_start: bytes) -> bytes:
        """Return the reply to a call for which there is no memory, or b"" if this is not a call."""


_BUFFERING_STATES = frozenset({ThriftState.CALLING, ThriftState.QUEUED, ThriftState.BLOCKED})
"""States in which the next frame waits, and further data stays in the kernel."""


def get_limits_s(settings: ServingSettings) -> dict[ThriftState, float]:
    """Return how long a connection may be in each state."""
    return {
        ThriftState.IDLE: settings.keep_alive_s,
        ThriftState.RECEIVING: settings.head_timeout_s,
        ThriftState.BLOCKED: settings.send_timeout_s,
        ThriftState.CLOSED: settings.send_timeout_s,  # the client may still be reading the reply
    }


class Connection(asyncio.Protocol):
    """
    A client's connection.

    Args:
        server: handles its frames.
        trusted: True if it may send large frames. Otherwise it may only do so after `authorize`.

    Attributes:
        authorization: the Authorization header with the client's token, or None.
        is_half_closed: True if the client sends no more data. It is waiting for replies or has
            disconnected.
    """

    def __init__(self, server: ConnectionOwner, *, trusted: bool = True) -> None:
        self.authorization: str | None = None
        self.is_half_closed = False
        self._server = server
        self._is_trusted = trusted
        self._transport: Any = None
        self._state = ThriftState.IDLE
        self._buffer = bytearray()
        self._counted_bytes = 0
        """Number of the buffer's bytes counted in `requests`."""
        self._unread = UnreadBytes(server.replies)
        self._is_paused = False
        """True while reading is paused."""
        self._last_active_s = time.monotonic()
        """
        When the connection began to wait for a frame, for the rest of one, or for the client to
        read.
        """

    @property
    def is_closed(self) -> bool:
        return self._state is ThriftState.CLOSED

    @property
    def idle_since_s(self) -> float | None:
        """When the connection became idle, or None while a call runs or its reply is unread."""
        return (
            self._last_active_s
            if self._state in (ThriftState.IDLE, ThriftState.RECEIVING)
            else None
        )

    def authorize(self, authorization: str | None) -> None:
        self.authorization = authorization
        self._is_trusted = self._is_trusted or authorization is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._transport.set_write_buffer_limits(UNCOUNTED_BYTES)
        peer = transport.get_extra_info("peername")
        if not self._server.on_open(self, str(peer[0]) if peer else ""):
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._state = ThriftState.CLOSED
        self._buffer.clear()
        self._count_buffer()
        self._unread.mark_read()
        self._server.on_close(self)

    def data_received(self, data: bytes) -> None:
        state = self._state
        if state is ThriftState.IDLE and len(data) <= SMALL_BYTES:
            # Usually, the data is one complete frame and needs no buffer.
            size = int.from_bytes(data[:_LENGTH_BYTES])
            if len(data) == size + _LENGTH_BYTES and 0 < size <= self._server.max_frame_bytes:
                self._state = ThriftState.CALLING
                self._server.handle_frame(self, data[_LENGTH_BYTES:])
                return
        if state is ThriftState.CLOSED:
            return
        self._buffer += data
        if state in _BUFFERING_STATES:
            self._transport.pause_reading()
            self._is_paused = True
        else:
            self._handle_next()
        if not self._count_buffer():
            self._refuse()

    def eof_received(self) -> bool:
        """
        Complete the calls that have arrived, because the client sends no more data.

        Returns False to close the connection now.
        """
        # With TLS, asyncio ignores the result, logs a warning and closes the connection.
        secure = self._transport.get_extra_info("sslcontext") is not None
        # The client may have disconnected. Its call must not count towards the limit on waiting
        # calls.
        if secure or self._server.is_waiting(self):
            return False
        self.is_half_closed = self._state in _BUFFERING_STATES
        return self.is_half_closed

    def send_reply(self, data: bytes, counted_bytes: int = 0) -> None:
        """
        Send the reply to the current frame, and continue with the next one.

        Args:
            data: the framed reply.
            counted_bytes: how many of these bytes are counted in `replies`.
        """
        if self._state is ThriftState.CLOSED:
            self._server.replies.release(counted_bytes)
            return
        self._state = ThriftState.QUEUED if self._buffer or self._is_paused else ThriftState.IDLE
        self._last_active_s = time.monotonic()
        self._unread.begin_write(counted_bytes)
        self._transport.write(data)  # calls `pause_writing` if the client is not reading
        if counted_bytes:
            self._unread.end_write(counted_bytes, blocked=self._state is ThriftState.BLOCKED)
        if self._state is ThriftState.QUEUED:
            self._schedule_next()
        elif self.is_half_closed and self._state is ThriftState.IDLE:
            self._close()

    def pause_writing(self) -> None:
        """Send no more replies until the client reads."""
        if self._state is not ThriftState.CLOSED:
            self._state = ThriftState.BLOCKED
            self._last_active_s = time.monotonic()
            if not self._unread.count_buffered(self._transport.get_write_buffer_size()):
                self.abort()

    def resume_writing(self) -> None:
        self._unread.mark_read()
        if self._state is ThriftState.BLOCKED:
            self._state = ThriftState.QUEUED
            self._last_active_s = time.monotonic()
            self._schedule_next()

    def close_if_idle(self, idle_s: float) -> None:
        """Close if no call is running and none has arrived for `idle_s`."""
        if (
            self._state is not ThriftState.CALLING
            and time.monotonic() - self._last_active_s >= idle_s
        ):
            self._close()

    def abort(self) -> None:
        self._state = ThriftState.CLOSED
        self._buffer.clear()
        if self._transport is not None:
            self._transport.abort()

    def end_if_late(self, now_s: float) -> None:
        limit_s = self._server.limits_s.get(self._state)
        if limit_s is not None and now_s - self._last_active_s > limit_s:
            self.abort()

    def _schedule_next(self) -> None:
        """Let other connections run before this client's next frame is handled."""
        asyncio.get_running_loop().call_soon(self._handle_next)

    def _handle_next(self) -> None:
        """Take the next frame if it is complete, otherwise resume reading."""
        if self._state in (ThriftState.CALLING, ThriftState.BLOCKED, ThriftState.CLOSED):
            return
        frame = self._take_frame()
        if frame is not None:
            self._state = ThriftState.CALLING
            self._server.handle_frame(self, frame)
            return
        if self.is_closed:
            return
        if self.is_half_closed:
            self._close()
            return
        if self._buffer and self._state is not ThriftState.RECEIVING:
            self._last_active_s = time.monotonic()
        self._state = ThriftState.RECEIVING if self._buffer else ThriftState.IDLE
        if self._is_paused:
            self._is_paused = False
            self._transport.resume_reading()

    def _take_frame(self) -> bytes | None:
        buffer = self._buffer
        if len(buffer) < _LENGTH_BYTES:
            return None
        size = int.from_bytes(buffer[:_LENGTH_BYTES])
        if not 0 < size <= self._server.max_frame_bytes:
            self.abort()
            return None
        end = _LENGTH_BYTES + size
        if len(buffer) < end:
            return None
        frame = bytes(buffer[_LENGTH_BYTES:end])
        del buffer[:end]
        self._count_buffer()
        return frame

    def _count_buffer(self) -> bool:
        """Count the buffer's bytes if it is large. Returns False if there is no memory for it."""
        size = len(self._buffer)
        size = size if size > SMALL_BYTES else 0
        added_bytes = size - self._counted_bytes
        if added_bytes > 0:
            if not self._is_trusted:
                return self._state is ThriftState.QUEUED  # the next frame may be `authenticate`
            if not self._server.requests.take(added_bytes):
                return False
        elif added_bytes < 0:
            self._server.requests.release(-added_bytes)
        self._counted_bytes = size
        return True

    def _refuse(self) -> None:
        """Reply to the incomplete frame, unless an earlier reply is pending, and close."""
        if self._state is ThriftState.RECEIVING:
            self._transport.write(
                self._server.refuse_frame(self, bytes(self._buffer[_LENGTH_BYTES:]))
            )
        self._close()

    def _close(self) -> None:
        """Close once the client has read the written data."""
        if self._state is not ThriftState.CLOSED:
            self._state = ThriftState.CLOSED
            self._last_active_s = time.monotonic()
            self._buffer.clear()
            self._count_buffer()
        self._transport.close()
