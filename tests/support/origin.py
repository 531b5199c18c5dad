"""
A web origin for tests, in this process, on 127.0.0.1; `tests.support.misbehaviour` has handlers for it.

    with Origin({"/": page(b"<title>hello</title>")}) as origin:
        fetch(origin.url("/"))
        assert [seen.path for seen in origin.seen] == ["/"]

What it does
    * One thread accepts, and each connection has one; raw sockets control every byte. A free port.
    * `Connection: close` unless a handler sets `keep_alive=True`, and TCP_NODELAY: a client must not
      accidentally reuse a dead connection, and dripped bytes must not wait for delayed ACKs.
    * `seen` records every request: path, host, headers, which connection it came on, and when its
      first byte arrived (`at_ms` by the wall clock, `monotonic_ms` by the monotonic one), so that
      politeness can be checked from this side: `origin.gaps_ms()`.

Routes
    A key of `handlers` is "/path" for every host, or "//host/path" for one (virtual hosts: any name
    that the client maps to `origin.address`). A trailing "*" matches any rest. The query is not part
    of the match; `request.query` has it. Other paths get a 404. `origin.handlers` may be changed
    while it runs.
    A handler takes a `Request` and a `Wire` and returns the complete response as bytes (see `page`,
    `answer`, `redirect`), or writes to the wire itself and returns None. It may also be just bytes.

Robots
    A host named `robots-<status>.…` answers /robots.txt with that status. Others answer 404, unless
    it is routed.

TLS: `Origin(tls=context)`, with contexts from `tests.support.tls`; `tls_delay_s` holds back the
handshake. A client that offers HTTP/2 gets the same handlers over it (`tests.support.http2_origin`).
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Self

import pytest

HELLO = b"<!doctype html><title>hello</title><p>hello, crawler"


@dataclass(frozen=True, slots=True)
class Request:
    """One request as it arrived."""

    method: str
    target: str
    """As sent, with query; absolute in requests to a proxy."""
    path: str
    query: str
    host: str
    """The Host header without port."""
    headers: tuple[tuple[str, str], ...]
    at_ms: float
    """Wall clock, first byte."""
    monotonic_ms: float
    connection: int
    """The number of its connection, counted from 1."""
    body: bytes = b""

    def header(self, name: str) -> str | None:
        """Return the first header with that name, ignoring case."""
        return next((v for k, v in self.headers if k.lower() == name.lower()), None)


class Wire:
    """The socket of one connection, for misbehaving handlers. Methods return False once it is closed."""

    def __init__(self, sock: socket.socket, stopped: threading.Event) -> None:
        self.sock = sock
        self._stopped = stopped

    def send(self, data: bytes) -> bool:
        try:
            self.sock.sendall(data)
        except OSError:
            return False
        return not self._stopped.is_set()

    def pause(self, seconds: float) -> bool:
        """Wait. Returns early with False if the origin stops."""
        return not self._stopped.wait(seconds)

    def drip(self, data: bytes, every_s: float) -> bool:
        return all(self.send(data[i : i + 1]) and self.pause(every_s) for i in range(len(data)))

    def reset(self) -> None:
        """Send RST instead of FIN."""
        with contextlib.suppress(OSError):
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.sock.close()


Handler = bytes | Callable[[Request, Wire], bytes | None]


@dataclass
class Origin:
    """See the docstring of the module."""

    handlers: dict[str, Handler] = field(default_factory=dict)
    tls: ssl.SSLContext | None = None
    tls_delay_s: float = 0.0
    latency_s: float = 0.0
    """A pause before every response."""
    seen: list[Request] = field(default_factory=list)
    """In order of arrival; append is atomic."""
    connections: int = 0

    def __post_init__(self) -> None:
        self.handlers = dict(self.handlers)
        self._stopped = threading.Event()
        self._listener: socket.socket | None = None
        self._open: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def stop(self) -> None:
        """End every connection. Threads end by themselves."""
        self._stopped.set()
        if self._listener is not None:
            with contextlib.suppress(OSError):
                self._listener.shutdown(socket.SHUT_RDWR)
            self._listener.close()
        with self._lock:
            left = list(self._open)
        for sock in left:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)

    @property
    def address(self) -> str:
        """Return `127.0.0.1:port`, for a host map."""
        return f"127.0.0.1:{self.port}"

    def url(self, path: str = "/", host: str = "127.0.0.1") -> str:
        """Return the URL of `path`. The client must map `host` to `address`."""
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{path}"

    def of(self, path: str | None = None, host: str | None = None) -> list[Request]:
        """Return the requests with that path and host."""
        return [r for r in list(self.seen) if path in (None, r.path) and host in (None, r.host)]

    def gaps_ms(self, path: str | None = None, host: str | None = None) -> list[float]:
        """Return the milliseconds between successive requests, in order of arrival."""
        times = sorted(r.monotonic_ms for r in self.of(path, host))
        return [b - a for a, b in itertools.pairwise(times)]

    def _accept(self, listener: socket.socket) -> None:
        for number in itertools.count(1):
            try:
                sock, _ = listener.accept()
            except OSError:
                return
            self.connections = number
            threading.Thread(target=self._serve, args=(sock, number), daemon=True).start()

    def _serve(self, sock: socket.socket, number: int) -> None:
        with self._lock:
            self._open.add(sock)
        raw = sock
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._stopped.wait(self.tls_delay_s):
                return
            if self.tls is not None:
                sock = self.tls.wrap_socket(sock, server_side=True)
            if self.tls is not None and sock.selected_alpn_protocol() == "h2":
                from tests.support import http2_origin

                http2_origin.serve(self, sock, number)
                return
            wire = Wire(sock, self._stopped)
            while (request := self._read(sock, number)) is not None:
                if not self._answer(request, wire):
                    break
        except OSError:
            pass
        finally:
            with self._lock:
                self._open.discard(raw)
            _close(sock)

    def _read(self, sock: socket.socket, number: int) -> Request | None:
        """Return the next request, or None when the client is done."""
        data = b""
        at_ms = monotonic_ms = 0.0
        while b"\r\n\r\n" not in data:
            received = sock.recv(65_536)
            if not received:
                return None
            if not data:
                at_ms, monotonic_ms = time.time() * 1000, time.monotonic() * 1000
            data += received
        lines = data.partition(b"\r\n\r\n")[0].decode("latin-1").split("\r\n")
        method, target, _ = lines[0].split(" ", 2)
        headers = tuple(
            (name, value.strip()) for name, _, value in (line.partition(":") for line in lines[1:])
        )
        host = next((v for k, v in headers if k.lower() == "host"), "").rpartition(":")
        path = "/" + target.split("/", 3)[3] if "://" in target.split("?")[0] else target
        path, _, query = path.partition("?")
        length = next((int(v) for k, v in headers if k.lower() == "content-length"), 0)
        body = data.partition(b"\r\n\r\n")[2]
        while len(body) < length and (received := sock.recv(65_536)):
            body += received
        request = Request(
            method, target, path, query, host[0] or host[2], headers, at_ms, monotonic_ms, number,
            body,
        )  # fmt: skip
        self.seen.append(request)
        return request

    def _answer(self, request: Request, wire: Wire) -> bool:
        """Answer a request. Returns True if the connection stays open."""
        wire.pause(self.latency_s)
        handler = self._route(request)
        data = handler if isinstance(handler, bytes) else handler(request, wire)
        if data is None:
            return False
        return wire.send(data) and b"\r\nconnection: keep-alive\r\n" in data[:2000].lower()

    def _route(self, request: Request) -> Handler:
        for key in (f"//{request.host}{request.path}", request.path):
            if key in self.handlers:
                return self.handlers[key]
        for key, handler in self.handlers.items():
            if key.endswith("*"):
                at = f"//{request.host}{request.path}" if key.startswith("//") else request.path
                if at.startswith(key[:-1]):
                    return handler
        if request.path == "/robots.txt" and request.host.startswith("robots-"):
            return of_status(int(request.host[7:10]))
        return answer(404, b"no such page")


def _close(sock: socket.socket) -> None:
    """Close with FIN instead of RST, which unread data of the client would cause."""
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_WR)
        sock.settimeout(0.2)
        while sock.recv(65_536):
            pass
    with contextlib.suppress(OSError):
        sock.close()


def answer(
    status: int = 200,
    body: bytes = b"",
    *,
    content_type: str | None = "text/html; charset=utf-8",
    headers: Mapping[str, str] | tuple[tuple[str, str], ...] = (),
    keep_alive: bool = False,
    length: bool = True,
) -> bytes:
    """Return a complete and correct response."""
    lines = [f"HTTP/1.1 {status} Whatever"]
    if content_type is not None:
        lines.append(f"Content-Type: {content_type}")
    lines += [
        f"{k}: {v}" for k, v in (headers.items() if isinstance(headers, Mapping) else headers)
    ]
    if length:
        lines.append(f"Content-Length: {len(body)}")
    lines.append(f"Connection: {'keep-alive' if keep_alive else 'close'}")
    return "\r\n".join((*lines, "", "")).encode() + body


def page(body: bytes, **extra: object) -> bytes:
    """Return a response of 200 with `body` as HTML."""
    return answer(200, body, **extra)  # type: ignore[arg-type]


def redirect(to: str, status: int = 302, **extra: object) -> bytes:
    """Return a redirect to `to`, which is sent unchanged."""
    headers = (("Location", to),)
    return answer(status, b"moved", headers=headers, **extra)  # type: ignore[arg-type]


def chunked(*chunks: bytes, headers: tuple[tuple[str, str], ...] = ()) -> bytes:
    """Return a complete chunked response."""
    head = answer(headers=(*headers, ("Transfer-Encoding", "chunked")), length=False)
    return head + b"".join(b"%x\r\n%b\r\n" % (len(c), c) for c in (*chunks, b""))


def of_status(status: int) -> bytes:
    """Return a response with that status. The body is a robots.txt with a rule."""
    if 300 <= status < 400:
        return redirect("/elsewhere", status)
    return answer(status, b"User-agent: *\nDisallow: /private\n", content_type="text/plain")


def titled_pages() -> Origin:
    """Return an origin without robots.txt whose pages have only a title."""
    return Origin({"/robots.txt": answer(404), "/*": page(b"<title>here</title>")})


@pytest.fixture
def plain_origin() -> Iterator[Origin]:
    """The running origin of `titled_pages`."""
    with titled_pages() as running:
        yield running
