"""The connected clients of a server: those that are too slow or silent are disconnected."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from aragog.api.clients import Clients
from aragog.api.thrift.connection import Connection
from aragog.settings import ServingSettings

_SWEEP_S = 1.0


class ClientSet:
    """
    The connections of a server; used on its event loop.

    Args:
        settings: limits and timeouts.
    """

    def __init__(self, settings: ServingSettings) -> None:
        self._settings = settings
        self._clients: Clients[Connection] = Clients(settings)
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._clients)

    def add(self, connection: Connection, address: str) -> bool:
        """Count a new connection; False: there are too many."""
        return self._clients.add(connection, address)

    def discard(self, connection: Connection) -> None:
        """Forget a connection."""
        self._clients.discard(connection)

    def start(self) -> None:
        """Disconnect clients that are too slow or silent, from now on."""
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())

    async def close_when_quiet(self, quiet_s: float, limit_s: float) -> None:
        """Close each connection when no call came for so long, and all when the limit is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._clients:
                    for connection in self._clients:
                        connection.close_if_quiet(quiet_s)
                    await asyncio.sleep(quiet_s / 4)
        for connection in self._clients:
            connection.abort()
        if self._sweeper is not None:
            self._sweeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeper

    async def _sweep(self) -> None:
        settings = self._settings
        while True:
            await asyncio.sleep(min(_SWEEP_S, settings.head_timeout_s, settings.send_timeout_s))
            now_s = time.monotonic()
            for connection in self._clients:
                if connection.overdue(
                    now_s, settings.head_timeout_s, settings.send_timeout_s, settings.keep_alive_s
                ):
                    connection.abort()
