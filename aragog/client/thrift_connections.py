"""The Thrift client's reusable connections."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Callable
from struct import Struct

from thriftpy2.transport.memory import TCyMemoryBuffer  # type: ignore[attr-defined]

MAX_IDLE_S = 45.0
"""Connections that were idle for longer are not reused. By default, the server closes them after
75 s."""
MAX_REPLY_BYTES = 64 << 20
_CALL = 1
_I32 = Struct(">i")


class ThriftConnectionPool:
    """
    Connections to one server. Thread-safe.

    Args:
        address: host and port.
        tls: the TLS context, or None for plain TCP.
        size: number of idle connections to keep.
        on_open: called with each new connection and the deadline, before the first use. If it
            raises, the connection is closed.
    """

    def __init__(
        self, address: tuple[str, int], tls: ssl.SSLContext | None, size: int,
        on_open: Callable[[ThriftConnection, float], None],
    ) -> None:  # fmt: skip
        self._address = address
        self._tls = tls
        self._size = size
        self._on_open = on_open
        self._idle: list[ThriftConnection] = []
        self._lock = threading.Lock()

    def take(self, deadline_at_s: float) -> ThriftConnection:
        """
        Return an idle connection, or a new one.

        Raises:
            OSError, EOFError: the connection failed. Errors raised by `on_open` are passed on
                unchanged.
        """
        with self._lock:
            while self._idle:
                connection = self._idle.pop()
                if time.monotonic() - connection.last_used_s < MAX_IDLE_S and connection.is_quiet():
                    return connection
                connection.close()
        connection = ThriftConnection(self._address, self._tls, deadline_at_s)
        try:
            self._on_open(connection, deadline_at_s)
        except BaseException:
            connection.close()
            raise
        return connection

    def put_back(self, connection: ThriftConnection) -> None:
        """Keep a connection after its reply was read completely."""
        with self._lock:
            if len(self._idle) < self._size:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Close the idle connections now, and the others when they are put back."""
        with self._lock:
            idle, self._idle, self._size = self._idle, [], 0
        for connection in idle:
            connection.close()


class ThriftConnection:
    """
    One connection, for one call at a time.

    Args:
        address: host and port.
        tls: the TLS context, or None for plain TCP.
        deadline_at_s: deadline for connecting, by `time.monotonic`.
    """

    def __init__(
        self, address: tuple[str, int], tls: ssl.SSLContext | None, deadline_at_s: float
    ) -> None:
        plain_socket = socket.create_connection(address, _remaining_s(deadline_at_s))
        plain_socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = (
            tls.wrap_socket(plain_socket, server_hostname=address[0]) if tls else plain_socket
        )
        self._call_count = 0
        self.last_used_s = time.monotonic()

    def exchange(self, name: bytes, arguments: bytes, deadline_at_s: float) -> TCyMemoryBuffer:
        """Send a call and return its reply. Raises OSError or EOFError if the connection fails."""
        self._call_count += 1
        sequence_number = _I32.pack(self._call_count)
        header = _I32.pack(-0x7FFF0000 | _CALL) + _I32.pack(len(name)) + name + sequence_number
        self._sock.settimeout(_remaining_s(deadline_at_s))
        self._sock.sendall(_I32.pack(len(header) + len(arguments)) + header + arguments)
        (size,) = _I32.unpack(self._read(4, deadline_at_s))
        if not 12 <= size <= MAX_REPLY_BYTES:
            raise EOFError("the response is not Thrift")
        reply = self._read(size, deadline_at_s)
        number_offset = 8 + int.from_bytes(reply[4:8])
        if reply[number_offset : number_offset + 4] != sequence_number:
            raise EOFError("the response belongs to another call")
        self.last_used_s = time.monotonic()
        return TCyMemoryBuffer(reply)

    def is_quiet(self) -> bool:
        """Return False if the server has closed the connection or sent unexpected data."""
        self._sock.setblocking(False)
        try:
            self._sock.recv(1)
        except (BlockingIOError, ssl.SSLWantReadError):
            return True
        except OSError:
            return False
        return False

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._sock.close()

    def _read(self, size: int, deadline_at_s: float) -> bytes:
        parts = []
        while size:
            self._sock.settimeout(_remaining_s(deadline_at_s))
            part = self._sock.recv(min(size, 1 << 20))
            if not part:
                raise EOFError("the server closed the connection")
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


def _remaining_s(deadline_at_s: float) -> float:
    remaining_s = deadline_at_s - time.monotonic()
    if remaining_s <= 0:
        raise TimeoutError("no response in time")
    return remaining_s
