"""
The HTTP/2 side of the origin for tests: the same handlers, and attacks specific to HTTP/2.

`Origin(handlers, tls=server_context(...))` uses it with clients that offer it. What a handler
returns or writes as HTTP/1.1 is sent as frames: the head as HEADERS, the rest as DATA. A body that
ends before its Content-Length, or a head that ends early, ends with the connection.
`Connection: close` sends a GOAWAY. The library h2 keeps the connection state; it shares no code with
the client. Attacks write their frames byte by byte (`Http2Wire.frame`).

`http2_misbehaviour()` is the table of `misbehaviour()`, adapted to HTTP/2, and:

    /h2/continuations    CONTINUATION without end      /h2/hpack-bomb   16 MB of headers in 8 KB
    /h2/many-headers     two thousand fields           /h2/resets       RST_STREAM for each request
    /h2/push-resets      pushed streams, each reset    /h2/refused      RST_STREAM: not processed
    /h2/pings            PING without end              /h2/settings     SETTINGS without end
    /h2/empty-data       DATA of no bytes, endless     /h2/overflow     a window above 2^31
    /h2/zero-window      a WINDOW_UPDATE of 0          /h2/closed-window  takes 64 KB of a POST
    /h2/goaway           GOAWAY: not processed         /h2/http11       demands HTTP/1.1
    /h2/crlf             a line end in a value         /h2/upper        a name in upper case
    /h2/too-much         more than Content-Length      /h2/pause-ping   PINGs between the data
    /h2/idle-ping        PING after the response       /h2/idle-goaway  GOAWAY after the response
"""

from __future__ import annotations

import contextlib
import socket
import ssl
import struct
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, RequestReceived, StreamEnded, StreamReset
from h2.exceptions import H2Error

from tests.support import origin as http1
from tests.support.misbehaviour import misbehaviour

if TYPE_CHECKING:
    from tests.support.origin import Handler, Origin

DATA, HEADERS, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = (
    0, 1, 3, 4, 5, 6, 7, 8, 9,
)  # fmt: skip
END_STREAM, END_HEADERS, PADDED = 1, 4, 8
REFUSED_STREAM, CANCEL, HTTP_1_1_REQUIRED = 7, 8, 13
_CONNECTION_FIELDS = {"connection", "keep-alive", "transfer-encoding"}


BOTH_VERSIONS = pytest.mark.parametrize("version", ["1.1", "2"])
"""For tests with the fixtures `origin` and `fetcher_with` of tests/integration/fetcher."""


def serve(origin: Origin, sock: ssl.SSLSocket, number: int) -> None:
    """Answer the requests of one connection, one after another."""
    state = H2Connection(H2Configuration(client_side=False, validate_outbound_headers=False,
                                         normalize_outbound_headers=False))  # fmt: skip
    state.initiate_connection()
    sock.sendall(state.data_to_send())
    heads: dict[int, tuple[RequestReceived, float, float]] = {}
    while data := sock.recv(65_536):
        at_ms, monotonic_ms = time.time() * 1000, time.monotonic() * 1000
        for event in state.receive_data(data):
            if isinstance(event, RequestReceived):
                heads[event.stream_id] = event, at_ms, monotonic_ms
            elif isinstance(event, DataReceived):
                if (b":path", b"/h2/closed-window") not in heads[event.stream_id][0].headers:
                    state.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
            elif isinstance(event, StreamEnded):
                request = _request(*heads.pop(event.stream_id), number)
                origin.seen.append(request)
                sock.sendall(state.data_to_send())
                wire = Http2Wire(sock, origin._stopped, state, event.stream_id)
                wire.bodiless = request.method == "HEAD"
                if not _answer(origin, request, wire):
                    return
        sock.sendall(state.data_to_send())


def _request(
    event: RequestReceived, at_ms: float, monotonic_ms: float, number: int
) -> http1.Request:
    fields = [(name.decode(), value.decode("latin-1")) for name, value in event.headers]
    pseudo = {name: value for name, value in fields if name[0] == ":"}
    authority, target = pseudo[":authority"], pseudo[":path"]
    headers = (("Host", authority), *(field for field in fields if field[0][0] != ":"))
    path, _, query = target.partition("?")
    host = authority.rpartition(":")
    return http1.Request(
        pseudo[":method"], target, path, query, host[0] or host[2], headers, at_ms, monotonic_ms,
        number,
    )  # fmt: skip


def _answer(origin: Origin, request: http1.Request, wire: Http2Wire) -> bool:
    """Answer a request. Returns True if the connection stays open."""
    wire.pause(origin.latency_s)
    handler = origin._route(request)
    data = handler if isinstance(handler, bytes) else handler(request, wire)
    return wire.send(data) and wire.end() if data is not None else False


