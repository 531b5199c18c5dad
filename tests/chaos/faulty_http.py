"""An HTTP proxy in front of one server that fails a share of the requests, like a busy S3."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

from tests.support.tcp_proxy import TcpProxy

METHODS = (b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE ")
STATUS_LINES = (b"500 Internal Server Error", b"503 Slow Down")
HANG_S = 15.0


class FaultyHttp(TcpProxy):
    """
    Passes requests to `target` (`host:port`), except that a `share` of them fail.

    A third of these are answered with 500, a third with 503, and a third not at all.
    """

    def __init__(self, target: str, seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self.share = 0.0
        self.failed = 0
        super().__init__(target)

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                # A client that waits for responses sends each request head in its own segment.
                if data.startswith(METHODS) and self._rng.random() < self.share:
                    self._fail(client)
                    break
                server.sendall(data)
        self._end(client, server)

    def _fail(self, client: socket.socket) -> None:
        self.failed += 1
        number = self._rng.randrange(3)
        if number == len(STATUS_LINES):
            self._ended.wait(HANG_S)
            return
        response = (
            b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % STATUS_LINES[number]
        )
        client.sendall(response)
