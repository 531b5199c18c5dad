"""The listening sockets of the Thrift services, and their TLS."""

from __future__ import annotations

import socket
import ssl

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
            sock.listen(1024)
    except OSError as error:
        for sock in sockets:
            sock.close()
        raise ConfigError(
            f"serving.thrift_port: cannot listen on {host}:{port} ({error.strerror or error}); "
            "set ARAGOG_SERVING__THRIFT_PORT to a free port, or to 0 to serve no Thrift"
        ) from error
    return sockets


def tls_context(settings: ServingSettings) -> ssl.SSLContext | None:
    """
    The TLS context of the settings; None without a certificate.

    Raises:
        ConfigError: the certificate or its key cannot be read.
    """
    if settings.tls_cert_file is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        context.load_cert_chain(settings.tls_cert_file, settings.tls_key_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(
            f"serving.tls_cert_file: cannot read {settings.tls_cert_file} and its key "
            f"({error}); both must be PEM files"
        ) from error
    return context
