"""Real proxies on loopback: HTTP with CONNECT, and SOCKS5, with logins, host names, and faults."""

from __future__ import annotations

import base64
import contextlib
import socket
import threading
from typing import Self

TIMEOUT_S = 60.0


def _pump(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65_536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_WR)


class ProxyHarness:
    """
    A proxy that connects to every requested target. Use it in a `with`.

    Args:
        login: the required `user:password`; "" for none.
        names: host names that it resolves to `(address, port)`.
        answer: the response sent instead of connecting; None to connect.
        port: the port to listen on; 0 for a free one.

    Attributes:
        asked: the requested targets as `host:port`, in order.
        logins: their logins; "" for none.
    """

    scheme = ""

    def __init__(
        self,
        *,
        login: str = "",
        names: dict[str, tuple[str, int]] | None = None,
        answer: bytes | None = None,
        port: int = 0,
    ) -> None:
        self.login, self.names, self.answer = login, names or {}, answer
        self.asked: list[str] = []
        self.logins: list[str] = []
        self._listener = socket.create_server(("127.0.0.1", port), reuse_port=False)
        self.port = self._listener.getsockname()[1]
        self._open: set[socket.socket] = set()

    @property
    def url(self) -> str:
        return f"{self.scheme}://127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Refuse new connections, and end open ones."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                sock, _ = self._listener.accept()
                threading.Thread(target=self._serve, args=(sock,), daemon=True).start()

    def _serve(self, sock: socket.socket) -> None:
        self._open.add(sock)
        sock.settimeout(TIMEOUT_S)
        try:
            with sock, contextlib.suppress(OSError, EOFError):
                self._talk(sock)
        finally:
            self._open.discard(sock)

    def _talk(self, sock: socket.socket) -> None:
        raise NotImplementedError

    def _lead_on(self, sock: socket.socket, host: str, port: int, connected: bytes) -> None:
        target = self.names.get(host, (host, port))
        with socket.create_connection(target, timeout=TIMEOUT_S) as behind:
            sock.sendall(connected)
            threading.Thread(target=_pump, args=(behind, sock), daemon=True).start()
            _pump(sock, behind)


class HttpProxy(ProxyHarness):
    """Speaks CONNECT (RFC 9110 section 9.3.6)."""

    scheme = "http"

    def _talk(self, sock: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += _exactly(sock, 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, authority, _ = first.split(" ")
        fields = dict(line.lower().split(": ", 1) for line in lines if line)
        raw = next((x[21:] for x in lines if x.lower().startswith("proxy-authorization:")), "")
        given = base64.b64decode(raw.removeprefix("Basic ")).decode() if raw else ""
        assert method == "CONNECT", first
        assert fields["host"] == authority
        self.asked.append(authority)
        self.logins.append(given)
        if self.login and given != self.login:
            sock.sendall(b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n")
        elif self.answer is not None:
            sock.sendall(self.answer)
        else:
            host, _, port = authority.rpartition(":")
            self._lead_on(sock, host.strip("[]"), int(port), b"HTTP/1.1 200 Connected\r\n\r\n")


class SocksProxy(ProxyHarness):
    """Speaks SOCKS5 (RFC 1928 and 1929)."""

    scheme = "socks5"

    def _talk(self, sock: socket.socket) -> None:
        version, count = _exactly(sock, 2)
        assert version == 5
        methods = _exactly(sock, count)
        given = ""
        if self.login:
            if 2 not in methods:
                sock.sendall(b"\x05\xff")
                return
            sock.sendall(b"\x05\x02")
            user = _exactly(sock, _exactly(sock, 2)[1])
            password = _exactly(sock, _exactly(sock, 1)[0])
            given = f"{user.decode()}:{password.decode()}"
            sock.sendall(b"\x01\x00" if given == self.login else b"\x01\x01")
            if given != self.login:
                self.logins.append(given)
                return
        else:
            sock.sendall(b"\x05\x00")
        _, command, _, kind = _exactly(sock, 4)
        assert command == 1
        host = _socks_host(sock, kind)
        port = int.from_bytes(_exactly(sock, 2), "big")
        self.asked.append(f"{host}:{port}")
        self.logins.append(given)
        if self.answer is not None:
            sock.sendall(self.answer)
            return
        self._lead_on(sock, host, port, b"\x05\x00\x00\x01\x00\x00\x00\x00\x00\x00")


def socks_answer(code: int) -> bytes:
    """Return the reply of a SOCKS5 server that did not connect."""
    return bytes((5, code, 0, 1, 0, 0, 0, 0, 0, 0))


def _socks_host(sock: socket.socket, kind: int) -> str:
    if kind == 3:
        return _exactly(sock, _exactly(sock, 1)[0]).decode()
    if kind == 4:
        return socket.inet_ntop(socket.AF_INET6, _exactly(sock, 16))
    return socket.inet_ntop(socket.AF_INET, _exactly(sock, 4))


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        piece = sock.recv(size - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def free_port() -> int:
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])
