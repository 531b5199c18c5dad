"""How a server stops without losing a request."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress

QUIET_S = 0.2
"""When a server stops, an idle connection is closed after so long: a request may be on its way."""


async def stop_listening(
    sockets: Iterable[socket.socket],
    servers: Iterable[asyncio.Server],
    protocol: Callable[[], asyncio.Protocol],
    tls: ssl.SSLContext | None,
) -> None:
    """
    Close servers, after accepting the connections that wait at their listening sockets.

    Closing a listening socket resets those, and their first requests with them.

    Args:
        sockets: what the servers listen on, non-blocking.
        servers: are closed.
        protocol: makes the protocol of a connection.
        tls: None: plain TCP.
    """
    waiting = [connection for sock in sockets for connection in _accepted(sock)]
    for server in servers:
        server.close()
    loop = asyncio.get_running_loop()
    opening = [
        loop.create_task(loop.connect_accepted_socket(protocol, connection, ssl=tls))
        for connection in waiting
    ]
    if opening:
        await asyncio.wait(opening, timeout=QUIET_S)


def _accepted(listener: socket.socket) -> list[socket.socket]:
    result = []
    with suppress(OSError):  # BlockingIOError: there are no more
        while True:
            result.append(listener.accept()[0])
    return result
