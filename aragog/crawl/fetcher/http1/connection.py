"""
One connection to an allowed address: TCP, a proxy tunnel and TLS.

The socket connects to exactly the address that the SSRF filter has checked, so DNS rebinding has no
effect. The name is used only for SNI, the certificate and the Host header.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import ssl
import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from aragog.crawl.egress.routes import ProxyServer
from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.faults import RouteFailed, RouteRefusesTarget, TransportError
from aragog.crawl.fetcher.http1.protocol import Http1
from aragog.crawl.fetcher.http1.proxies import bind_to, open_tunnel
from aragog.crawl.fetcher.http1.tls import ClosedTls, wrap_tls
from aragog.crawl.fetcher.protocols import HttpProtocol
from aragog.fetch_record.outcome import UnreachableKind
from aragog.runtime.green_threads import wait_readable, wait_writable

READ_BYTES = 65_536

_NO_DEADLINE_S = 3600.0  # for connections that no request is using
# Maximum number of reads between two requests, for an HTTP/2 server's SETTINGS and GOAWAY frames.
MAX_IDLE_READS = 4
# If a host's first three addresses fail, the others rarely work.
MAX_ADDRESSES = 3

Address = tuple[str, int]

# The field tcpi_last_data_recv of Linux's struct tcp_info: ms since data was last received.
_LAST_DATA_RECV = struct.Struct("=I")
_LAST_DATA_RECV_OFFSET = 52
_TCP_INFO_BYTES = 56


@dataclass(frozen=True, slots=True)
class Peer:
    """The connection pool's key: an origin and the egress route to it."""

    scheme: str
    host: str
    port: int
    route_key: str = "direct"
    """See `aragog.crawl.egress.egress.SelectedRoute.key`."""
    http2: bool = False
    """True if HTTP/2 is offered. The server may still choose HTTP/1.1."""


class HttpConnection:
    """
    An open connection. Carries one request at a time. Not thread-safe.

    Attributes:
        address: the IP address that the socket is connected to. With a proxy, the adapter replaces
            it with the origin's, or with None if the proxy resolves names.
        tls: TLS version; None for plain TCP.
        alpn: the protocol chosen by the server, or None.
        protocol: HTTP/1.1, unless the adapter replaces it.
        on_close: called after closing.
        keep_tls: called after closing, with the TLS object, which contains the session.
    """

    def __init__(self, sock: socket.socket, peer: Peer, address: str, connect_ms: float) -> None:
        self._sock = sock
        self._deadline: Deadline | None = None
        self.peer = peer
        self.address: str | None = address
        self.connect_ms = connect_ms
        tls_socket = sock if isinstance(sock, ssl.SSLSocket) else None
        self.tls = tls_socket.version() if tls_socket else None
        self.alpn = tls_socket.selected_alpn_protocol() if tls_socket else None
        self.request_count = 0
        self.on_close: Callable[[HttpConnection], None] | None = None
        self.keep_tls: Callable[[ClosedTls], None] | None = None
        self.idle_since_s = 0.0
        self.protocol: HttpProtocol = Http1(self.receive)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def set_deadline(self, deadline: Deadline) -> None:
        self._deadline = deadline

    def send(self, request: bytes) -> None:
        """
        Send a request. Returns when the kernel has accepted all of it.

        Raises:
            TransportError: the connection is closed, or sending took too long.
        """
        self.request_count += 1
        self.write(request)

    def write(self, data: bytes) -> None:
        """Send bytes that do not start a request; see `send`."""
        try:
            _send_all(self._sock, data, self._read_timeout_s)
        except OSError as error:
            raise _socket_error(error, "sending the request") from error

    @property
    def is_stale(self) -> bool:
        """True if the server has closed the connection or has sent unexpected data."""
        if self.protocol.is_busy:
            return True
        for _ in range(MAX_IDLE_READS):
            if not self._poll.poll(0):
                return False
            try:
                if not self.protocol.receive_idle(self._sock.recv(READ_BYTES)):
                    return True
            except (BlockingIOError, ssl.SSLWantReadError):
                return False  # the readable bytes were a TLS message without data
            except OSError:
                return True
        return True

    def kernel_wait_s(self) -> float:
        """
        Return how many seconds the last data waited in the kernel before it was read.

        Returns 0.0 if unknown. Takes 1 µs. The kernel's resolution is 1 to 10 ms.
        """
        try:
            info = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        except OSError:
            return 0.0
        if len(info) < _TCP_INFO_BYTES:
            return 0.0
        return float(_LAST_DATA_RECV.unpack_from(info, _LAST_DATA_RECV_OFFSET)[0]) / 1000

    def close(self) -> None:
        """Close the connection. Never raises."""
        keep_tls, self.keep_tls = self.keep_tls, None
        with contextlib.suppress(OSError):
            if keep_tls is not None and isinstance(self._sock, ssl.SSLSocket):
                os.close(self._sock.detach())  # unlike `close`, this keeps the TLS state
                keep_tls(self._sock)
            else:
                self._sock.close()
        if self.on_close is not None:
            self.on_close(self)

    def receive(self) -> bytes:
        """Return the next bytes; b"" at the end of the stream. Raises TransportError on timeout."""
        try:
            data = _receive(self._sock, READ_BYTES, self._read_timeout_s)
        except OSError as error:
            raise _socket_error(error, "reading the response") from error
        if self._deadline is not None:
            self._deadline.count_received(len(data))
        return data

    def _read_timeout_s(self) -> float:
        return _NO_DEADLINE_S if self._deadline is None else self._deadline.read_timeout_s()


