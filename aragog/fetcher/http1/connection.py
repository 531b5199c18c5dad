"""
One connection to a vetted address: TCP, a proxy's tunnel, TLS. The name is only for SNI and Host.

Nothing is resolved here: the address was vetted by the guard and the socket is opened to exactly
that address, so a name that changes its mind in between (DNS rebinding) gains nothing.
"""

from __future__ import annotations

import contextlib
import select
import socket
import ssl
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from aragog.fetcher.deadline import Deadline
from aragog.fetcher.faults import TransportError
from aragog.fetcher.http1.reader import ResponseReader

READ_BYTES = 65_536

# Further addresses of a host rarely help when three did not.
MAX_ADDRESSES = 3

Address = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Peer:
    """Who a connection may be shared between: one origin, through one proxy or none."""

    scheme: str
    host: str
    port: int
    proxy: str = ""


class HttpConnection:
    """
    An open connection and the reader on it; one request at a time, one thread at a time.

    Attributes:
        address: the IP address of the origin, also behind a proxy.
        tls: protocol version, None for plain TCP.
        used: requests written on it so far.
    """

    def __init__(self, sock: socket.socket, peer: Peer, address: str, connect_ms: float) -> None:
        self._sock = sock
        self._pace: Deadline | None = None
        self._timeout_s = -1.0
        self.peer = peer
        self.address = address
        self.connect_ms = connect_ms
        self.tls = sock.version() if isinstance(sock, ssl.SSLSocket) else None
        self.used = 0
        self.idle_since_s = 0.0
        self.reader = ResponseReader(self._receive)
        self._poll = select.poll()
        self._poll.register(sock, select.POLLIN)

    def timed_by(self, deadline: Deadline) -> None:
        """Reads and writes from here on obey `deadline`."""
        self._pace = deadline

    def send(self, request: bytes) -> None:
        """
        Hand the request to the kernel.

        Raises:
            TransportError: the connection is gone.
        """
        with _our_faults("sending the request"):
            self._wait_at_most()
            self.used += 1
            self._sock.sendall(request)

    @property
    def stale(self) -> bool:
        """True when the other end closed it, or said something nobody asked for."""
        return self.reader.pending or bool(self._poll.poll(0))

    def close(self) -> None:
        """Close it; never raises."""
        with contextlib.suppress(OSError):
            self._sock.close()

    def _receive(self) -> bytes:
        with _our_faults("reading the answer"):
            self._wait_at_most()
            data = self._sock.recv(READ_BYTES)
        if self._pace is not None:
            self._pace.received(len(data))
        return data

    def _wait_at_most(self) -> None:
        """The socket's timeout costs a system call, so it is set only when it changes much."""
        if self._pace is None:
            return
        seconds = self._pace.to_read_s()
        if seconds != self._timeout_s:
            self._sock.settimeout(seconds)
            self._timeout_s = seconds


def connect(
    peer: Peer,
    addresses: Sequence[Address],
    deadline: Deadline,
    *,
    tls: ssl.SSLContext | None,
    tunnel: bytes = b"",
) -> HttpConnection:
    """
    The first of `addresses` that answers, ready for a request.

    Args:
        peer: the origin; its host is the name in SNI and in the certificate.
        addresses: vetted; of the proxy where there is one.
        deadline: bounds every step.
        tls: None for plain HTTP.
        tunnel: the proxy's CONNECT request; b"" for none.

    Raises:
        TransportError: kinds `connect`, `tls`, `timeout`.
    """
    started_s = deadline.now_s()
    sock, address = _first_open(addresses, deadline)
    try:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tunnel:
            _tunnel(sock, tunnel, deadline)
        if tls is not None:
            sock = _wrapped(sock, peer.host, tls, deadline)
    except BaseException:
        sock.close()
        raise
    return HttpConnection(sock, peer, address, (deadline.now_s() - started_s) * 1000)


def _first_open(addresses: Sequence[Address], deadline: Deadline) -> tuple[socket.socket, str]:
    fault: TransportError | None = None
    tried = addresses[:MAX_ADDRESSES]
    for ip, port in tried:
        family = socket.AF_INET6 if ":" in ip else socket.AF_INET
        sock = socket.socket(family, socket.SOCK_STREAM)
        try:
            sock.settimeout(max(deadline.to_connect_s() / len(tried), 0.001))
            sock.connect((ip, port))
        except TimeoutError:
            sock.close()
            fault = TransportError("connect", f"{ip} port {port} did not answer")
        except OSError as error:
            sock.close()
            fault = TransportError("connect", f"{ip} port {port}: {error.strerror or error}")
        except BaseException:
            sock.close()
            raise
        else:
            return sock, ip
    raise fault or TransportError("dns", "no address")


def _wrapped(
    sock: socket.socket, host: str, tls: ssl.SSLContext, deadline: Deadline
) -> ssl.SSLSocket:
    sock.settimeout(deadline.to_connect_s())
    try:
        return tls.wrap_socket(sock, server_hostname=host.strip("[]"))
    except ssl.SSLCertVerificationError as error:
        raise TransportError("tls", f"certificate refused: {error.verify_message}") from error
    except TimeoutError as error:
        raise TransportError("tls", "the TLS handshake took too long") from error
    except ssl.SSLError as error:
        raise TransportError("tls", f"TLS failed: {error.reason or error}") from error
    except (OSError, ValueError) as error:
        raise TransportError(
            "tls", f"the connection broke during the TLS handshake: {error}"
        ) from error


def _tunnel(sock: socket.socket, request: bytes, deadline: Deadline) -> None:
    def receive() -> bytes:
        # One byte at a time: what follows the proxy's answer belongs to TLS.
        sock.settimeout(deadline.to_connect_s())
        return sock.recv(1)

    with _our_faults("asking the proxy"):
        sock.settimeout(deadline.to_connect_s())
        sock.sendall(request)
        status = ResponseReader(receive).head(16_384).status
    if not 200 <= status < 300:
        raise TransportError(
            "connect",
            f"the proxy answered {status} to CONNECT; it must allow CONNECT to the URL's port",
        )


@contextlib.contextmanager
def _our_faults(doing: str) -> Iterator[None]:
    """Socket errors as `TransportError`."""
    try:
        yield
    except TimeoutError as error:
        raise TransportError("timeout", f"{doing}: nothing came in time") from error
    except ssl.SSLError as error:
        raise TransportError("reset", f"{doing}: {error.reason or error}") from error
    except OSError as error:
        raise TransportError("reset", f"{doing}: {error.strerror or error}") from error
