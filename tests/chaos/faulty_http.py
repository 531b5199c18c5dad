"""An HTTP proxy in front of one server that lets a share of the requests fail, as busy S3 does."""

from __future__ import annotations

import random
import socket
from contextlib import suppress

from tests.support.tcp_proxy import TcpProxy

METHODS = (b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE ")
ANSWERS = (b"500 Internal Server Error", b"503 Slow Down")
HANGS_S = 15.0


class FaultyHttp(TcpProxy):
    """
    Passes requests to `target` (`host:port`); `share` of them fail while it is above 0.0.

    A third each is answered with 500, with 503, and not at all.
    """

    def __init__(self, target: str, seed: int = 0) -> None:
        self._rng = random.Random(seed)
        self.share = 0.0
        self.failed = 0
        super().__init__(target)

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                # A client that waits for answers sends each request head as a segment of its own.
                if data.startswith(METHODS) and self._rng.random() < self.share:
                    self._fail(client)
                    break
                server.sendall(data)
        self._end(client, server)

    def _fail(self, client: socket.socket) -> None:
        self.failed += 1
        number = self._rng.randrange(3)
        if number == len(ANSWERS):
            self._ended.wait(HANGS_S)
            return
        head = b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % ANSWERS[number]
        client.sendall(head)
