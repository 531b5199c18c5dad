"""
Accept connections with or without TLS, and stop without losing a request.

A connection counts as a client before its TLS handshake. asyncio's server creates a protocol only
after the handshake, so it would not count clients that never complete it.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from collections.abc import Callable, Iterable
from contextlib import suppress

from aragog.api.server.clients import Clients
from aragog.errors import ConfigError
from aragog.settings import ServingSettings

IDLE_GRACE_S = 0.2
"""How long a stopping server keeps idle connections open, in case a request is in transit."""
BACKLOG = 1024
"""How many connections the kernel queues."""
ACCEPT_RETRY_S = 0.2
"""Pause after an operating system error, usually too many open files."""


def tls_context(settings: ServingSettings) -> ssl.SSLContext | None:
    """
    Return the TLS context for the settings, or None without a certificate.

    Raises:
        ConfigError: the certificate or its key cannot be used.
    """
    if settings.tls_cert_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"serving.tls_cert_file: cannot use {settings.tls_cert_file} with its key ({error}); "
            "both must be PEM files"
        ) from error
    return context


class Handshake(asyncio.Protocol):
    """A client during its TLS handshake. Afterwards, the server's protocol replaces this object."""

    def __init__(
        self, sock: socket.socket, clients: Clients, protocol: Callable[[], asyncio.Protocol]
    ) -> None:
        self._sock = sock
        self._clients = clients
        self._protocol = protocol
        self.idle_since_s: float | None = time.monotonic()
        """When the client connected. It counts as idle during the handshake."""
        self._is_complete = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # There is no await below, so the client is counted exactly once.
        self._is_complete = True
        self._clients.discard(self)
        protocol = self._protocol()
        transport.set_protocol(protocol)
        protocol.connection_made(transport)

    def abort(self) -> None:
        """Close now, unless the server's protocol has taken over."""
        if self._is_complete:
            return
        # The event loop owns the file descriptor, so the socket is shut down, not closed.
        with suppress(OSError):  # the client has closed it
            self._sock.shutdown(socket.SHUT_RDWR)

    def end_if_late(self, now_s: float) -> None:
        """Do nothing, because asyncio limits how long a handshake takes."""


class Listener:
    """
    Accepts a server's connections. It must be used on the server's event loop.

    Args:
        protocol: creates the protocol of a connection.
        clients: counts connections, including those with an incomplete TLS handshake.
        tls: the TLS context, or None for plain TCP.
        handshake_s: how long a TLS handshake may take.
    """

    def __init__(
        self,
        protocol: Callable[[], asyncio.Protocol],
        clients: Clients,
        *,
        tls: ssl.SSLContext | None,
        handshake_s: float,
    ) -> None:
        self._protocol = protocol
        self._clients = clients
        self._tls = tls
        self._handshake_s = handshake_s
        self._sockets: tuple[socket.socket, ...] = ()
        self._servers: list[asyncio.Server] = []
        self._accepting: list[asyncio.Task[None]] = []
        self._handshakes: dict[asyncio.Task[None], Handshake] = {}

    async def start(self, sockets: Iterable[socket.socket]) -> None:
        """Accept connections on these listening sockets."""
        loop = asyncio.get_running_loop()
        self._sockets = tuple(sockets)
        for sock in self._sockets:
            sock.setblocking(False)
            if self._tls is None:
                server = await loop.create_server(self._protocol, sock=sock, backlog=BACKLOG)
                self._servers.append(server)
            else:
                self._accepting.append(loop.create_task(self._accept(sock)))

    async def stop(self) -> None:
        """
        Accept the connections that are already queued, then abort handshakes that take too long.

        If the socket were closed at once, queued connections would be reset, and their first
        requests would be lost.
        """
        for accepting in self._accepting:
            accepting.cancel()
        await asyncio.gather(*self._accepting, return_exceptions=True)
        queued = [connection for sock in self._sockets for connection in _accept_queued(sock)]
        for server in self._servers:
            server.close()
        for sock in self._sockets:
            sock.close()
        starting = [self._start(connection) for connection in queued] + list(self._handshakes)
        if starting:
            await asyncio.wait(starting, timeout=IDLE_GRACE_S)
        for handshake in list(self._handshakes.values()):
            handshake.abort()

    async def _accept(self, listening_socket: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                sock, _ = await loop.sock_accept(listening_socket)
            except OSError:
                await asyncio.sleep(ACCEPT_RETRY_S)
                continue
            self._start(sock)
            await asyncio.sleep(0)  # let other tasks run between queued connections

    def _start(self, sock: socket.socket) -> asyncio.Task[None]:
        """Create an accepted connection's protocol, after the handshake if TLS is used."""
        loop = asyncio.get_running_loop()
        if self._tls is None:
            return loop.create_task(self._open(self._protocol(), sock))
        handshake = Handshake(sock, self._clients, self._protocol)
        if not self._clients.add(handshake, _peer_address(sock)):
            handshake.abort()  # `_open` closes it
        task = loop.create_task(self._open(handshake, sock))
        self._handshakes[task] = handshake
        task.add_done_callback(self._handshakes.pop)
        return task

    async def _open(self, protocol: asyncio.Protocol, sock: socket.socket) -> None:
        loop, handshake_timeout_s = (
            asyncio.get_running_loop(),
            self._handshake_s if self._tls else None,
        )
        try:
            with suppress(OSError):  # the client uses no TLS, is too slow or has disconnected
                await loop.connect_accepted_socket(
                    lambda: protocol, sock, ssl=self._tls, ssl_handshake_timeout=handshake_timeout_s
                )
        finally:
            if isinstance(protocol, Handshake):
                self._clients.discard(protocol)


def _peer_address(sock: socket.socket) -> str:
    try:
        return str(sock.getpeername()[0])
    except OSError:  # the client has disconnected
        return ""


def _accept_queued(listening_socket: socket.socket) -> list[socket.socket]:
    result = []
    with suppress(OSError):  # BlockingIOError: no more are queued
        while True:
            result.append(listening_socket.accept()[0])
    return result


def thrift_sockets(settings: ServingSettings, processes: int = 1) -> list[socket.socket]:
    """
    Return listening sockets for the Thrift server's processes, all on one port.

    The kernel distributes the long-lived Thrift connections among them (SO_REUSEPORT). First, a
    socket without SO_REUSEPORT is bound, because another server on the port would otherwise go
    unnoticed.

    Raises:
        ConfigError: the port is in use or not permitted.
    """
    host, port = settings.host, settings.thrift_port
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    sockets: list[socket.socket] = []
    try:
        with socket.socket(family) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((host, port))
        for _ in range(processes):
            sock = socket.socket(family)
            sockets.append(sock)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if processes > 1:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            sock.bind((host, port or sockets[0].getsockname()[1]))
            sock.listen(BACKLOG)
    except OSError as error:
        for sock in sockets:
            sock.close()
        raise ConfigError(
            f"serving.thrift_port: cannot listen on {host}:{port} ({error.strerror or error}); "
            "set ARAGOG_SERVING__THRIFT_PORT to a free port, or to 0 to turn Thrift off"
        ) from error
    return sockets
