"""
Reads an HTTP response from a recording, such as a web archive.

It uses the same decoders and limits as a fetch. The body ends where the record ends, whatever the
headers say. An archive may have decoded the body but kept its Content-Encoding header. So the body
is used as it is if it does not start like data in that coding, or if it starts with `<` and cannot
be decoded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import NamedTuple

from aragog.crawl.fetcher.body_limits import Bounds, DecodedBody, collect
from aragog.crawl.fetcher.faults import TransportError, UnsupportedContent
from aragog.crawl.fetcher.http1.decoders import decoders_for
from aragog.crawl.fetcher.http1.head import Delimiter, Framing, ResponseHead, parse_head
from aragog.crawl.fetcher.http1.reader import ResponseReader, read_content
from aragog.fetch_record.outcome import UnreachableKind

PIECE_BYTES = 65_536
_MAGIC_BY_CODING = {"gzip": b"\x1f\x8b", "x-gzip": b"\x1f\x8b", "zstd": b"\x28\xb5\x2f\xfd"}
_HEX_DIGITS = b"0123456789abcdefABCDEF"


class RecordedLimits(NamedTuple):
    """Limits in bytes, equal to those of `fetch` in the settings."""

    head: int
    wire: int
    body: int


class RecordedResponse(NamedTuple):
    """A recorded response with its decoded body."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    truncated_why: str | None
    """Why the body is incomplete; None if it is complete."""


def read_recorded(read: Callable[[int], bytes], limits: RecordedLimits) -> RecordedResponse:
    """
    Read one response. `read(n)` returns at most n of the next bytes, or b"" at the end.

    Raises:
        Fault: the data is not a response, its headers are too long, or its body cannot be decoded.
    """
    head, body_start = _read_head(read, limits.head)
    decoded = _read_body(head, body_start, read, limits)
    return RecordedResponse(head.status, head.headers, decoded.data, decoded.truncated_why)


def _read_head(read: Callable[[int], bytes], max_bytes: int) -> tuple[ResponseHead, bytes]:
    block = b""
    while True:
        ends = [position for end in (b"\r\n\r\n", b"\n\n") if (position := block.find(end)) >= 0]
        if ends or len(block) > max_bytes:
            break
        if not (piece := read(PIECE_BYTES)):
            break
        block += piece
    end = min(ends, default=len(block))
    if end > max_bytes:
        raise TransportError(UnreachableKind.PROTOCOL, f"headers of more than {max_bytes} bytes")
    separator_bytes = 4 if block[end : end + 4] == b"\r\n\r\n" else 2
    return parse_head(_replace_version(block[:end])), block[end + separator_bytes :]


def _replace_version(block: bytes) -> bytes:
    """Replace the version with HTTP/1.1, because some recorders write `HTTP/2 200`."""
    version, separator, rest = block.partition(b" ")
    return (
        b"HTTP/1.1 " + rest
        if separator and version in (b"HTTP/2", b"HTTP/2.0", b"HTTP/3")
        else block
    )


def _read_body(
    head: ResponseHead, start: bytes, read: Callable[[int], bytes], limits: RecordedLimits
) -> DecodedBody:
    wire, is_cut = _read_wire(start, read, limits.wire)
    bounds = Bounds(limits.wire, limits.body)
    try:
        body = _decode(head, wire, bounds)
    except UnsupportedContent:
        if wire.lstrip()[:1] != b"<":
            raise
        body = collect([wire], [], bounds)
    if is_cut and body.truncated_why is None:
        return DecodedBody(body.data, f"truncated at {limits.wire} bytes on the wire", 0, False)
    return body


def _read_wire(start: bytes, read: Callable[[int], bytes], max_bytes: int) -> tuple[bytes, bool]:
    pieces, size = [start], len(start)
    while size <= max_bytes and (piece := read(PIECE_BYTES)):
        pieces.append(piece)
        size += len(piece)
    return b"".join(pieces)[:max_bytes], size > max_bytes


def _decode(head: ResponseHead, wire: bytes, bounds: Bounds) -> DecodedBody:
    transfer_codings = [name.partition(";")[0].strip() for name in head.tokens("transfer-encoding")]
    is_chunked = transfer_codings[-1:] == ["chunked"] and _starts_with_chunk_size(wire)
    codings = head.tokens("content-encoding"), [n for n in transfer_codings if n != "chunked"]
    if is_chunked:
        with suppress(TransportError):  # the body only looked chunked, so use it as it is
            return collect(_split_body(wire, Delimiter.LAST_CHUNK), decoders_for(*codings), bounds)
    pieces = _split_body(wire, Delimiter.CLOSE)
    is_coded = _may_have_coding(wire, [*codings[0], *codings[1]])
    return collect(pieces, decoders_for(*codings) if is_coded else [], bounds)


def _split_body(wire: bytes, delimiter: Delimiter) -> Iterator[bytes]:
    received = (
        wire[position : position + PIECE_BYTES] for position in range(0, len(wire), PIECE_BYTES)
    )
    return read_content(ResponseReader(lambda: next(received, b"")), Framing(delimiter))


def _starts_with_chunk_size(wire: bytes) -> bool:
    """Return True if the body starts with a chunk size. Some archives remove chunk sizes."""
    line = wire[:80].partition(b"\n")[0].partition(b";")[0].strip()
    return bool(line) and all(byte in _HEX_DIGITS for byte in line)


def _may_have_coding(wire: bytes, codings: Sequence[str]) -> bool:
    """Return False if the body does not start like data in its last coding (gzip or zstd only)."""
    magic = _MAGIC_BY_CODING.get(codings[-1]) if codings else None
    return magic is None or wire.startswith(magic)