class Http2Wire(http1.Wire):
    """One stream, for misbehaving handlers. `send` takes HTTP/1.1."""

    def __init__(self, sock: socket.socket, stopped, state: H2Connection, stream: int) -> None:
        super().__init__(sock, stopped)
        self.state = state
        self.stream = stream
        self._head: bytes | None = b""
        """The part of the head written so far, or None once it was sent."""
        self._left: int | None = None
        """The bytes of the Content-Length that are not sent yet."""
        self._close = False
        self.bodiless = False
        """True for a response to HEAD."""

    def send(self, data: bytes) -> bool:
        try:
            while self._head is not None and b"\r\n\r\n" in self._head + data:
                head, _, data = (self._head + data).partition(b"\r\n\r\n")
                self._head = b""
                self._send_head(head.decode("latin-1"))
            if self._head is None:
                return self._send_body(data) and not self._stopped.is_set()
            self._head += data
        except (OSError, H2Error):
            return False
        return not self._stopped.is_set()

    def end(self) -> bool:
        """Send END_STREAM, or end the connection if the message is incomplete."""
        if self._head is not None or (self._left or 0) > 0:
            return False
        with contextlib.suppress(H2Error, OSError):
            self.state.end_stream(self.stream)
            if self._close:
                self.state.close_connection()
            self._flush()
        return not self._close

    def frame(self, kind: int, flags: int = 0, payload: bytes = b"", stream: int | None = None):
        """Write one frame unchanged, by default on this stream. Returns False once that fails."""
        stream = self.stream if stream is None else stream
        head = (
            struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(">I", stream)
        )
        return self.raw(head + payload)

    def raw(self, data: bytes) -> bool:
        return super().send(data)

    def encoded(self, *fields: tuple[str, str]) -> bytes:
        """Return a header block, which advances the compressor's state."""
        return self.state.encoder.encode([(":status", "200"), *fields])

    def _send_head(self, text: str) -> None:
        status_line, *lines = text.split("\r\n")
        fields = [(n.lower(), v.strip()) for n, _, v in (line.partition(":") for line in lines)]
        self._close = ("connection", "close") in fields
        status = status_line.split(" ")[1]
        lengths = [int(value) for name, value in fields if name == "content-length"]
        headers = [(":status", status)]
        headers += [(n, v.encode("latin-1")) for n, v in fields if n not in _CONNECTION_FIELDS]
        self.state.send_headers(self.stream, headers)
        self._flush()
        if int(status) >= 200:
            self._head, self._left = None, lengths[0] if lengths else None
            if status == "304" or self.bodiless:
                self._left = 0

    def _send_body(self, data: bytes) -> bool:
        while data and not self.bodiless:
            room = min(
                self.state.local_flow_control_window(self.stream),
                self.state.max_outbound_frame_size,
            )
            if room <= 0:
                if not self._receive():
                    return False
                continue
            piece, data = data[:room], data[room:]
            self.state.send_data(self.stream, piece)
            self._flush()
            if self._left is not None:
                self._left -= len(piece)
        return True

    def _receive(self) -> bool:
        """Wait for a WINDOW_UPDATE."""
        data = self.sock.recv(65_536)
        events = self.state.receive_data(data) if data else []
        self._flush()
        return bool(data) and not any(isinstance(event, StreamReset) for event in events)

    def _flush(self) -> None:
        self.sock.sendall(self.state.data_to_send())


def _handler(act: Callable[[Http2Wire], object]) -> Handler:
    def handle(_: http1.Request, wire: http1.Wire) -> None:
        assert isinstance(wire, Http2Wire)
        act(wire)

    return handle


def _open_head(wire: Http2Wire, *fields: tuple[str, str]) -> None:
    wire.frame(HEADERS, END_HEADERS, wire.encoded(("content-type", "text/html"), *fields))


def _cut_chunk(wire: Http2Wire) -> None:
    wire.send(http1.answer(length=False) + http1.HELLO)


def _padded(wire: Http2Wire) -> None:
    """Send 32 bytes of page in each frame of 255."""
    _open_head(wire)
    frame = b"\xdf" + b"<p>" + b"y" * 29 + bytes(0xDF)
    while wire.frame(DATA, PADDED, frame):
        pass


def _endless_headers(wire: Http2Wire) -> None:
    block = wire.encoded(*((f"x-{n}", "a" * 1000) for n in range(130)))
    wire.frame(HEADERS, 0, block[:16_000])
    at = 16_000
    while at < len(block):
        wire.frame(CONTINUATION, 0, block[at : at + 16_000])
        at += 16_000
    wire.frame(CONTINUATION, END_HEADERS)
    wire.pause(60)


def _slow_headers(wire: Http2Wire) -> None:
    block = wire.encoded(("x-slow", "a" * 1000))
    wire.frame(HEADERS, 0, block[:1])
    for at in range(1, 8):
        if not (wire.pause(0.2) and wire.frame(CONTINUATION, 0, block[at : at + 1])):
            return
    wire.pause(60)


def _continuations(wire: Http2Wire) -> None:
    wire.frame(HEADERS, 0, wire.encoded())
    while wire.frame(CONTINUATION, 0, b""):
        pass


