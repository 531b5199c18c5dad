"""
Reads the heads, lines and bodies of HTTP/1 responses from a byte stream.

It uses no socket itself: a function `receive` returns the next bytes (b"" at the end of the stream)
and may raise `TransportError`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from aragog.crawl.fetcher.faults import LimitExceeded, TransportError
from aragog.crawl.fetcher.http1.head import Delimiter, Framing, ResponseHead, parse_head
from aragog.fetch_record.outcome import UnreachableKind

# Maximum number of interim responses (1xx), which could otherwise delay a fetch forever.
MAX_INTERIM_RESPONSES = 16

# Maximum length of a chunk-size line: 16 hex digits and (ignored) extensions.
MAX_CHUNK_LINE_BYTES = 4096

# A chunk costs about 3 µs of CPU, so ten thousand nearly empty chunks are treated as an attack.
MAX_SMALL_CHUNKS = 10_000
MIN_MEAN_CHUNK_BYTES = 32


class ResponseReader:
    """
    A buffered reader.

    Args:
        receive: returns the next bytes; b"" at the end.

    Attributes:
        line_bytes: total size of the lines before, between and after chunks so far.
    """

    __slots__ = ("_buffer", "_position", "_receive", "line_bytes")

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive = receive
        self._buffer = b""
        self._position = 0
        self.line_bytes = 0

    @property
    def has_unread_bytes(self) -> bool:
        """True if bytes were received that have not been read yet."""
        return self._position < len(self._buffer)

    def read_head(self, max_bytes: int) -> ResponseHead:
        """
        Read the final response's status and headers. Skips interim responses (100, 103, …).

        As in browsers, the connection may end after any complete header line. A status below 300 is
        an exception: it would yield an empty page, which must not replace a stored one.

        Raises:
            TransportError: the data is not HTTP/1, or ends before the empty line.
            LimitExceeded: the headers of all responses together exceed `max_bytes`.
        """
        free_bytes = max_bytes
        for _ in range(MAX_INTERIM_RESPONSES):
            block, is_complete = self._read_block(free_bytes)
            head = parse_head(block)
            if not is_complete and head.status < 300:
                raise _early_close_error(started=True)
            if head.status >= 200:
                return head
            if head.status == 101:
                raise TransportError(UnreachableKind.PROTOCOL, "unexpected 101 Switching Protocols")
            free_bytes -= len(block)
        raise TransportError(
            UnreachableKind.PROTOCOL, f"more than {MAX_INTERIM_RESPONSES} interim responses"
        )

    def _read_block(self, max_bytes: int) -> tuple[bytes, bool]:
        """Return the block up to the next empty line, and whether it ended there."""
        buffer, search_start = self._buffer[self._position :], 0
        while True:
            if not b"HTTP/1."[: len(buffer)] == buffer[:7]:
                raise TransportError(
                    UnreachableKind.PROTOCOL,
                    f"not HTTP/1: the response begins with {buffer[:40]!r}",
                )
            end, body_start = _find_empty_line(buffer, search_start)
            if max(end, 0 if body_start else len(buffer)) > max_bytes:
                raise LimitExceeded(f"more than {max_bytes} bytes of headers")
            if body_start:
                self._buffer, self._position = buffer, body_start
                return buffer[:end], True
            search_start = max(0, len(buffer) - 3)
            received = self._receive()
            if not received:
                if not buffer.endswith((b"\n", b"\n\r")):
                    raise _early_close_error(bool(buffer))
                self._buffer, self._position = b"", 0
                return buffer.rstrip(b"\r\n"), False
            buffer += received

    def read_line(self, max_bytes: int) -> bytes | None:
        """Read the next line, without its end. Returns None if the stream ends first."""
        while (end := self._buffer.find(b"\n", self._position)) < 0:
            if len(self._buffer) - self._position > max_bytes:
                raise TransportError(
                    UnreachableKind.PROTOCOL,
                    f"a line of more than {max_bytes} bytes between chunks",
                )
            received = self._receive()
            if not received:
                return None
            self._buffer, self._position = self._buffer[self._position :] + received, 0
        line = self._buffer[self._position : end]
        self.line_bytes += end + 1 - self._position
        self._position = end + 1
        return line.removesuffix(b"\r")

    def read_some(self, max_bytes: int) -> bytes:
        """Read 1 to `max_bytes` bytes; b"" at the end of the stream."""
        if self._position >= len(self._buffer):
            self._buffer, self._position = self._receive(), 0
        buffer, position = self._buffer, self._position
        if len(buffer) - position <= max_bytes:
            # Free the buffer: an idle connection would keep 64 KB.
            self._buffer, self._position = b"", 0
            return buffer[position:] if position else buffer
        self._position = position + max_bytes
        return buffer[position : position + max_bytes]


def _find_empty_line(buffer: bytes, start: int) -> tuple[int, int]:
    """Return where the head ends and the body starts; (-1, 0) if not received yet."""
    crlf = buffer.find(b"\n\r\n", start)
    bare_lf = buffer.find(b"\n\n", start, crlf if crlf >= 0 else None)
    if bare_lf >= 0:
        return bare_lf, bare_lf + 2
    return (crlf, crlf + 3) if crlf >= 0 else (-1, 0)


def _early_close_error(started: bool) -> TransportError:
    if started:
        return TransportError(
            UnreachableKind.PROTOCOL, "the connection was closed inside the headers"
        )
    return TransportError(UnreachableKind.RESET, "the connection was closed without a response")


def read_content(reader: ResponseReader, framing: Framing) -> Iterator[bytes]:
    """
    Yield the pieces of a body, without chunk framing, until it is complete.

    Raises:
        TransportError: the body ended early or has invalid chunks. Pieces yielded before are valid.
    """
    if framing.delimiter is Delimiter.LENGTH:
        yield from _read_exactly(reader, framing.length, "Content-Length declares")
    elif framing.delimiter is Delimiter.LAST_CHUNK:
        yield from _read_chunks(reader)
    elif framing.delimiter is Delimiter.CLOSE:
        while piece := reader.read_some(1 << 20):
            yield piece


def _read_exactly(reader: ResponseReader, length: int, declaration: str) -> Iterator[bytes]:
    remaining = length
    while remaining:
        piece = reader.read_some(remaining)
        if not piece:
            raise TransportError(
                UnreachableKind.RESET,
                f"closed after {length - remaining} of the {length} bytes that {declaration}",
            )
        remaining -= len(piece)
        yield piece


def _read_chunks(reader: ResponseReader) -> Iterator[bytes]:
    count = total = 0
    while size := _read_chunk_size(reader):
        count, total = count + 1, total + size
        if count > MAX_SMALL_CHUNKS and total < count * MIN_MEAN_CHUNK_BYTES:
            raise TransportError(
                UnreachableKind.PROTOCOL,
                f"{count} chunks of {total / count:.0f} bytes on average",
            )
        yield from _read_exactly(reader, size, "a chunk declares")
        if reader.read_line(2) != b"":
            raise TransportError(UnreachableKind.PROTOCOL, "a chunk is not followed by CRLF")
    _skip_trailers(reader)


def _read_chunk_size(reader: ResponseReader) -> int:
    line = reader.read_line(MAX_CHUNK_LINE_BYTES)
    if line is None:
        raise TransportError(UnreachableKind.RESET, "closed before the last chunk")
    digits = line.partition(b";")[0].strip(b" \t")
    if not digits or len(digits.lstrip(b"0")) > 15 or digits.strip(b"0123456789abcdefABCDEF"):
        raise TransportError(UnreachableKind.PROTOCOL, f"not a chunk size: {line[:40]!r}")
    return int(digits, 16)


def _skip_trailers(reader: ResponseReader, max_bytes: int = 16_384) -> None:
    """Skip trailers (RFC 9112 section 8). The body is already complete."""
    free_bytes = max_bytes
    while (line := reader.read_line(free_bytes)) is not None and line:
        free_bytes -= len(line)
        if free_bytes < 0:
            raise TransportError(
                UnreachableKind.PROTOCOL, f"more than {max_bytes} bytes of trailers"
            )
