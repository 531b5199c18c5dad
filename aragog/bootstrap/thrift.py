"""Build the Thrift services of a process that also serves HTTP."""

from __future__ import annotations

import socket
import ssl

from prometheus_client.registry import Collector

from aragog.api.auth.tokens import Tokens
from aragog.api.operation import Parts
from aragog.extras import has
from aragog.settings import ServingSettings, Settings


class ThriftServices:
    """
    The services on their listening socket; starts on the event loop of the HTTP server.

    Args:
        settings: limits and the certificate.
        parts: what operations use.
        sock: from `listen`.
        tokens: shared with the HTTP API.
    """

    def __init__(
        self, settings: Settings, parts: Parts, sock: socket.socket, tokens: Tokens
    ) -> None:
        from aragog.api.thrift.listening import tls_context  # noqa: PLC0415
        from aragog.api.thrift.metrics import ThriftMetrics  # noqa: PLC0415
        from aragog.api.thrift.server import ThriftServer  # noqa: PLC0415
        from aragog.api.thrift.services.operations import services  # noqa: PLC0415 - an extra

        self._sock = sock
        self._tls: ssl.SSLContext | None = tls_context(settings.serving)
        embedded = settings.store.engine != "hbase"
        self._server = ThriftServer(
            services(parts), settings.serving, embedded=embedded, tokens=tokens
        )
        self.metrics: Collector = ThriftMetrics(self._server)
        """For Prometheus; not registered yet."""

    async def start(self) -> None:
        """Serve from now on."""
        await self._server.start(self._sock, tls=self._tls)

    async def drain(self) -> None:
        """Answer the calls that run, and close all connections."""
        await self._server.drain()

    @property
    def running_calls(self) -> int:
        """How many calls are still running; after a drain, the abandoned ones."""
        return self._server.running_calls


def listen(settings: ServingSettings, processes: int) -> list[socket.socket]:
    """
    A listening socket for each process; none if Thrift is off or its extra is not installed.

    Raises:
        ConfigError: the port is in use or not permitted.
    """
    if not settings.thrift_port or not has("thrift"):
        return []
    from aragog.api.thrift import listening  # noqa: PLC0415 - an extra

    return listening.listen(settings, processes)
