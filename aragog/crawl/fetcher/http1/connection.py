"""
One connection to an allowed address: TCP, a proxy's tunnel, TLS.

This module resolves no names but the proxy's. The SSRF filter has checked the address, and the
socket is opened to exactly that address, so that DNS rebinding has no effect. The name is used for
SNI, the certificate and the Host header only.
"""

from __future__ import annotations

import contextlib
import errno
import os
import select
import socket
import ssl
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

from aragog.crawl.fetcher.deadline import Deadline
from aragog.crawl.fetcher.dns import look_up, system_lookup
from aragog.crawl.fetcher.faults import TransportError
from aragog.crawl.fetcher.http1.protocol import Http1
from aragog.crawl.fetcher.http1.reader import ResponseReader
from aragog.crawl.fetcher.http1.tls import EndedTls, wrapped
from aragog.crawl.fetcher.protocols import HttpProtocol
from aragog.crawl.fetcher.request import basic_auth_header
from aragog.errors import ConfigError
from aragog.fetch_record.outcome import UnreachableKind
from aragog.runtime.green_threads import wait_readable, wait_writable
from aragog.runtime.secret import reveal, without_password

READ_BYTES = 65_536

PROXY_LOOKUP_S = 10.0
_NO_DEADLINE_S = 3600.0  # connections outside a request
# Data between two requests: HTTP/2 settles a setting or two, and closes with a GOAWAY.
MAX_IDLE_READS = 4
# If three addresses of a host fail, further ones rarely work.
MAX_ADDRESSES = 3

Address = tuple[str, int]

# tcpi_last_data_recv of Linux's struct tcp_info: ms since data was received last.
_LAST_DATA_RECV = struct.Struct("=I")
_LAST_DATA_RECV_AT = 52
_TCP_INFO_BYTES = 56


@dataclass(frozen=True, slots=True)
class Peer:
    """The key of the connection pool: one origin, through one proxy or none."""

    scheme: str
    host: str
    port: int
    proxy: str = ""
    http2: bool = False
    """HTTP/2 is offered to it; the server may have chosen HTTP/1.1."""


class HttpConnection:
    """
    An open connection and what it speaks. Carries one request at a time; not thread-safe.

    Attributes:
        address: the IP address of the origin, also behind a proxy.
        tls: TLS version; None for plain TCP.
        alpn: the protocol that the server chose of those offered; None if it chose none.
        protocol: HTTP/1.1, until the adapter sets another one.
        used: number of requests sent on it.
        on_close: called when it is closed.
        keep_tls: called with its TLS state, which has its session, after it was closed.
    """

    def __init__(self, sock: socket.socket, peer: Peer, address: str, connect_ms: float) -> None:
        self._sock = sock
        self._deadline: Deadline | None = None
        self.peer = peer
        self.address = address
        self.connect_ms = connect_ms
        secure = sock if isinstance(sock, ssl.SSLSocket) else None
        self.tls = secure.version() if secure else None
        self.alpn = secure.selected_alpn_protocol() if secure else None
        self.used = 0
        self.on_close: Callable[[HttpConnection], None] | None = None
        self.keep_tls: Callable[[EndedTls], None] | None = None
        self.idle_since_s = 0.0
        self.protocol: HttpProtocol = Http1(self.receive)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def set_deadline(self, deadline: Deadline) -> None:
        """Apply the limits of `deadline` to the following reads and writes."""
        self._deadline = deadline

    def send(self, request: bytes) -> None:
        """
        Send the request; returns when the kernel has accepted all of it.

        Raises:
            TransportError: the connection is closed, or sending took too long.
        """
        self.used += 1
        self.write(request)

    def write(self, data: bytes) -> None:
        """Send what belongs to no new request; see `send`."""
        try:
            _send_all(self._sock, data, self._read_timeout_s)
        except OSError as error:
            raise _fault(error, "sending the request") from error

    @property
    def stale(self) -> bool:
        """True when the server has closed it or sent unexpected data."""
        if self.protocol.busy:
            return True
        for _ in range(MAX_IDLE_READS):
            if not self._poll.poll(0):
                return False
            try:
                if not self.protocol.received_idle(self._sock.recv(READ_BYTES)):
                    return True
            except (BlockingIOError, ssl.SSLWantReadError):
                return False  # a message of TLS itself
            except OSError:
                return True
        return True

    def unread_s(self) -> float:
        """
        Return how long ago the kernel received what was read last, in seconds.

        How long it waited for this process to read it. Costs 1 µs; 0.0 where the kernel does not
        say. The kernel counts in its ticks, of 1 to 10 ms.
        """
        try:
            info = self._sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        except OSError:
            return 0.0
        if len(info) < _TCP_INFO_BYTES:
            return 0.0
        return float(_LAST_DATA_RECV.unpack_from(info, _LAST_DATA_RECV_AT)[0]) / 1000

    def close(self) -> None:
        """Close the connection; never raises."""
        keep_tls, self.keep_tls = self.keep_tls, None
        with contextlib.suppress(OSError):
            if keep_tls is not None and isinstance(self._sock, ssl.SSLSocket):
                os.close(self._sock.detach())  # `close` would drop the TLS state
                keep_tls(self._sock)
            else:
                self._sock.close()
        if self.on_close is not None:
            self.on_close(self)

    def receive(self) -> bytes:
        """Return the next bytes, b"" at the end; raises TransportError past a limit of time."""
        try:
            data = _receive(self._sock, READ_BYTES, self._read_timeout_s)
        except OSError as error:
            raise _fault(error, "reading the response") from error
        if self._deadline is not None:
            self._deadline.received(len(data))
        return data

    def _read_timeout_s(self) -> float:
        return _NO_DEADLINE_S if self._deadline is None else self._deadline.read_timeout_s()


