"""
One connection to an HBase Thrift 1 gateway: happybase's connection, made safe.

Differences and their reasons (each observed with HBase 2.6, happybase 1.3 and thriftpy2 0.7):

- After a timeout, the next call on the same connection would read the late response and return
  another row's data. thriftpy2 gives every call the number 0 and does not check the number of a
  response. `NumberedProtocol` numbers the calls and rejects a response with a different number.
  (The pool also closes such a connection.)
- thriftpy2's timeout applies to each read, so a gateway that keeps sending a few bytes never causes
  a timeout. `DeadlineSocket` has one deadline for a whole call.
- `happybase.Connection` shuts its socket down on garbage collection, which would end the parent's
  connection if a forked child did it. `disown` closes only the child's file descriptor.
"""

from __future__ import annotations

import select
import time
from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

import happybase
import Hbase_thrift as thrift_api  # happybase creates this module, so it is imported afterward
from thriftpy2.protocol.cybin import TCyBinaryProtocol  # type: ignore[attr-defined] # compiled
from thriftpy2.thrift import TApplicationException, TClient
from thriftpy2.transport import TCyBufferedTransport, TSocket

__all__ = ["DeadlineSocket", "GatewayConnection", "NumberedProtocol", "call_many", "thrift_api"]

MAX_NUMBER = 0x7FFF_FFFF
BUFFER_BYTES = 16_384
"""
Size of the read buffer. thriftpy2's 4 KiB took 25% more CPU for 100 records; 64 KiB is no faster.
"""


class DeadlineSocket(TSocket):
    """A TSocket with one deadline of `timeout_s` for all reads and writes of a call."""

    def __init__(self, host: str, port: int, timeout_s: float) -> None:
        super().__init__(host=host, port=port, socket_timeout=timeout_s * 1000)  # type: ignore[no-untyped-call]
        self.timeout_s = timeout_s
        self.deadline_s = 0.0

    def start_call(self) -> None:
        self.deadline_s = time.monotonic() + self.timeout_s

    def read(self, size: int) -> bytes:
        self._limit()
        data: bytes = super().read(size)  # type: ignore[no-untyped-call]
        return data

    def write(self, data: bytes) -> None:
        self._limit()
        super().write(data)  # type: ignore[no-untyped-call]

    def _limit(self) -> None:
        left_s = self.deadline_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        self.sock.settimeout(left_s)


class NumberedProtocol(TCyBinaryProtocol):  # type: ignore[misc]
    """
    The binary protocol with numbered calls. Each call starts the socket's deadline.

    While `is_pipelining` is set, calls are sent before the first response is read. A gateway
    responds to calls in the order in which they were sent.
    """

    def __init__(self, transport: Any, socket: DeadlineSocket) -> None:
        super().__init__(transport, decode_response=False)
        self.socket = socket
        self.number = 0
        self.is_pipelining = False
        self.unanswered: deque[int] = deque()

    def write_message_begin(self, name: str, kind: int, _: int) -> None:
        self.number = self.number % MAX_NUMBER + 1
        if not self.is_pipelining:
            # Calls still listed here failed before their response was read, so forget them.
            self.unanswered.clear()
        self.unanswered.append(self.number)
        self.socket.start_call()
        super().write_message_begin(name, kind, self.number)

    def read_message_begin(self) -> tuple[str, int, int]:
        name, kind, number = super().read_message_begin()
        expected = self.unanswered.popleft()
        if number != expected:
            raise TApplicationException(
                TApplicationException.BAD_SEQUENCE_ID,
                f"got the response to call {number} instead of call {expected}",
            )
        return name, kind, number


def call_many(client: Any, method: str, calls: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Send all calls of one method, then read all responses."""
    return call_pipelined(client, [(method, arguments) for arguments in calls])


def call_pipelined(client: Any, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any]:
    """
    Send calls of any methods, then read all responses: one round trip.

    The gateway executes the calls in order. After an error, close the connection, because later
    responses are still unread.
    """
    protocol = client._iprot  # noqa: SLF001 - it has no public name, nor do send and receive
    protocol.is_pipelining = True
    try:
        for method, arguments in calls:
            client._send(method, **arguments)  # noqa: SLF001
        return [client._recv(method) for method, _ in calls]  # noqa: SLF001
    finally:
        protocol.is_pipelining = False


class GatewayConnection(happybase.Connection):  # type: ignore[misc]
    """
    A connection to `gateway` (`host:port`), opened by the constructor.

    Runs one call at a time, for one thread. Uses the gateway's defaults: buffered transport and the
    binary protocol. thriftpy2 has compiled code for both.
    """

    def __init__(self, gateway: str, *, timeout_s: float) -> None:
        host, _, port = gateway.rpartition(":")
        self.gateway = gateway
        self.used_at_s = 0.0
        self._timeout_s = timeout_s
        super().__init__(host=host.strip("[]"), port=int(port))
        self._watch = select.poll()
        self._watch.register(self.socket.sock, select.POLLIN)

    def _refresh_thrift_client(self) -> None:
        """A hook of happybase: build socket, transport, protocol and client."""
        self.socket = DeadlineSocket(self.host, self.port, self._timeout_s)
        self.transport = TCyBufferedTransport(self.socket, BUFFER_BYTES)
        self.client = TClient(thrift_api.Hbase, NumberedProtocol(self.transport, self.socket))

    def is_quiet(self) -> bool:
        """
        Return True if there is nothing to read, the normal state between two calls.

        Readable data means that the gateway closed the connection (because it stopped, or the
        connection was idle too long), or that an abandoned call's response arrived. Takes about 1
        µs and sends nothing.
        """
        return not self._watch.poll(0)

    def disown(self) -> None:
        """Close this process's copy of the socket; after a fork, the parent's stays open."""
        if self.socket.sock is not None:
            self.socket.sock.close()
            self.socket.sock = None
