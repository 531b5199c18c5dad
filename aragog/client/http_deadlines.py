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
        pool.ConnectionCls = _add_deadline(type(pool).ConnectionCls)
        return pool


class _DeadlineReader(io.RawIOBase):
    """Reads from a socket. The socket's timeout applies to all reads together."""

    def __init__(self, sock: socket.socket, source: io.RawIOBase) -> None:
        remaining_s = sock.gettimeout()
        self._deadline_s = None if remaining_s is None else time.monotonic() + remaining_s
        self._sock, self._source = sock, source

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        if self._deadline_s is not None:
            remaining_s = self._deadline_s - time.monotonic()
            if remaining_s <= 0:
                raise TimeoutError("no response in time")
            self._sock.settimeout(remaining_s)
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
def _add_deadline(connection_class: Any) -> Any:
    """Return a urllib3 connection class, plain or TLS, with a deadline for reading responses."""

    def request(self: Any, *args: Any, **options: Any) -> None:
        if self.sock is not None:  # a reused socket still has the previous response's timeout
            self.sock.settimeout(self.timeout)
        connection_class.request(self, *args, **options)

    members = {"response_class": _DeadlineResponse, "request": request}
    return type(connection_class.__name__, (connection_class,), members)