def _send_all(sock: socket.socket, data: bytes, timeout_s: Callable[[], float]) -> None:
    """Send `data`; waits whenever the kernel takes no more."""
    left = memoryview(data)
    while left:
        try:
            left = left[sock.send(left) :]
        except (BlockingIOError, ssl.SSLWantWriteError):
            wait_writable(sock, timeout_s())
        except ssl.SSLWantReadError:
            wait_readable(sock, timeout_s())


def _receive(sock: socket.socket, size: int, timeout_s: Callable[[], float]) -> bytes:
    """Receive at most `size` bytes; waits until there are some. b"" at the end."""
    while True:
        seconds = timeout_s()  # also checks the deadline of what arrives without a pause
        try:
            return sock.recv(size)
        except (BlockingIOError, ssl.SSLWantReadError):
            wait_readable(sock, seconds)
        except ssl.SSLWantWriteError:
            wait_writable(sock, seconds)


def connect(
    peer: Peer,
    addresses: Sequence[Address],
    deadline: Deadline,
    *,
    tls: ssl.SSLContext | None,
    tunnel: bytes = b"",
    session: Callable[[str], ssl.SSLSession | None] | None = None,
) -> HttpConnection:
    """
    Connect to the first of `addresses` that accepts, and perform the TLS handshake.

    Args:
        peer: the origin; its host is the name in SNI and in the certificate.
        addresses: allowed addresses of the origin, or the addresses of the proxy.
        deadline: limits every step.
        tls: None for plain HTTP.
        tunnel: the CONNECT request for the proxy; b"" without a proxy.
        session: returns the TLS session to resume with an address; None: none.

    Raises:
        TransportError: kind `connect`, `tls`, `timeout` or `reset`.
    """
    started_s = deadline.now_s()
    sock, address = _first_open(addresses, deadline)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tunnel:
            _tunnel(sock, tunnel, deadline)
        if tls is not None:
            sock = wrapped(sock, peer.host, tls, deadline, session and session(address))
    except BaseException:
        sock.close()
        raise
    return HttpConnection(sock, peer, address, (deadline.now_s() - started_s) * 1000)


def _first_open(addresses: Sequence[Address], deadline: Deadline) -> tuple[socket.socket, str]:
    last_error: TransportError | None = None
    tried = addresses[:MAX_ADDRESSES]
    for ip, port in tried:
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            _connect(sock, (ip, port), max(deadline.connect_timeout_s() / len(tried), 0.001))
        except TimeoutError:
            sock.close()
            last_error = TransportError(UnreachableKind.CONNECT, f"{ip} port {port} did not answer")
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
    raise last_error or TransportError(UnreachableKind.DNS, "the host has no address")


def _connect(sock: socket.socket, address: Address, seconds: float) -> None:
    error = sock.connect_ex(address)
    if error == errno.EINPROGRESS:
        wait_writable(sock, seconds)
        error = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if error:
        raise OSError(error, os.strerror(error))


def _tunnel(sock: socket.socket, request: bytes, deadline: Deadline) -> None:
    def receive() -> bytes:
        # Read single bytes: the data after the proxy's response belongs to TLS.
        return _receive(sock, 1, deadline.connect_timeout_s)

    try:
        _send_all(sock, request, deadline.connect_timeout_s)
        status = ResponseReader(receive).head(16_384).status
    except OSError as error:
        raise _fault(error, "connecting through the proxy") from error
    if not 200 <= status < 300:
        raise TransportError(
            UnreachableKind.CONNECT,
            f"the proxy answered CONNECT with {status}; allow CONNECT to the URL's port there",
        )


def _fault(error: OSError, action: str) -> TransportError:
    """Return the fault that a socket's error is."""
    if isinstance(error, TimeoutError):
        return TransportError(UnreachableKind.TIMEOUT, f"{action}: timed out")
    reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
    return TransportError(UnreachableKind.RESET, f"{action}: {reason or error}")


class Proxy:
    """
    The operator's forward proxy, `http://[user:password@]host[:port]`, used by CONNECT tunnels.

    The SSRF filter checks the target, not the proxy. Plain HTTP uses a tunnel as well: a proxy that
    received the name would resolve it again and could reach another address (DNS rebinding).
    """

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(reveal(url))
            port = parts.port or 3128
        except ValueError:
            parts, port = urlsplit(""), 0
        if parts.scheme != "http" or not parts.hostname or not port:
            raise ConfigError(
                f"fetch.proxy: must be http://[user:password@]host[:port], got "
                f"{without_password(url)!r}"
            )
        self._host, self._port = parts.hostname, port
        self.authorization = ""
        """The value of Proxy-Authorization, which is sent to the proxy only."""
        if parts.username is not None:
            self.authorization = basic_auth_header(
                unquote(parts.username), unquote(parts.password or "")
            )

    def addresses(self) -> list[Address]:
        """Resolve the proxy. The operator chose it, so the SSRF filter does not check it."""
        found = look_up(system_lookup, self._host, PROXY_LOOKUP_S)
        if not found.addresses:
            reason = f"cannot resolve the proxy {self._host}: {found.reason}"
            raise TransportError(UnreachableKind.CONNECT, reason)
        return [(address, self._port) for address in found.addresses]

    def connect_request(self, address: Address) -> bytes:
        """Return the request for a tunnel to an allowed address (RFC 9110 section 9.3.6)."""
        ip, port = address
        authority = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self.authorization:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        return "\r\n".join((*lines, "", "")).encode("latin-1")
