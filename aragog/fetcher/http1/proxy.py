"""
The operator's forward proxy, used through CONNECT tunnels.

The SSRF filter checks the target, not the proxy. Plain HTTP uses a tunnel as well: a proxy that
received the name would resolve it again and could reach another address (DNS rebinding).
"""

from __future__ import annotations

import socket
from urllib.parse import unquote, urlsplit

from aragog.errors import ConfigError
from aragog.fetcher.faults import TransportError
from aragog.fetcher.http1.connection import Address
from aragog.fetcher.outcome import UnreachableKind
from aragog.fetcher.request import basic_auth_header
from aragog.secret import reveal, without_password


class Proxy:
    """The proxy of the settings, `http://[user:password@]host[:port]`."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(reveal(url))
            port = parts.port or 3128
        except ValueError:
            parts, port = urlsplit(""), 0
        if parts.scheme != "http" or not parts.hostname or not port:
            raise ConfigError(
                f"fetch.proxy: must be http://[user:password@]host[:port], got "
                f"{without_password(url)!r}"
            )
        self._host, self._port = parts.hostname, port
        self.authorization = ""
        """The value of Proxy-Authorization, which is sent to the proxy only."""
        if parts.username is not None:
            self.authorization = basic_auth_header(
                unquote(parts.username), unquote(parts.password or "")
            )

    def addresses(self) -> list[Address]:
        """Resolve the proxy. The operator chose it, so the SSRF filter does not check it."""
        try:
            infos = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise TransportError(
                UnreachableKind.CONNECT, f"cannot resolve the proxy {self._host}: {error.strerror}"
            ) from error
        return [(str(address[0]), self._port) for *_, address in infos]

    def connect_request(self, address: Address) -> bytes:
        """Return the request for a tunnel to an allowed address (RFC 9110 section 9.3.6)."""
        ip, port = address
        authority = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self.authorization:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        return "\r\n".join((*lines, "", "")).encode("latin-1")
