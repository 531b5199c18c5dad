"""The HTTP API on loopback in a thread of the test, and a client that sends raw bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import orjson

from aragog.api.server.http.app import Api
from aragog.api.server.http.server import ApiServer, listen
from aragog.api.server.http.services import Services
from aragog.settings import ServingSettings

TIMEOUT_S = 60


@dataclass
class Reply:
    """A response."""

    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass
class Running:
    """A running API."""

    port: int
    server: ApiServer
    api: Api

    def connect(self, source: str = "127.0.0.1", receive_bytes: int = 0) -> socket.socket:
        """Connect from an address of this machine, optionally with a small receive buffer."""
        sock = socket.socket()
        sock.settimeout(TIMEOUT_S)
        if receive_bytes:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        sock.bind((source, 0))
        sock.connect(("127.0.0.1", self.port))
        return sock

    def raw(self, data: bytes) -> bytes:
        """Send bytes, and return everything received until the connection ends."""
        with self.connect() as sock:
            sock.sendall(data)
            return read_all(sock)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Reply:
        """Send a well-formed request, with the body as JSON."""
        content = b"" if body is None else body if isinstance(body, bytes) else orjson.dumps(body)
        named = {"Host": "localhost", "Connection": "close"}
        if body is not None:
            named |= {"Content-Type": "application/json", "Content-Length": str(len(content))}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in named.items()), "", ""]
        return parsed(self.raw("\r\n".join(lines).encode() + content))

    def get(self, path: str, **headers: str) -> Reply:
        return self.ask("GET", path, **headers)

    def get_fast(self, path: str, **headers: str) -> Reply:
        """Send a GET that keeps its connection, as the fast path for plain reads requires."""
        named = {"Host": "localhost"}
        named |= {name.replace("_", "-"): value for name, value in headers.items()}
        lines = [f"GET {path} HTTP/1.1", *(f"{n}: {v}" for n, v in named.items()), "", ""]
        with self.connect() as sock:
            sock.sendall("\r\n".join(lines).encode())
            return read_one(sock)


def read_all(sock: socket.socket) -> bytes:
    """Read until the connection ends or is reset."""
    pieces = []
    try:
        while piece := sock.recv(65_536):
            pieces.append(piece)
    except ConnectionResetError:
        pass
    return b"".join(pieces)


def read_one(sock: socket.socket) -> Reply:
    """Read one response, by its Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = sock.recv(65_536)
        assert piece, data
        data += piece
    reply = parsed(data)
    while len(reply.body) < int(reply.headers.get("content-length", 0)):
        piece = sock.recv(65_536)
        assert piece, data
        reply.body += piece
    return reply


def parsed(data: bytes) -> Reply:
    """Parse the response in these bytes."""
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {n.lower(): v for n, _, v in (line.partition(": ") for line in lines)}
    if headers.get("transfer-encoding") == "chunked":
        body = _unchunked(body)
    return Reply(int(first.split()[1]), headers, body)


def _unchunked(data: bytes) -> bytes:
    body = b""
    while data:
        size, _, data = data.partition(b"\r\n")
        body, data = body + data[: int(size, 16)], data[int(size, 16) + 2 :]
    return body


@contextmanager
def running(
    store: Any, services: Services | None = None, *, shared_tokens: Any = None, **options: Any
) -> Iterator[Running]:
    """Run the API for a store on a free port."""
    settings = ServingSettings(**{"http_port": 0, "deadline_ms": 20_000, **options})
    sock = listen(settings)
    api = Api(store, settings, services, shared_tokens)
    ready = threading.Event()
    server = ApiServer(api, settings, ready=ready.set)
    thread = threading.Thread(target=server.run, args=([sock],), daemon=True)
    thread.start()
    assert ready.wait(TIMEOUT_S)
    try:
        yield Running(sock.getsockname()[1], server, api)
    finally:
        api.drain()
        server.should_exit = True
        thread.join(TIMEOUT_S)
        api.close()
        assert not thread.is_alive()