def _hpack_bomb(wire: Http2Wire) -> None:
    value = b"a" * 4000
    # A literal that enters the table (RFC 7541 section 6.2.1), then its index, again and again.
    literal = b"\x40\x01x" + b"\x7f" + bytes((4000 - 127 & 0x7F | 0x80, 4000 - 127 >> 7)) + value
    wire.frame(HEADERS, END_HEADERS | END_STREAM, wire.encoded() + literal + b"\xbe" * 4000)
    wire.pause(60)


def _many_headers(wire: Http2Wire) -> None:
    wire.frame(HEADERS, END_HEADERS | END_STREAM, wire.encoded(*[("a", "b")] * 2000))
    wire.pause(60)


def _push_resets(wire: Http2Wire) -> None:
    for promised in range(2, 1 << 20, 2):
        block = wire.state.encoder.encode([(":method", "GET"), (":path", "/")])
        wire.frame(PUSH_PROMISE, END_HEADERS, struct.pack(">I", promised) + block)
        if not wire.frame(RST_STREAM, 0, struct.pack(">I", CANCEL), promised):
            return


def _reset(code: int) -> Handler:
    def act(wire: Http2Wire) -> None:
        wire.frame(RST_STREAM, 0, struct.pack(">I", code))
        wire.pause(60)

    return _handler(act)


def _flood(kind: int, payload: bytes, stream: int | None = 0, *, opened: bool = False) -> Handler:
    """Repeat a frame without end, with `opened` after the head of a response."""

    def act(wire: Http2Wire) -> None:
        if opened:
            _open_head(wire)
        while wire.frame(kind, 0, payload, stream):
            pass

    return _handler(act)


def _overflow(wire: Http2Wire) -> None:
    for _ in range(2):
        wire.frame(WINDOW_UPDATE, 0, struct.pack(">I", 0x7FFFFFFF), 0)
    wire.pause(60)


def _goaway(wire: Http2Wire) -> None:
    wire.frame(GOAWAY, 0, struct.pack(">II", 0, 0), 0)
    wire.pause(60)


def _bad_field(name: str, value: str) -> Handler:
    def act(wire: Http2Wire) -> None:
        _open_head(wire, (name, value))
        wire.frame(DATA, END_STREAM, http1.HELLO)
        wire.pause(60)

    return _handler(act)


def _pause_ping(wire: Http2Wire) -> None:
    _open_head(wire)
    for part in (http1.HELLO[:5], http1.HELLO[5:]):
        wire.frame(PING, 0, b"are you?", 0)
        wire.frame(DATA, 0, part)
    wire.frame(DATA, END_STREAM)
    wire.pause(60)


def _idle(kind: int, payload: bytes) -> Handler:
    """Send a complete response, keep the connection, then send one connection frame."""

    def handle(_: http1.Request, wire: http1.Wire) -> bytes:
        assert isinstance(wire, Http2Wire)
        wire.send(http1.page(http1.HELLO, keep_alive=True))
        wire.end()
        wire.frame(kind, 0, payload, 0)
        return b""

    return handle


def http2_misbehaviour() -> dict[str, Handler]:
    """Return the handlers of all paths listed in both modules."""
    lengths = (("Content-Length", "5"), ("Content-Length", "6"))
    return misbehaviour() | {
        "/garbage": _handler(lambda wire: wire.raw(b"\xff" * 2000) and wire.pause(60)),
        "/http09": _handler(lambda wire: wire.raw(http1.HELLO * 20) and wire.pause(60)),
        "/half-headers": _handler(lambda wire: wire.frame(HEADERS, 0, wire.encoded())),
        "/cut-chunk": _handler(_cut_chunk),
        "/endless-chunks": misbehaviour()["/endless"],
        "/padded-chunks": _handler(_padded),
        "/two-lengths": http1.answer(body=b"hello", headers=lengths, length=False),
        "/endless-headers": _handler(_endless_headers),
        "/slow-headers": _handler(_slow_headers),
        "/h2/continuations": _handler(_continuations),
        "/h2/hpack-bomb": _handler(_hpack_bomb),
        "/h2/many-headers": _handler(_many_headers),
        "/h2/resets": _reset(CANCEL),
        "/h2/push-resets": _handler(_push_resets),
        "/h2/refused": _reset(REFUSED_STREAM),
        "/h2/pings": _flood(PING, b"are you?"),
        "/h2/settings": _flood(SETTINGS, struct.pack(">HI", 4, 65_535)),
        "/h2/empty-data": _flood(DATA, b"", None, opened=True),
        "/h2/overflow": _handler(_overflow),
        "/h2/zero-window": _flood(WINDOW_UPDATE, bytes(4)),
        "/h2/goaway": _handler(_goaway),
        "/h2/http11": _reset(HTTP_1_1_REQUIRED),
        "/h2/crlf": _bad_field("x-a", "b\r\nset-cookie: c=d"),
        "/h2/upper": _bad_field("X-A", "b"),
        "/h2/too-much": misbehaviour()["/lies-short"],
        "/h2/pause-ping": _handler(_pause_ping),
        "/h2/idle-ping": _idle(PING, b"are you?"),
        "/h2/idle-goaway": _idle(GOAWAY, struct.pack(">II", 1, 0)),
    }
