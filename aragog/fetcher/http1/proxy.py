"""
The operator's proxy. The guard vets what is behind it, not the proxy itself.

Everything goes through a tunnel to an address that the guard has vetted, plain HTTP too: a proxy
that were given the name would look it up again, and could be led elsewhere (DNS rebinding).
"""

from __future__ import annotations

import socket
from urllib.parse import unquote, urlsplit

from aragog.errors import ConfigError
from aragog.fetcher.faults import TransportError
from aragog.fetcher.http1.connection import Address
from aragog.fetcher.request import basic
from aragog.settings.secret import reveal, without_password


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
        """The value of Proxy-Authorization; it is sent to the proxy alone."""
        if parts.username is not None:
            self.authorization = basic(unquote(parts.username), unquote(parts.password or ""))

    def addresses(self) -> list[Address]:
        """The proxy is the operator's own choice: it is resolved, not vetted."""
        try:
            found = socket.getaddrinfo(self._host, self._port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise TransportError("connect", f"the proxy {self._host}: {error.strerror}") from error
        return [(str(where[0]), self._port) for *_, where in found]

    def connect_request(self, address: Address) -> bytes:
        """The request for a tunnel to a vetted address (RFC 9110, 9.3.6)."""
        ip, port = address
        authority = f"[{ip}]:{port}" if ":" in ip else f"{ip}:{port}"
        lines = [f"CONNECT {authority} HTTP/1.1", f"Host: {authority}"]
        if self.authorization:
            lines.append(f"Proxy-Authorization: {self.authorization}")
        return "\r\n".join((*lines, "", "")).encode("latin-1")
