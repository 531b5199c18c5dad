"""
The API's outermost middleware.

It checks that the Host header is allowed and that there is at most one token. It limits the size of
each body, the time until it has arrived, and the memory of all bodies. It sends large responses in
pieces, each once the client has read enough of the earlier ones. It turns errors into responses and
records request metrics.
"""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aragog.api.problems import Problem, to_problem
from aragog.api.server.http.observed import Observer
from aragog.api.server.memory import SMALL_BYTES, MemoryLimit
from aragog.runtime.hosts import is_allowed_host
from aragog.settings import ServingSettings


class RequestGuard:
    """The outermost ASGI middleware of the API."""

    def __init__(self, app: ASGIApp, settings: ServingSettings, observer: Observer) -> None:
        self._app = app
        self._observer = observer
        self._settings = settings
        self._hosts = (*settings.allowed_hosts, settings.host)
        self.bodies = MemoryLimit(settings.max_request_memory_bytes, "the bodies of requests")
        """Limits the memory for the bodies of all requests that have no response yet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = scope["aragog.body"] = RequestBody(scope, receive, self._settings, self.bodies)
        exchange = _Exchange(scope, body, send, self._observer)
        self._observer.in_flight += 1
        try:
            self._check_headers(scope)
            body.check_length()
            await self._app(scope, body.receive, exchange.send)
        except Exception as error:  # noqa: BLE001 - the last line of defense: every request gets a response
            await exchange.fail(error)
        finally:
            body.release()
            self._observer.in_flight -= 1
            exchange.record()

    def _check_headers(self, scope: Scope) -> None:
        hosts = _header_values(scope, b"host")
        if len(hosts) > 1 or (not hosts and scope["http_version"] != "1.0"):
            raise Problem(400, "exactly one Host header is required")
        if hosts and not is_allowed_host(hosts[0].decode("latin-1"), self._hosts):
            raise Problem(421, "this server does not accept that Host; see serving.allowed_hosts")
        # With two tokens, a proxy might check one and this server the other.
        if len(_header_values(scope, b"authorization")) > 1:
            raise Problem(400, "at most one Authorization header is allowed")


class RequestBody:
    """
    A request's body. The application checks the token before it reads the body.

    Attributes:
        unread: True until the application has read all of it.
    """

    def __init__(
        self, scope: Scope, receive: Receive, settings: ServingSettings, memory: MemoryLimit
    ) -> None:
        headers = dict(scope["headers"])
        self._receive = receive
        self._length = headers.get(b"content-length", b"")
        self._max_bytes = settings.max_body_bytes
        self._expects_continue = b"expect" in headers
        self._memory = memory
        self._size = 0
        self._held_bytes = 0
        self._deadline_s = asyncio.get_running_loop().time() + settings.head_timeout_s
        self.unread = b"transfer-encoding" in headers or self._length not in (b"", b"0")

    def check_length(self) -> None:
        """
        Check the announced length.

        Raises:
            Problem: 413, it is too large.
        """
        if self._length.isdigit() and int(self._length) > self._max_bytes:
            raise _too_large_problem(self._max_bytes)

    def lower_limit(self, max_bytes: int) -> None:
        """Lower the limit for callers without a known token."""
        self._max_bytes = min(self._max_bytes, max_bytes)
        self.check_length()

    async def receive(self) -> Message:
        """
        Return the next piece or, after the last one, a disconnect message. Pieces stay counted in
        `bodies` until the response has been sent.

        Raises:
            Problem: 413 if the body is too large, 408 if it is late, or 503 if there is no memory
                for it.
        """
        message = await self._receive_piece()
        size = len(message.get("body", b""))
        self._memory.require(size)
        self._held_bytes += size
        return message

    async def discard(self) -> bool:
        """
        Read and discard the rest, so that the client can read the response.

        Returns False if the rest is too large or late, or if the client waits for the response
        before it sends the rest.
        """
        if self._expects_continue or (
            self._length.isdigit() and int(self._length) > self._max_bytes
        ):
            return False
        try:
            await self.skip()
        except Problem:
            return False
        return True

    async def skip(self) -> None:
        """
        Read and discard the rest.

        Raises:
            Problem: 400 if the client has disconnected, 413 if the body is too large, or 408 if it
                is late.
        """
        while self.unread:
            await self._receive_piece()

    def release(self) -> None:
        self._memory.release(self._held_bytes)
        self._held_bytes = 0

    async def _receive_piece(self) -> Message:
        if not self.unread:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._deadline_s):
                message = await self._receive()
        except TimeoutError as error:
            raise Problem(408, "the body arrived too slowly") from error
        if message["type"] == "http.disconnect":
            raise Problem(400, "the body is incomplete")
        self._size += len(message.get("body", b""))
        if self._size > self._max_bytes:
            raise _too_large_problem(self._max_bytes)
        self.unread = message.get("more_body", False)
        return message


class _Exchange:
    def __init__(self, scope: Scope, body: RequestBody, send: Send, observer: Observer) -> None:
        self._scope = scope
        self._body = body
        self._send = send
        self._observer = observer
        self._started_at_s = time.perf_counter()
        self._duration_s = 0.0
        self._status = 0
        self._should_close = False

    async def send(self, message: Message) -> None:
        """Forward a message to the server, with the body split into pieces."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._duration_s = time.perf_counter() - self._started_at_s
            if self._body.unread and (self._should_close or not await self._body.discard()):
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        elif len(message.get("body", b"")) > SMALL_BYTES:
            message = await self._send_pieces(message)
        await self._send(message)

    async def _send_pieces(self, message: Message) -> Message:
        """
        Send all pieces but the last, each once the client has read enough of the earlier ones, and
        return the last piece.
        """
        body = message["body"]
        *starts, last = range(0, len(body), SMALL_BYTES)
        for start in starts:
            # Copy the piece, because a view would keep the whole body in memory.
            piece = bytes(body[start : start + SMALL_BYTES])
            await self._send({"type": message["type"], "body": piece, "more_body": True})
        return {**message, "body": bytes(body[last:])}

    async def fail(self, error: Exception) -> None:
        problem = to_problem(error)
        self._observer.log_failure(problem, self._scope["method"], self._scope["path"], error)
        if self._status:
            raise error  # the server closes the connection, so the client sees a short response
        # A server without memory or time must not read useless bodies.
        self._should_close = problem.status in (408, 413, 503)
        await problem.response()(self._scope, _no_body, self.send)

    def record(self) -> None:
        """Record the request in metrics and access log, by route instead of the client's path."""
        scope = self._scope
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        self._observer.record_response(
            scope["method"],
            str(scope.get("aragog.route", "none")),
            self._status,
            self._duration_s,
            target,
            scope.get("aragog.token"),
        )


def _header_values(scope: Scope, name: bytes) -> list[bytes]:
    return [value for header, value in scope["headers"] if header == name]


async def _no_body() -> Message:
    return {"type": "http.disconnect"}


def _too_large_problem(max_bytes: int) -> Problem:
    return Problem(413, f"the body is longer than {max_bytes} bytes; see serving.max_body_bytes")
