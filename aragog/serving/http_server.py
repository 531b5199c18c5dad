"""
The read API's server (`aragog serve`): one process, one loop.

Several processes may listen on the same port (SO_REUSEPORT), one a core. SIGTERM drains: what is
at hand is answered, idle connections are closed, `/ready` says 503 meanwhile.
"""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable

from aragog.errors import ConfigError
from aragog.serving.api import Api
from aragog.serving.http_protocol import HttpProtocol
from aragog.settings import ServingSettings

DRAIN_S = 5.0


def listen(settings: ServingSettings) -> socket.socket:
    """
    The listening socket.

    Raises:
        ConfigError: the port is in use or not ours to take.
    """
    sock = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        sock.bind((settings.host, settings.http_port))
    except OSError as error:
        sock.close()
        raise ConfigError(
            f"serving.http_port: cannot listen on {settings.host}:{settings.http_port}: "
            f"{error.strerror}"
        ) from error
    sock.listen(1024)
    return sock


async def serve(api: Api, sock: socket.socket, *, ready: Callable[[], None] = lambda: None) -> None:
    """Answer on the socket until SIGTERM or SIGINT, then drain for at most 5 s."""
    loop = asyncio.get_running_loop()
    connections: set[HttpProtocol] = set()
    server = await loop.create_server(lambda: HttpProtocol(api.handle, connections), sock=sock)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    ready()
    await stop.wait()
    api.draining = True
    server.close()
    for connection in list(connections):
        connection.drain()
    for _ in range(int(DRAIN_S / 0.05)):
        if not connections:
            break
        await asyncio.sleep(0.05)
