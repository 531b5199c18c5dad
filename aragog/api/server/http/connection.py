"""
One HTTP/1.1 connection, with limits that a reverse proxy usually enforces.

A request's head is its request line and headers. `parsing.py` limits its size. This class limits
the time until a head is complete, the number of pipelined requests, and how long a client may stop
reading. Responses are sent in the order of the requests.

    NEW ──┬─start of a head─▶ HEAD ──its end──▶ BUSY ──last response──▶ IDLE (or HEAD)
    IDLE ─┘                                      └─ or an error ─▶ LINGERING ─▶ CLOSING
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus
from typing import Any

import orjson
from starlette.types import ASGIApp

from aragog.api.problems import MEDIA_TYPE, Problem
from aragog.api.server.clients import Clients
from aragog.api.server.http.exchange import AsgiExchange, Exchange, FastExchange, RequestHead
from aragog.api.server.http.fast_reads import FastReads
from aragog.api.server.http.parsing import BadRequest, RequestParser
from aragog.api.server.listener import IDLE_GRACE_S
from aragog.api.server.memory import UNCOUNTED_BYTES, MemoryLimit, UnreadBytes
from aragog.settings import ServingSettings

MAX_PIPELINED = 32
"""Maximum number of waiting requests that were pipelined (sent before earlier responses)."""
MAX_LINGER_BYTES = 64 * 1024 * 1024
"""How many bytes of a refused request are read and discarded after the response."""


class HttpState(Enum):
    """The event that a connection waits for."""

    NEW = auto()
    """Waiting for the first request."""
    IDLE = auto()
    """Waiting for another request."""
    HEAD = auto()
    """Waiting for the rest of a head."""
    BUSY = auto()
    """Handling a request, or waiting for its body."""
    LINGERING = auto()
    """Discarding the rest of a refused request until the client has read the response."""
    CLOSING = auto()
    """Waiting until the client has read the written data."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpService:
    """
    State shared by the connections of one server.

    Attributes:
        app: handles requests.
        fast_reads: handles simple reads of records without ASGI.
        settings: limits.
        clients: counts connections.
        unsent: counts large responses of `fast_reads`.
    """

    app: ASGIApp
    fast_reads: FastReads
    settings: ServingSettings
    clients: Clients
    unsent: MemoryLimit


