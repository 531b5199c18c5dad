"""The listening sockets of the Thrift services."""

from __future__ import annotations

import socket

from aragog.api.server.listener import BACKLOG
from aragog.errors import ConfigError
from aragog.settings import ServingSettings


def listen(settings: ServingSettings, processes: int = 1) -> list[socket.socket]:
    """
    A listening socket for each process of the server, all on one port.

    The kernel distributes connections over them (SO_REUSEPORT), because connections of Thrift
    clients last long. A socket without SO_REUSEPORT is bound first: it finds out whether another
    server has the port, which would otherwise share it unnoticed.

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
            "set ARAGOG_SERVING__THRIFT_PORT to a free port, or to 0 to serve no Thrift"
        ) from error
    return sockets
