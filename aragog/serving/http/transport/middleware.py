"""
The API's outermost middleware: checks every request and turns errors into responses.

It checks the Host header and limits the size and the arrival time of the body. It reports errors as
problem details and records request metrics.
"""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from aragog.serving.http.observed import Observer
from aragog.serving.problems import Problem, problem_of, unavailable
from aragog.settings import ServingSettings
from aragog.settings.allowed_hosts import is_allowed_host

MOST_BUFFERED_BODIES = 16
"""How many bodies of maximum length all requests together may keep in memory."""


class Guarded:
    """The outermost ASGI middleware of the API."""

    def __init__(self, app: ASGIApp, settings: ServingSettings, observer: Observer) -> None:
        self._app = app
        self._observer = observer
        self._settings = settings
        self._hosts = (*settings.allowed_hosts, settings.host)
        self._buffered_bytes = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        exchange = _Exchange(scope, send, self._observer)
        self._observer.in_flight += 1
        try:
            self._check_host(scope)
            body = await self._body(scope, receive, exchange)
            self._buffered_bytes += len(body)
            try:
                await self._app(scope, _replay(body, receive), exchange.send)
            finally:
                self._buffered_bytes -= len(body)
        except Exception as error:  # noqa: BLE001 - the last line of defense: no request without answer
            await exchange.fail(error)
        finally:
            self._observer.in_flight -= 1
            exchange.report()

    def _check_host(self, scope: Scope) -> None:
        result = [value for name, value in scope["headers"] if name == b"host"]
        if len(result) > 1 or (not result and scope["http_version"] != "1.0"):
            raise Problem(400, "exactly one Host header is required")
        if result and not is_allowed_host(result[0].decode("latin-1"), self._hosts):
            raise Problem(421, "this server does not serve that Host; see serving.allowed_hosts")

    async def _body(self, scope: Scope, receive: Receive, exchange: _Exchange) -> bytes:
        """The whole body, within its limits of size and time."""
        most = self._settings.max_body_bytes
        length = next((v for n, v in scope["headers"] if n == b"content-length"), b"")
        chunked = any(name == b"transfer-encoding" for name, _ in scope["headers"])
        if not chunked and (not length or length == b"0"):
            return b""
        exchange.unread = True  # until the body is read, an error must close the connection
        if length.isdigit() and int(length) > most:
            raise _too_large(most)
        pieces: list[bytes] = []
        total = 0
        try:
            async with asyncio.timeout(self._settings.head_timeout_s):
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Problem(400, "the body ends early")
                    piece = message.get("body", b"")
                    total += len(piece)
                    if total > most:
                        raise _too_large(most)
                    if self._buffered_bytes + total > most * MOST_BUFFERED_BODIES:
                        raise unavailable("too many large requests at once")
                    pieces.append(piece)
                    if not message.get("more_body"):
                        break
        except TimeoutError as error:
            raise Problem(408, "the body did not arrive in time") from error
        exchange.unread = False
        return b"".join(pieces)


class _Exchange:
    """One request and its response."""

    def __init__(self, scope: Scope, send: Send, observer: Observer) -> None:
        self._scope = scope
        self._send = send
        self._observer = observer
        self._started_at_s = time.perf_counter()
        self._seconds = 0.0
        self._status = 0
        self.unread = False

    async def send(self, message: Message) -> None:
        """Forward a message to the server."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            self._seconds = time.perf_counter() - self._started_at_s
            if self.unread:
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await self._send(message)

    async def fail(self, error: Exception) -> None:
        """Respond with the error as a problem; if a response has begun, abort it."""
        problem = problem_of(error)
        self._observer.failed(problem, self._scope["method"], self._scope["path"], error)
        if self._status:
            raise error  # the server closes the connection: the client sees a short response
        await problem.response()(self._scope, _nothing, self.send)

    def report(self) -> None:
        """Record the request in metrics and access log, by its route, not by the client's path."""
        scope = self._scope
        query = scope["query_string"]
        target = scope["raw_path"] + (b"?" + query if query else b"")
        self._observer.answered(
            scope["method"],
            str(scope.get("aragog.route", "none")),
            self._status,
            self._seconds,
            target,
            scope.get("aragog.token"),
        )


def _replay(body: bytes, receive: Receive) -> Receive:
    """Return the body once, then the messages of the server (a disconnect)."""
    was_sent = False

    async def replayed() -> Message:
        nonlocal was_sent
        if was_sent:
            return await receive()
        was_sent = True
        return {"type": "http.request", "body": body, "more_body": False}

    return replayed


async def _nothing() -> Message:
    return {"type": "http.disconnect"}


def _too_large(most: int) -> Problem:
    return Problem(413, f"the body is longer than {most} bytes (serving.max_body_bytes)")
