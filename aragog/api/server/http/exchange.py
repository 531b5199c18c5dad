"""
One request and its response.

An exchange is created when the request's head (request line and headers) is complete. It begins
after earlier responses have been sent, and is cancelled if the client disconnects.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple, Protocol
from urllib.parse import unquote

from httptools import parse_url
from starlette.types import ASGIApp, Message, Scope

from aragog.api.server.memory import SMALL_BYTES
from aragog.api.server.threads import CALLER

log = logging.getLogger(__name__)

_STATUS_LINES = {
    status.value: b"HTTP/1.1 %d %b\r\n" % (status.value, status.phrase.encode())
    for status in HTTPStatus
}
_BODILESS_STATUSES = frozenset({204, 304})
_CONTROL_CHARACTER = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_ERROR_RESPONSE = (
    b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
)


class RequestHead(NamedTuple):
    """The head of a request."""

    method: bytes
    target: bytes
    """Path and query, or a complete URL."""
    version: str
    headers: list[tuple[bytes, bytes]]
    """Header names in lower case, with their values."""


class ExchangeConnection(Protocol):
    """An exchange's interface to its connection."""

    app: ASGIApp
    addresses: tuple[Any, Any, str]
    """The addresses of client and server, and the scheme."""
    blocked: bool
    """True if the client is not reading the written data."""
    readable_again: asyncio.Event
    """Set while the client is reading."""
    server_state: Any
    """uvicorn's state: tasks, and default response headers."""
    transport: asyncio.Transport

    def pause_reading(self) -> None:
        """Stop reading, so that further data from the client stays in the kernel."""

    def resume_reading(self) -> None:
        """Resume reading, if no other request is waiting."""

    def write_counted(self, data: bytes, counted_bytes: int) -> None:
        """Write data. `counted_bytes` of it stay counted until the client has read them."""

    def uncount(self, counted_bytes: int) -> None:
        """Stop counting these bytes, because they will not be written."""

    def on_response_sent(self, exchange: Exchange) -> None:
        """Continue after the first exchange has sent its response."""


class Exchange:
    """
    One request of a connection.

    Attributes:
        keep_alive: True if the connection stays open after the response.
        started: True once the response has begun.
    """

    __slots__ = ("cancelled", "connection", "keep_alive", "started")

    def __init__(self, connection: ExchangeConnection, *, keep_alive: bool) -> None:
        self.connection = connection
        self.keep_alive = keep_alive
        self.started = False
        self.cancelled = False

    def start(self) -> None:
        """Handle the request. Called after the earlier responses have been sent."""

    def hang_up(self) -> None:
        """Called when the client sends no more data but waits for the response."""

    def cancel(self) -> None:
        """Stop sending, because the connection is closed."""
        self.cancelled = True


class FastExchange(Exchange):
    """
    A plain read (`fast_reads.py`). The request has no body and does not wait for others, and the
    response is sent in one piece.
    """

    __slots__ = ()

    def send_response(self, response: bytes, counted_bytes: int) -> None:
        """
        Send the complete response, unless the client has disconnected.

        Args:
            response: head and body.
            counted_bytes: how many bytes are counted in the memory for unread responses.
        """
        connection = self.connection
        if self.cancelled:
            connection.uncount(counted_bytes)
            return
        self.started = True
        if not self.keep_alive:
            head, blank, body = response.partition(b"\r\n\r\n")
            response = b"%b\r\nconnection: close%b%b" % (head, blank, body)
        connection.write_counted(response, counted_bytes)
        connection.on_response_sent(self)


