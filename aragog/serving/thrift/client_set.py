"""The connected clients of a server: how many, how slow, and how much memory they hold."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress

from aragog.serving.thrift.connection import Connection
from aragog.settings import ServingSettings

MOST_HELD_BYTES = 256 << 20
"""Of all large frames that are being received and all replies that clients do not read."""
_SWEEP_S = 1.0


class ClientSet:
    """
    The connections of a server; used on its event loop.

    Args:
        settings: limits and timeouts.

    Attributes:
        held_bytes: the large frames and unread replies in memory.
    """

    def __init__(self, settings: ServingSettings) -> None:
        self.held_bytes = 0
        self._settings = settings
        self._connections: set[Connection] = set()
        self._sweeper: asyncio.Task[None] | None = None

    def __len__(self) -> int:
        return len(self._connections)

    def add(self, connection: Connection) -> bool:
        """Count a new connection; False: there are too many."""
        if len(self._connections) >= self._settings.max_connections:
            return False
        self._connections.add(connection)
        return True

    def discard(self, connection: Connection) -> None:
        """Forget a connection."""
        self._connections.discard(connection)

    def has_room(self, size: int) -> bool:
        """Whether so many bytes more may be held."""
        return self.held_bytes + size <= MOST_HELD_BYTES

    def start(self) -> None:
        """Disconnect clients that are too slow or silent, from now on."""
        self._sweeper = asyncio.get_running_loop().create_task(self._sweep())

    async def close_when_quiet(self, quiet_s: float, limit_s: float) -> None:
        """Close each connection when no call came for so long, and all when the limit is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                while self._connections:
                    for connection in list(self._connections):
                        connection.close_if_quiet(quiet_s)
                    await asyncio.sleep(quiet_s / 4)
        for connection in list(self._connections):
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
            for connection in list(self._connections):
                if connection.overdue(
                    now_s, settings.head_timeout_s, settings.send_timeout_s, settings.keep_alive_s
                ):
                    connection.abort()
