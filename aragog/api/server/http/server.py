"""
The HTTP server (`aragog serve`): uvicorn on one socket, in one process. After SIGTERM, readiness
checks fail, current requests are completed, and idle connections are closed.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable
from functools import partial
from types import FrameType
from typing import Protocol

import uvicorn

from aragog.api.server.clients import Clients
from aragog.api.server.http.app import Api
from aragog.api.server.http.connection import ApiConnection, HttpService
from aragog.api.server.listener import BACKLOG, Listener, tls_context
from aragog.api.server.tokens import check_exposure
from aragog.errors import ConfigError
from aragog.runtime.open_files import REQUESTED_LIMIT, raise_limit
from aragog.settings import ServingSettings

DRAIN_S = 5
EXTRA_FILES = 1024
"""How many open files the server needs in addition to its connections."""


def listen(settings: ServingSettings) -> socket.socket:
    """
    Return the listening socket, which the server's processes inherit. SO_REUSEPORT is not set.
    Otherwise, a second server could share the port unnoticed and receive half of the requests.

    Raises:
        ConfigError: the port is in use or not permitted, tokens are required for this host, or the
            certificate cannot be used.
    """
    check_exposure(settings)
    tls_context(settings)
    sock = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.http_port))
        sock.listen(BACKLOG)
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"serving.http_port: cannot listen on {settings.host}:{settings.http_port} "
            f"({error.strerror or error}); set ARAGOG_SERVING__HTTP_PORT to a free port"
        ) from error
    return sock


class Companion(Protocol):
    """Another server on the same event loop."""

    async def start(self) -> None:
        """Start serving."""

    async def drain(self) -> None:
        """Complete current calls, then stop."""

    @property
    def running_calls(self) -> int:
        """The number of calls that are still running."""


class ApiServer(uvicorn.Server):
    """
    A uvicorn server with the limits in the settings.

    Args:
        api: the application.
        settings: limits and timeouts.
        ready: called when the server accepts connections.
        companion: another server that starts and stops with this one.
    """

    def __init__(
        self,
        api: Api,
        settings: ServingSettings,
        *,
        ready: Callable[[], None] = lambda: None,
        companion: Companion | None = None,
    ) -> None:
        self._clients = Clients(settings)
        service = HttpService(
            app=api,
            fast_reads=api.fast_reads,
            settings=settings,
            clients=self._clients,
            unsent=api.unsent,
        )
        super().__init__(
            uvicorn.Config(
                api,
                http=partial(ApiConnection, service),  # type: ignore[arg-type] # a factory
                ws="none",
                lifespan="off",
                log_config=None,
                log_level="error",  # at a lower level, clients could fill the log
                access_log=False,
                proxy_headers=False,
                server_header=False,
                timeout_graceful_shutdown=DRAIN_S,
            )
        )
        self._api = api
        self._ready = ready
        self._companion = companion
        self._listener = Listener(
            self._protocol,
            self._clients,
            tls=tls_context(settings),
            handshake_s=settings.head_timeout_s,
        )

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        if self._companion is not None:
            await self._companion.start()
        await super().startup([])  # without sockets, uvicorn itself accepts no connections
        await self._listener.start(sockets or ())
        self._clients.start()
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._api.end_waits()
        await self._listener.stop()
        drains = [super().shutdown(sockets)]
        if self._companion is not None:
            drains.append(self._companion.drain())
        await asyncio.gather(*drains)
        self._clients.stop()

    def _protocol(self) -> asyncio.Protocol:
        """Create the protocol (`ApiConnection`) of an accepted connection."""
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._api.drain()
        super().handle_exit(sig, frame)


def allow_connections(settings: ServingSettings) -> None:
    """Raise the limit on open files as far as needed, if this is permitted."""
    raise_limit(max(REQUESTED_LIMIT, EXTRA_FILES + 2 * settings.max_connections))


def run(
    api: Api, settings: ServingSettings, sock: socket.socket, companion: Companion | None = None
) -> None:
    """Serve on the socket until SIGTERM or SIGINT, then drain for at most 5 s."""
    allow_connections(settings)
    # After stopping, uvicorn raises the signal again for the earlier handlers.
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: None)
    try:
        ApiServer(api, settings, companion=companion).run(sockets=[sock])
    finally:
        api.close()