class ApiConnection(asyncio.Protocol):
    """
    A client's connection, which uvicorn's server creates.

    Args:
        service: state shared by all connections.
        server_state: uvicorn's connections, tasks and default response headers.

    Attributes:
        transport: the connection's transport.
        blocked: True if the client is not reading the written data.
    """

    transport: asyncio.Transport

    def __init__(self, service: HttpService, *, server_state: Any, **_unused: Any) -> None:
        self.service = service
        self.app = service.app
        self.server_state = server_state
        self.loop = asyncio.get_running_loop()
        self.blocked = False
        self.readable_again = asyncio.Event()
        """Set while the client is reading."""
        self.readable_again.set()
        self.addresses: tuple[Any, Any, str] = (None, None, "http")
        """The addresses of client and server, and the scheme."""
        self._parser = RequestParser(self, service.settings.max_header_bytes)
        self._state = HttpState.NEW
        self._since_s = time.monotonic()
        """When the current state began, or when the client stopped reading."""
        self._exchanges: deque[Exchange] = deque()
        """Requests that have no response yet. The first one is being handled."""
        self._receiving: AsgiExchange | None = None
        """The most recent request, if its body is incomplete."""
        self._last_response: Problem | None = None
        """Sent after the responses to earlier requests. Then the connection is closed."""
        self._is_reading_paused = False
        self._is_stopping = False
        self._is_half_closed = False
        """True if the client sends no more data, but waits for its responses."""
        self._remaining_linger_bytes = MAX_LINGER_BYTES
        """How many more bytes may be discarded."""
        self._unread = UnreadBytes(service.unsent)

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment] # always a full Transport
        self.transport.set_write_buffer_limits(UNCOUNTED_BYTES)
        self.server_state.connections.add(self)
        client, server = (transport.get_extra_info(n) for n in ("peername", "sockname"))
        secure = transport.get_extra_info("sslcontext") is not None
        self.addresses = (_to_address(client), _to_address(server), "https" if secure else "http")
        if not self.service.clients.add(self, str(client[0]) if client else ""):
            self._refuse(Problem(503, "too many connections", {"Retry-After": "1"}))

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        self._state = HttpState.CLOSING
        self.server_state.connections.discard(self)
        self.service.clients.discard(self)
        self._unread.mark_read()
        self._cancel_all()
        self.readable_again.set()

    def data_received(self, data: bytes) -> None:
        if self._state in (HttpState.CLOSING, HttpState.LINGERING):
            self._discard(len(data))
            return
        if self._state is HttpState.NEW:
            self._state = HttpState.HEAD
        try:
            self._parser.feed(data)
        except BadRequest as error:
            self._refuse(error.problem)
            return
        if self._parser.size.max_bytes and self._state is HttpState.IDLE:
            self._since_s = time.monotonic()
            self._state = HttpState.HEAD

    def eof_received(self) -> bool:
        """
        Complete the requests that have arrived, because the client sends no more data.

        Returns False to close the connection now.
        """
        # With TLS, asyncio ignores the result, logs a warning and closes the connection.
        if self._state is HttpState.LINGERING or self.addresses[2] == "https":
            return False
        self._is_half_closed = True
        if self._receiving is not None:
            self._refuse(Problem(400, "the body is incomplete"))
        for exchange in self._exchanges:
            exchange.hang_up()
        if self._exchanges and self._last_response is None:
            self._exchanges[-1].keep_alive = False
        return bool(self._exchanges)

    def pause_writing(self) -> None:
        self.blocked = True
        self.readable_again.clear()
        self._since_s = time.monotonic()
        if not self._unread.count_buffered(self.transport.get_write_buffer_size()):
            self.transport.abort()

    def resume_writing(self) -> None:
        self.blocked = False
        self.readable_again.set()
        self._unread.mark_read()
        self._since_s = time.monotonic()

    # Called by the parser

    def on_head(self) -> Problem | None:
        if len(self._exchanges) > MAX_PIPELINED:
            return Problem(429, f"more than {MAX_PIPELINED} pipelined requests")
        self._state = HttpState.BUSY
        if self._exchanges or not self._try_fast_read():
            self._start_asgi_exchange()
        return None

    def on_body(self, body: bytes) -> None:
        if self._receiving is not None:
            self._receiving.add_body(body)

    def on_end(self) -> None:
        exchange, self._receiving = self._receiving, None
        if exchange is not None:
            exchange.end_body()

    # Called by exchanges

    def pause_reading(self) -> None:
        """Stop reading, so that further data from the client stays in the kernel."""
        if not self._is_reading_paused and self._state is not HttpState.CLOSING:
            self._is_reading_paused = True
            self.transport.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading, unless a request is waiting for an earlier response."""
        if self._is_half_closed:  # asyncio would report the end of the data again
            return
        if self._is_reading_paused and len(self._exchanges) <= 1 and self._last_response is None:
            self._is_reading_paused = False
            if not self.transport.is_closing():
                self.transport.resume_reading()

    def uncount(self, counted_bytes: int) -> None:
        """Stop counting these bytes, because they will not be written."""
        self.service.unsent.release(counted_bytes)

    def write_counted(self, data: bytes, counted_bytes: int) -> None:
        """Write data. Counted bytes stay counted until the client has read them."""
        self._unread.begin_write(counted_bytes)
        self.transport.write(data)  # calls `pause_writing` if the client is not reading
        if counted_bytes:
            self._unread.end_write(counted_bytes, blocked=self.blocked)

    def on_response_sent(self, exchange: Exchange) -> None:
        self._exchanges.popleft()
        self.server_state.total_requests += 1
        if exchange is self._receiving:
            self._linger()
        elif not exchange.keep_alive:
            self._close()
        elif self._exchanges:
            self._exchanges[0].start()
        elif self._last_response is not None:
            self._refuse(self._last_response)
        else:
            self._since_s = time.monotonic()
            self._state = HttpState.HEAD if self._parser.size.max_bytes else HttpState.IDLE
        self.resume_reading()

    # Called by the server

    @property
    def idle_since_s(self) -> float | None:
        """When the connection became idle, or None while it has a request with a complete head."""
        return None if self._state in (HttpState.BUSY, HttpState.CLOSING) else self._since_s

    def abort(self) -> None:
        self._state = HttpState.CLOSING
        self.transport.abort()

    def end_if_late(self, now_s: float) -> None:
        settings, elapsed_s = self.service.settings, now_s - self._since_s
        if self.blocked or self._state is HttpState.CLOSING:
            if elapsed_s > settings.send_timeout_s:
                self.abort()
        elif self._state is HttpState.LINGERING:
            if elapsed_s > settings.head_timeout_s:
                self.abort()
        elif self._state in (HttpState.NEW, HttpState.HEAD):
            if elapsed_s > settings.head_timeout_s:
                self._refuse(Problem(408, "the request arrived too slowly"))
        elif self._state is HttpState.IDLE and elapsed_s > settings.keep_alive_s:
            self._close()

    def shutdown(self) -> None:
        """
        Close after the current response. Without one, wait a short time, because a request may be
        in transit.
        """
        self._is_stopping = True
        if self._state is HttpState.LINGERING:
            self._close()
        elif self._exchanges:
            self._exchanges[-1].keep_alive = False
        else:
            self.loop.call_later(IDLE_GRACE_S, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self._state in (HttpState.NEW, HttpState.IDLE):
            self._close()

    def _try_fast_read(self) -> bool:
        """
        Handle a plain read of a record without ASGI.

        Returns False if this is not a plain read, or if it must wait.
        """
        parser = self._parser
        if self.blocked or parser.method != b"GET":
            return False
        if parser.version != "1.1" or not parser.keeps_alive:
            return False
        exchange = FastExchange(self, keep_alive=not self._is_stopping)
        # The response may be ready at once, so register the exchange first.
        self._exchanges.append(exchange)
        default_headers = self.server_state.default_headers
        if self.service.fast_reads.try_handle(
            parser.target, parser.headers, default_headers, exchange.send_response
        ):
            return True
        self._exchanges.pop()
        return False

    def _start_asgi_exchange(self) -> None:
        parser = self._parser
        version = parser.version
        keep_alive = version != "1.0" and parser.keeps_alive and not self._is_stopping
        head = RequestHead(parser.method, parser.target, version, parser.headers)
        exchange = AsgiExchange(self, head, keep_alive=keep_alive)
        self._receiving = exchange
        self._exchanges.append(exchange)
        if len(self._exchanges) == 1:
            exchange.start()
        else:
            self.pause_reading()

    def _refuse(self, problem: Problem) -> None:
        """
        Send the problem, unless the response has begun, and close the connection. Earlier requests
        get their responses first, because clients match responses by order (RFC 9112, 9.3.2).
        """
        if self._receiving is not None and not self._receiving.started:
            self._exchanges.remove(self._receiving)
            self._receiving.cancel()
            self._receiving = None
        if self._exchanges and self._receiving is None:
            self._last_response = problem
            self.pause_reading()
            return
        if not self._exchanges:
            self.transport.write(_encode_problem(problem))
            self._last_response = None
            self._linger()
        else:
            self._close()

    def _linger(self) -> None:
        """
        Close after the response to an incomplete request. Closing a socket with unread bytes resets
        the connection, and the client may lose the response. The rest of the request is therefore
        read and discarded until the client closes the connection (RFC 9112, 9.6). This ends after
        `MAX_LINGER_BYTES` or `head_timeout_s`, or earlier if the server is full.
        """
        has_sent_nothing = self._state is HttpState.NEW
        if (
            has_sent_nothing
            or self._is_half_closed
            or self._is_stopping
            or self.transport.is_closing()
        ):
            self._close()
            return
        self._state = HttpState.LINGERING
        self._since_s = time.monotonic()
        self._cancel_all()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.resume_reading()

    def _discard(self, size: int) -> None:
        self._remaining_linger_bytes -= size
        if self._remaining_linger_bytes < 0:
            self.abort()

    def _close(self) -> None:
        """Close once the client has read the written data."""
        self._state = HttpState.CLOSING
        self._since_s = time.monotonic()
        self._cancel_all()
        self.transport.close()

    def _cancel_all(self) -> None:
        """Discard all later messages from the application."""
        while self._exchanges:
            self._exchanges.popleft().cancel()
        self._receiving = None


def _to_address(name: Any) -> tuple[str, int] | None:
    return (str(name[0]), int(name[1])) if isinstance(name, tuple) else None


def _encode_problem(problem: Problem) -> bytes:
    body = orjson.dumps(problem.as_dict())
    extra_headers = "".join(f"{name}: {value}\r\n" for name, value in problem.headers.items())
    head = (
        f"HTTP/1.1 {problem.status} {HTTPStatus(problem.status).phrase}\r\n"
        f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n"
        f"{extra_headers}connection: close\r\n\r\n"
    )
    return head.encode("latin-1") + body
