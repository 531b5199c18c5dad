"""
Parse a connection's requests with httptools, and enforce limits.

httptools does not limit the size of heads (request line and headers) or trailers, reports trailers
as headers, and drops the body of a request with an Upgrade header. `RequestParser` corrects all
three.
"""

from __future__ import annotations

from typing import Protocol

from httptools import HttpParserError, HttpParserUpgrade, HttpRequestParser

from aragog.api.problems import Problem

_FRAMING_HEADERS = (b"content-length", b"transfer-encoding")


class BadRequest(Exception):
    """The bytes are refused because of `problem`. Nothing after them can be read."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.problem = problem


class _ParserStopped(Exception):
    """Raised in a callback to stop httptools."""


class RequestEvents(Protocol):
    """A parser's callbacks, in the order in which they are called for each request."""

    def on_head(self) -> Problem | None:
        """Called when the head is complete. Returns a problem to refuse the request."""

    def on_body(self, body: bytes) -> None:
        """Called with a piece of the body."""

    def on_end(self) -> None:
        """Called when the request is complete."""


class HeadSize:
    """
    The size of an incomplete head, or of the framing inside a body. The parser does not report
    where in a chunk (the bytes received together) a head begins, so only bounds of its size are
    known. The sizes of the headers are added up only if the limit lies between the bounds.

    Attributes:
        is_arriving: True if the next data belongs to a head or starts one.
        min_bytes: total size of the chunks after the one in which the head began. In a body, total
            size of the chunks since the last one with body data. They contain only trailers or
            chunk extensions.
        max_bytes: the same plus the chunk in which the head began, or 0 without a head.
    """

    __slots__ = ("_chunk_bytes", "is_arriving", "max_bytes", "min_bytes")

    def __init__(self) -> None:
        self.is_arriving = True
        self.min_bytes = self.max_bytes = self._chunk_bytes = 0

    def add_chunk(self, chunk_bytes: int) -> None:
        """Count a chunk before it is parsed."""
        self._chunk_bytes = chunk_bytes
        self.min_bytes += chunk_bytes
        if self.is_arriving:
            self.max_bytes += chunk_bytes

    def begin(self) -> None:
        self.is_arriving, self.min_bytes, self.max_bytes = True, 0, self._chunk_bytes

    def end(self, *, is_arriving: bool = False) -> None:
        """Record the end of a head. If `is_arriving`, another head follows."""
        self.is_arriving, self.min_bytes, self.max_bytes = is_arriving, 0, 0