class AsgiExchange(Exchange):
    """
    A request handled by an ASGI application.

    Args:
        connection: the client's connection.
        head: the request's head.
        keep_alive: True if the connection may stay open after the response.
    """

    __slots__ = (
        "_body",
        "_can_receive",
        "_expects_continue",
        "_has_hung_up",
        "_is_body_complete",
        "_is_body_read",
        "_is_chunked",
        "_is_complete",
        "_remaining_bytes",
        "_scope",
    )  # fmt: skip

    def __init__(
        self, connection: ExchangeConnection, head: RequestHead, *, keep_alive: bool
    ) -> None:
        super().__init__(connection, keep_alive=keep_alive)
        self._scope = _build_scope(connection, head)
        self._body = bytearray()
        self._is_body_complete = self._is_body_read = False
        self._has_hung_up = False
        self._can_receive = asyncio.Event()
        """Set when `receive` has something to return."""
        self._expects_continue = any(
            name == b"expect" and value.lower() == b"100-continue" for name, value in head.headers
        )
        self._is_chunked = False
        self._remaining_bytes = 0
        """How many bytes of the response's Content-Length have not been written."""
        self._is_complete = False

    def start(self) -> None:
        tasks = self.connection.server_state.tasks
        task = asyncio.get_running_loop().create_task(self._run())
        tasks.add(task)
        task.add_done_callback(tasks.discard)

    def add_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) > SMALL_BYTES:
            self.connection.pause_reading()
        self._can_receive.set()

    def end_body(self) -> None:
        self._is_body_complete = True
        self._can_receive.set()

    def hang_up(self) -> None:
        # A client that only stops sending looks like one that disconnects. An endless response,
        # such as a stream of events, has to end in both cases.
        self._has_hung_up = True
        self._can_receive.set()

    def cancel(self) -> None:
        super().cancel()
        self._can_receive.set()

    async def receive(self) -> Message:
        """Return the next part of the body, or a disconnect message after the body."""
        if self._expects_continue and not self.started and not self.cancelled:
            self._expects_continue = False
            self.connection.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if not self._is_over:
            self.connection.resume_reading()
            await self._can_receive.wait()
            self._can_receive.clear()
        if self._is_over:
            return {"type": "http.disconnect"}
        body, self._body = bytes(self._body), bytearray()
        self._is_body_read = self._is_body_complete
        return {"type": "http.request", "body": body, "more_body": not self._is_body_complete}

    async def send(self, message: Message) -> None:
        """Write a part of the response, once the client has read enough of the earlier parts."""
        connection = self.connection
        if connection.blocked and not self.cancelled:
            await connection.readable_again.wait()
        if self.cancelled:
            return
        if not self.started:
            head = self._encode_head(message)  # if this raises, the client gets an error
            self.started = True
            connection.transport.write(head)
            return
        body, has_more = message.get("body", b""), message.get("more_body", False)
        if body and self._scope["method"] != "HEAD":
            self._write_body(body)
        if not has_more:
            self._finish()

    @property
    def _is_over(self) -> bool:
        """True if the application will receive nothing more."""
        return self.cancelled or self._is_complete or (self._has_hung_up and self._is_body_read)

    async def _run(self) -> None:
        CALLER.set(self)
        try:
            await self.connection.app(self._scope, self.receive, self.send)
            if not self._is_complete and not self.cancelled and not self._has_hung_up:
                raise RuntimeError("the application ended without a complete response")
        except Exception:
            log.exception("%s %s failed", self._scope["method"], self._scope["path"])
        finally:
            if not self._is_complete and not self.cancelled:
                self._fail()

    def _fail(self) -> None:
        """Close the connection, with an error response if none has begun."""
        if not self.started:
            self.connection.transport.write(_ERROR_RESPONSE)
        self.keep_alive = False
        self._is_complete = True
        self.connection.on_response_sent(self)

    def _encode_head(self, message: Message) -> bytes:
        """
        Return the response's head. Also decides how the body is framed and whether the connection
        stays open.
        """
        status = message["status"]
        lines = _HeaderLines((*self.connection.server_state.default_headers, *message["headers"]))
        without_body = status in _BODILESS_STATUSES or self._scope["method"] == "HEAD"
        self._remaining_bytes = 0 if without_body else lines.length or 0
        self._is_chunked = not without_body and lines.length is None
        framing = b"transfer-encoding: chunked\r\n" if self._is_chunked else b""
        ending = b"" if self.keep_alive or lines.closes else b"connection: close\r\n"
        self.keep_alive = self.keep_alive and not lines.closes
        return b"".join((_STATUS_LINES[status], *lines.lines, framing, ending, b"\r\n"))

    def _write_body(self, body: bytes) -> None:
        if self._is_chunked:
            self.connection.transport.write(b"%x\r\n%b\r\n" % (len(body), body))
            return
        self._remaining_bytes -= len(body)
        if self._remaining_bytes < 0:
            raise RuntimeError("the response's body is longer than its Content-Length")
        self.connection.transport.write(body)

    def _finish(self) -> None:
        if self._remaining_bytes:
            raise RuntimeError("the response's body is shorter than its Content-Length")
        if self._is_chunked:
            self.connection.transport.write(b"0\r\n\r\n")
        self._is_complete = True
        self._can_receive.set()
        self.connection.on_response_sent(self)


class _HeaderLines:
    """
    A response's headers as lines, the body's length, and whether the connection closes.

    Raises:
        RuntimeError: a header contains a control character.
    """

    __slots__ = ("closes", "length", "lines")

    def __init__(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        self.lines: list[bytes] = []
        self.length: int | None = None
        """The announced length of the body."""
        self.closes = False
        """True if the connection closes after the response."""
        for name, value in headers:
            if _CONTROL_CHARACTER.search(name) or _CONTROL_CHARACTER.search(value):
                raise RuntimeError(f"a response header has a control character: {name!r}")
            if name == b"content-length":
                self.length = int(value)
            elif name == b"connection":
                self.closes = self.closes or value.lower() == b"close"
            self.lines.append(b"%b: %b\r\n" % (name, value))


def _build_scope(connection: ExchangeConnection, head: RequestHead) -> Scope:
    """Return a request's ASGI scope. Raises HttpParserInvalidURLError or UnicodeError."""
    url = parse_url(head.target)
    client, server, scheme = connection.addresses
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": head.version,
        "server": server,
        "client": client,
        "scheme": scheme,
        "root_path": "",
        "headers": head.headers,
        "state": {},
        "method": head.method.decode("ascii"),
        "path": unquote(url.path.decode("ascii")),
        "raw_path": url.path,
        "query_string": url.query or b"",
    }