def _send_all(sock: socket.socket, data: bytes, timeout_s: Callable[[], float]) -> None:
    remaining = memoryview(data)
    while remaining:
        try:
            remaining = remaining[sock.send(remaining) :]
        except (BlockingIOError, ssl.SSLWantWriteError):
            wait_writable(sock, timeout_s())
        except ssl.SSLWantReadError:
            wait_readable(sock, timeout_s())


def _receive(sock: socket.socket, size: int, timeout_s: Callable[[], float]) -> bytes:
    while True:
        seconds = timeout_s()  # enforces the deadline even if data keeps arriving
        try:
            return sock.recv(size)
        except (BlockingIOError, ssl.SSLWantReadError):
            wait_readable(sock, seconds)
        except ssl.SSLWantWriteError:
            wait_writable(sock, seconds)


@dataclass(frozen=True, slots=True)
class Tunnel:
    """A target behind a proxy."""

    proxy: ProxyServer
    target: Address
    """An allowed address, or the name if the proxy resolves names."""


NO_SOURCE: Mapping[int, str] = {}


def connect(
    peer: Peer,
    addresses: Sequence[Address],
    deadline: Deadline,
    *,
    tls: ssl.SSLContext | None,
    tunnel: Tunnel | None = None,
    source: Mapping[int, str] = NO_SOURCE,
    session: Callable[[str], ssl.SSLSession | None] | None = None,
) -> HttpConnection:
    """
    Connect to the first of `addresses` that accepts, with TLS for HTTPS.

    Args:
        peer: the origin, whose host is used for SNI and the certificate check.
        addresses: allowed addresses of the origin, or the proxy's addresses.
        deadline: limits each step.
        tls: None for plain HTTP.
        tunnel: the proxy and the target behind it; None without a proxy.
        source: local addresses by IP version. If empty, the kernel chooses.
        session: returns the TLS session to resume with a given address, or None.

    Raises:
        TransportError: kind `connect`, `dns`, `tls`, `timeout` or `reset`.
        RouteFailed: the proxy does not respond or fails, or this machine does not have the local
            address.
        RouteRefusesTarget: the egress route does not allow this target.
    """
    started_s = deadline.now_s()
    sock, address = _connect_first(addresses, deadline, source, to_proxy=tunnel is not None)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tunnel is not None:
            _open_tunnel(sock, tunnel, deadline)
        if tls is not None:
            sock = wrap_tls(sock, peer.host, tls, deadline, session and session(address))
    except BaseException:
        sock.close()
        raise
    return HttpConnection(sock, peer, address, (deadline.now_s() - started_s) * 1000)


def _connect_first(
    addresses: Sequence[Address],
    deadline: Deadline,
    source: Mapping[int, str],
    *,
    to_proxy: bool,
) -> tuple[socket.socket, str]:
    last_error: TransportError | None = None
    if source and not (
        addresses := [address for address in addresses if _ip_version(address) in source]
    ):
        raise RouteRefusesTarget("the egress route has no address of the host's IP version")
    candidates = addresses[:MAX_ADDRESSES]
    for ip, port in candidates:
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            if source:
                bind_to(sock, source[_ip_version((ip, port))])
            _connect(sock, (ip, port), max(deadline.connect_timeout_s() / len(candidates), 0.001))
        except TimeoutError:
            sock.close()
            reason = f"{ip} port {port} did not respond"
            last_error = TransportError(UnreachableKind.CONNECT, reason)
        except OSError as error:
            sock.close()
            last_error = TransportError(
                UnreachableKind.CONNECT, f"{ip} port {port}: {error.strerror or error}"
            )
        except BaseException:
            sock.close()
            raise
        else:
            return sock, ip
    if to_proxy and last_error is not None:
        raise RouteFailed(f"the proxy: {last_error.reason}") from last_error
    raise last_error or TransportError(UnreachableKind.DNS, "the host has no address")


def _ip_version(address: Address) -> int:
    return 6 if ":" in address[0] else 4


def _connect(sock: socket.socket, address: Address, seconds: float) -> None:
    error = sock.connect_ex(address)
    if error == errno.EINPROGRESS:
        wait_writable(sock, seconds)
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


def _open_tunnel(sock: socket.socket, tunnel: Tunnel, deadline: Deadline) -> None:
    open_tunnel(
        tunnel.proxy,
        tunnel.target,
        lambda data: _send_all(sock, data, deadline.connect_timeout_s),
        lambda size: _receive(sock, size, deadline.connect_timeout_s),
    )


def _socket_error(error: OSError, action: str) -> TransportError:
    if isinstance(error, TimeoutError):
        return TransportError(UnreachableKind.TIMEOUT, f"{action}: timed out")
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return TransportError(UnreachableKind.RESET, f"{action}: {reason or error}")