class RequestParser:
    """
    Parses a client's data and calls `events` for each request.

    Args:
        events: the connection.
        max_bytes: limits a head, the trailers of a body, and the data between two pieces of a
            body.

    Attributes:
        target: the most recent request's path and query, or complete URL.
        headers: the headers in its head, without trailers, with names in lower case.
        size: the size of an incomplete head.
    """

    def __init__(self, events: RequestEvents, max_bytes: int) -> None:
        self.target = b""
        self.headers: list[tuple[bytes, bytes]] = []
        self.size = HeadSize()
        self._events = events
        self._max_bytes = max_bytes
        self._trailer_bytes = 0
        self._refusal: Problem | None = None
        """The reason why httptools was stopped."""
        self._upgrades = False
        """True if httptools ends the request after its head."""
        self._is_reparsing = False
        """True while httptools parses the short head from `_continue_without_upgrade`."""
        self._parser = self._new_parser()

    @property
    def method(self) -> bytes:
        method: bytes = self._parser.get_method()
        return method

    @property
    def version(self) -> str:
        """The HTTP version of the most recent request, such as 1.1."""
        version: str = self._parser.get_http_version()
        return version

    @property
    def keeps_alive(self) -> bool:
        """True if the client wants the connection to stay open after this request."""
        keeps_alive: bool = self._parser.should_keep_alive()
        return keeps_alive

    def feed(self, data: bytes) -> None:
        """
        Parse a chunk.

        Raises:
            BadRequest: this is not HTTP/1.1, a limit is exceeded, or `on_head` refused the request.
        """
        self.size.add_chunk(len(data))
        try:
            self._parse(data)
        except HttpParserError as error:
            problem = self._refusal or Problem(400, "this is not an HTTP/1.1 request")
            raise BadRequest(problem) from error
        if self.size.min_bytes > self._max_bytes:
            refusal = (
                self._long_head_problem()
                if self.size.is_arriving
                else self._long_trailers_problem()
            )
            raise BadRequest(refusal)

    def _parse(self, data: bytes) -> None:
        while True:
            try:
                self._parser.feed_data(data)
            except HttpParserUpgrade as upgrade:
                data = data[upgrade.args[0] :]
                self._continue_without_upgrade()
            else:
                return

    def _continue_without_upgrade(self) -> None:
        """
        Read the body of a request whose upgrade is ignored, and the data after it (RFC 9110, 7.8).

        A new parser gets a head that only says how long the body is. `_framing_line` accepts only
        unambiguous lengths, so both parsers see the same end.
        """
        framing = _framing_line(self.headers)
        connection_line = b"" if self.keeps_alive else b"Connection: close\r\n"
        self._upgrades, self._parser = False, self._new_parser()
        if framing:
            self._is_reparsing = True
            self._parser.feed_data(b"POST / HTTP/1.1\r\n%b%b\r\n" % (framing, connection_line))
        else:
            self.on_message_complete()

    def _new_parser(self) -> HttpRequestParser:
        parser = HttpRequestParser(self)
        # Requests after the one that closes the connection are ignored. They must not replace its
        # response with an error.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        return parser

    # Called by httptools

    def on_message_begin(self) -> None:
        if not self._is_reparsing:
            self.size.begin()
            self.target, self.headers, self._trailer_bytes = b"", [], 0

    def on_url(self, url: bytes) -> None:
        if not self._is_reparsing:
            self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self.size.is_arriving:
            self.headers.append((name.lower(), value))
        elif not self._is_reparsing:
            # Trailers are not merged into the head (RFC 9110, 6.5.1), and nothing reads them.
            self._trailer_bytes += _header_bytes(name, value)
            if self._trailer_bytes > self._max_bytes:
                self._stop(self._long_trailers_problem())

    def on_headers_complete(self) -> None:
        if self._is_reparsing:
            self._is_reparsing = False
            return
        refusal, self._upgrades = None, self._parser.should_upgrade()
        if self._upgrades or self.size.max_bytes > self._max_bytes:
            refusal = self._get_head_refusal()
        self.size.end()
        refusal = refusal or self._events.on_head()
        if refusal is not None:
            self._stop(refusal)

    def on_body(self, body: bytes) -> None:
        self.size.min_bytes = 0
        self._events.on_body(body)

    def on_message_complete(self) -> None:
        if not self._upgrades:
            self.size.end(is_arriving=True)
            self._events.on_end()

    def _get_head_refusal(self) -> Problem | None:
        """Return why the complete head is refused, or None."""
        if self.size.max_bytes > self._max_bytes:
            sizes = (_header_bytes(name, value) for name, value in self.headers)
            if len(self.target) + sum(sizes) > self._max_bytes:
                return self._long_head_problem()
        if not self._upgrades:
            return None
        if self.method == b"CONNECT":
            return Problem(501, "this server is not a proxy")
        if _framing_line(self.headers) is None:
            return Problem(
                501,
                "a request with Upgrade must have a Content-Length or Transfer-Encoding: "
                "chunked; send it without Upgrade",
            )
        return None

    def _stop(self, problem: Problem) -> None:
        self._refusal = problem
        raise _ParserStopped

    def _long_head_problem(self) -> Problem:
        return Problem(431, f"the request's headers are longer than {self._max_bytes} bytes")

    def _long_trailers_problem(self) -> Problem:
        return Problem(
            431, f"the body's trailers or chunk extensions are longer than {self._max_bytes} bytes"
        )


def _header_bytes(name: bytes, value: bytes) -> int:
    return len(name) + len(value) + 4


def _framing_line(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    """Return the header line with the body's length, b"" without a body, or None if unclear."""
    fields = [(name, value.strip()) for name, value in headers if name in _FRAMING_HEADERS]
    if not fields:
        return b""
    name, value = fields[0]
    is_usual = value.isdigit() if name == b"content-length" else value.lower() == b"chunked"
    return b"%b: %b\r\n" % (name, value) if is_usual and len(fields) == 1 else None
