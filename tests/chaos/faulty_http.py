"""An HTTP proxy in front of one server that lets a share of the requests fail, as busy S3 does."""

from __future__ import annotations

import random
import socket
import threading
from contextlib import suppress

METHODS = (b"GET ", b"PUT ", b"POST ", b"HEAD ", b"DELETE ")
ANSWERS = (b"500 Internal Server Error", b"503 Slow Down")
HANGS_S = 15.0


class FaultyHttp:
    """
    Passes requests to `target` (`host:port`); `share` of them fail while it is above 0.0.

    A third each is answered with 500, with 503, and not at all.
    """

    def __init__(self, target: str, seed: int = 0) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._rng = random.Random(seed)
        self._server = socket.create_server(("127.0.0.1", 0), backlog=256)
        self._ended = threading.Event()
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.share = 0.0
        self.failed = 0
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()
                continue
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            threading.Thread(target=self._down, args=(client, server), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                # A client that waits for answers sends each request head as a segment of its own.
                if data.startswith(METHODS) and self._rng.random() < self.share:
                    self._fail(client)
                    break
                server.sendall(data)
        _end(client, server)

    def _down(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := server.recv(65536):
                client.sendall(data)
        _end(client, server)

    def _fail(self, client: socket.socket) -> None:
        self.failed += 1
        number = self._rng.randrange(3)
        if number == len(ANSWERS):
            self._ended.wait(HANGS_S)
            return
        head = b"HTTP/1.1 %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n" % ANSWERS[number]
        client.sendall(head)


def _end(*pair: socket.socket) -> None:
    for each in pair:
        with suppress(OSError):
            each.shutdown(socket.SHUT_RDWR)
        each.close()
