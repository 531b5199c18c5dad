"""A TCP proxy on loopback that delays, closes and refuses connections on demand."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self

STEP_S = 0.01


class TcpProxy:
    """
    Passes bytes to `target` (`host:port`) and back.

    `delay_s` delays every response; `cut_after` closes a connection after that many bytes of
    responses; `refuse` closes new connections immediately; `drip` sends one byte at a time.
    """

    def __init__(self, target: str) -> None:
        host, _, port = target.rpartition(":")
        self._target = (host, int(port))
        self._server = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = f"127.0.0.1:{self._server.getsockname()[1]}"
        self.delay_s = 0.0
        self.cut_after: int | None = None
        self.refuse = False
        self.drip = False
        self.accepted = 0
        self._open: set[socket.socket] = set()
        self._ended = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut_all(self) -> None:
        """Close all connections, like a restart of the server."""
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._ended.set()
        with suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)  # otherwise accept() keeps waiting
        self._server.close()
        self.cut_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def _accept(self) -> None:
        while not self._ended.is_set():
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            if self.refuse:
                client.close()
                continue
            self.accepted += 1
            try:
                server = socket.create_connection(self._target)
            except OSError:
                client.close()  # the target is down
                continue
            self._open |= {client, server}
            threading.Thread(target=self._up, args=(client, server), daemon=True).start()
            threading.Thread(target=self._down, args=(server, client), daemon=True).start()

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while data := client.recv(65536):
                server.sendall(data)
        self._end(client, server)

    def _down(self, server: socket.socket, client: socket.socket) -> None:
        sent = 0
        with suppress(OSError):
            while data := server.recv(65536):
                self._ended.wait(self.delay_s)
                if self.cut_after is not None and sent + len(data) > self.cut_after:
                    client.sendall(data[: max(0, self.cut_after - sent)])
                    break
                for part in (data[n : n + 1] for n in range(len(data))) if self.drip else (data,):
                    client.sendall(part)
                    if self.drip:
                        self._ended.wait(STEP_S)
                sent += len(data)
        self._end(client, server)

    def _end(self, *pair: socket.socket) -> None:
        for each in pair:
            self._open.discard(each)
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
