"""Connections of urllib3 on which the deadline of a call counts to the end of the body."""

from __future__ import annotations

import io
import socket
import time
from http.client import HTTPResponse
from typing import Any

from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool


class DeadlineAdapter(HTTPAdapter):
    """Sends requests whose `Timeout(total=…)` is kept to the end of the response's body."""

    def init_poolmanager(self, *args: Any, **options: Any) -> None:
        super().init_poolmanager(*args, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": HttpPool, "https": HttpsPool}


class _DeadlineReader(io.RawIOBase):
    """Reads a socket until its timeout, which counts from now, is over."""

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
                raise TimeoutError("no answer in time")
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


class _DeadlineHttpConnection(HTTPConnection):
    response_class = _DeadlineResponse

    def request(self, *args: Any, **options: Any) -> None:
        _renew_timeout(self)
        super().request(*args, **options)


class _DeadlineHttpsConnection(HTTPSConnection):
    response_class = _DeadlineResponse

    def request(self, *args: Any, **options: Any) -> None:
        _renew_timeout(self)
        super().request(*args, **options)


def _renew_timeout(connection: HTTPConnection) -> None:
    """Reset the timeout of a reused connection: its socket still has that of the last response."""
    if connection.sock is not None:
        connection.sock.settimeout(connection.timeout)


class HttpPool(HTTPConnectionPool):
    """Its name is in messages of errors."""

    ConnectionCls = _DeadlineHttpConnection


class HttpsPool(HTTPSConnectionPool):
    """The same with TLS."""

    ConnectionCls = _DeadlineHttpsConnection
