"""
An adapter for requests that enforces `Timeout(total=…)` until the end of the response's body.

urllib3 applies the time limit to each read of a body separately. A server that sends a byte now and
then could therefore block a call forever.
"""

from __future__ import annotations

import io
import socket
import time
from functools import cache
from http.client import HTTPResponse
from typing import Any

from requests.adapters import HTTPAdapter


class DeadlineAdapter(HTTPAdapter):
    """Sends requests whose total timeout includes reading the whole response."""

    def get_connection_with_tls_context(self, *args: Any, **options: Any) -> Any:
        pool: Any = super().get_connection_with_tls_context(*args, **options)
        pool.ConnectionCls = _with_deadline(type(pool).ConnectionCls)
        return pool


class _DeadlineReader(io.RawIOBase):
    """Reads from a socket, with the socket's timeout as the deadline for all reads together."""

    def __init__(self, sock: socket.socket, source: io.RawIOBase) -> None:
        left_s = sock.gettimeout()
        self._until_s = None if left_s is None else time.monotonic() + left_s
        self._sock, self._source = sock, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._until_s is not None:
            left_s = self._until_s - time.monotonic()
            if left_s <= 0:
                raise TimeoutError("no response in time")
            self._sock.settimeout(left_s)
        count: int | None = self._source.readinto(buffer)
        return count

    def close(self) -> None:
        self._source.close()
        super().close()


class _DeadlineResponse(HTTPResponse):
    def __init__(self, sock: socket.socket, *args: Any, **options: Any) -> None:
        super().__init__(sock, *args, **options)
        self.fp: Any = io.BufferedReader(_DeadlineReader(sock, self.fp.detach()))


@cache
def _with_deadline(connection_class: Any) -> Any:
    """Return a urllib3 connection class, plain or TLS, with a deadline for reading responses."""

    def request(self: Any, *args: Any, **options: Any) -> None:
        if self.sock is not None:  # a reused socket still has the previous response's timeout
            self.sock.settimeout(self.timeout)
        connection_class.request(self, *args, **options)

    members = {"response_class": _DeadlineResponse, "request": request}
    return type(connection_class.__name__, (connection_class,), members)
