"""
The requests in the bytes of one connection: httptools with limits.

httptools limits neither heads nor trailers, reports trailers as if they were headers, and drops the
body of a request that asks for an upgrade. `RequestParser` corrects all three.
"""

from __future__ import annotations

from typing import Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from aragog.api.problems import Problem

_FRAMING = (b"content-length", b"transfer-encoding")


class BadRequest(Exception):
    """The bytes are not accepted, and nothing that follows can be read; `problem` says why."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class _Stopped(Exception):
    """Raised in a callback to stop httptools."""


class RequestEvents(Protocol):
    """The callbacks of a parser, in the order in which it calls them for each request."""

    def on_head(self) -> Problem | None:
        """The head is complete; a problem refuses the request."""

    def on_body(self, body: bytes) -> None:
        """A piece of the body."""

    def on_end(self) -> None:
        """The request is complete."""


class HeadSize:
    """
    How long the head of a request is that has not arrived as a whole, and what frames its body.

    The parser does not say where in a chunk a head begins, so there are two bounds. They are
    cheaper than adding up the headers, which is done only where they do not decide.

    Attributes:
        arriving: what is received next belongs to a head, or begins one.
        least_bytes: the chunks after the one in which it began. In a body, the chunks since the
            last one with a piece of it: they have only trailers, or extensions of a chunk's size.
        most_bytes: the same with the chunk in which it began; 0 when no head has begun.
    """

    __slots__ = ("_chunk_bytes", "arriving", "least_bytes", "most_bytes")

    def __init__(self) -> None:
        self.arriving = True
        self.least_bytes = self.most_bytes = self._chunk_bytes = 0

    def received(self, chunk_bytes: int) -> None:
        """Count a chunk, before it is parsed."""
        self._chunk_bytes = chunk_bytes
        self.least_bytes += chunk_bytes
        if self.arriving:
            self.most_bytes += chunk_bytes

    def begin(self) -> None:
        """A head begins in the last chunk."""
        self.arriving, self.least_bytes, self.most_bytes = True, 0, self._chunk_bytes

    def end(self, *, arriving: bool = False) -> None:
        """The head is complete, and the body follows, or the request is, and another head does."""
        self.arriving, self.least_bytes, self.most_bytes = arriving, 0, 0


class RequestParser:
    """
    Calls `events` for the requests in what a client sends.

    Args:
        events: the connection.
        most_bytes: limits a head, the trailers of a body, and what comes between two pieces of a
            body.

    Attributes:
        target: of the last request: path and query, or a whole URL.
        headers: of its head, without trailers; names in lower case.
        size: what has arrived of a head.
    """

    def __init__(self, events: RequestEvents, most_bytes: int) -> None:
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.size = HeadSize()
        self._events = events
        self._most_bytes = most_bytes
        self._trailer_bytes = 0
        self._refusal: Problem | None = None
        """Why httptools was stopped."""
        self._upgrades = False
        """httptools ends the request at its head."""
        self._repeats = False
        """It reads a head again of which everything is known."""
        self._parser = self._new_parser()

    @property
    def method(self) -> bytes:
        """The method of the last request."""
        method: bytes = self._parser.get_method()
        return method

    @property
    def version(self) -> str:
        """The version of HTTP of the last request, such as 1.1."""
        version: str = self._parser.get_http_version()
        return version

    @property
    def keeps_alive(self) -> bool:
        """The client expects that the connection goes on after the last request."""
        keeps_alive: bool = self._parser.should_keep_alive()
        return keeps_alive

    def feed(self, data: bytes) -> None:
        """
        Parse a chunk.

        Raises:
            BadRequest: it is no HTTP/1.1, a limit is exceeded, or `on_head` refused the request.
        """
        self.size.received(len(data))
        try:
            self._parse(data)
        except HttpParserError as error:
            problem = self._refusal or Problem(400, "this is not an HTTP/1.1 request")
            raise BadRequest(problem) from error
        if self.size.least_bytes > self._most_bytes:
            what = self._too_long_head() if self.size.arriving else self._too_long_trailers()
            raise BadRequest(what)

    def _parse(self, data: bytes) -> None:
        while True:
            try:
                self._parser.feed_data(data)
            except HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                self._go_on_without_upgrade()
            else:
                return

    def _go_on_without_upgrade(self) -> None:
        """
        Read the body of a request whose upgrade is ignored, and what follows (RFC 9110, 7.8).

        A new parser gets a head that says only how the body ends. httptools accepted that field
        before, and `_framing` lets pass only what has one meaning, so both see the same end.
        """
        framing = _framing(self.headers)
        end = b"" if self.keeps_alive else b"Connection: close\r\n"
        self._upgrades, self._parser = False, self._new_parser()
        if framing:
            self._repeats = True
            self._parser.feed_data(b"POST / HTTP/1.1\r\n%b%b\r\n" % (framing, end))
        else:
            self.on_message_complete()

    def _new_parser(self) -> HttpRequestParser:
        parser = HttpRequestParser(self)
        # Requests behind the last one are ignored, not an error in place of its response.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    # What httptools calls

    def on_message_begin(self) -> None:
        if not self._repeats:
            self.size.begin()
            self.target, self.headers, self._trailer_bytes = b"", [], 0

    def on_url(self, url: bytes) -> None:
        if not self._repeats:
            self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.size.arriving:
            self.headers.append((name.lower(), value))
        elif not self._repeats:
            # A trailer is not merged into the head (RFC 9110, 6.5.1), and nothing reads it.
            self._trailer_bytes += _field_bytes(name, value)
            if self._trailer_bytes > self._most_bytes:
                self._stop(self._too_long_trailers())

    def on_headers_complete(self) -> None:
        if self._repeats:
            self._repeats = False
            return
        refusal, self._upgrades = None, self._parser.should_upgrade()
        if self._upgrades or self.size.most_bytes > self._most_bytes:
            refusal = self._head_refusal()
        self.size.end()
        refusal = refusal or self._events.on_head()
        if refusal is not None:
            self._stop(refusal)

    def on_body(self, body: bytes) -> None:
        self.size.least_bytes = 0
        self._events.on_body(body)

    def on_message_complete(self) -> None:
        if not self._upgrades:
            self.size.end(arriving=True)
            self._events.on_end()

    def _head_refusal(self) -> Problem | None:
        """Why the head that is complete is not accepted, whatever it asks for."""
        if self.size.most_bytes > self._most_bytes:
            sizes = (_field_bytes(name, value) for name, value in self.headers)
            if len(self.target) + sum(sizes) > self._most_bytes:
                return self._too_long_head()
        if not self._upgrades:
            return None
        if self.method == b"CONNECT":
            return Problem(501, "this server is not a proxy")
        if _framing(self.headers) is None:
            return Problem(
                501,
                "a request with Upgrade must have a Content-Length or the Transfer-Encoding "
                "chunked; send it without Upgrade",
            )
        return None

    def _stop(self, problem: Problem) -> None:
        self._refusal = problem
        raise _Stopped

    def _too_long_head(self) -> Problem:
        return Problem(431, f"the request's head is longer than {self._most_bytes} bytes")

    def _too_long_trailers(self) -> Problem:
        return Problem(
            431, f"the body's trailers or chunk extensions are longer than {self._most_bytes} bytes"
        )


def _field_bytes(name: bytes, value: bytes) -> int:
    """How long a field is as a line."""
    return len(name) + len(value) + 4


def _framing(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """The line of a head that says how its body ends; b"" without a body, None if it is unusual."""
    fields = [(name, value.strip()) for name, value in headers if name in _FRAMING]
    if not fields:
        return b""
    name, value = fields[0]
    plain = value.isdigit() if name == b"content-length" else value.lower() == b"chunked"
    return b"%b: %b\r\n" % (name, value) if plain and len(fields) == 1 else None
