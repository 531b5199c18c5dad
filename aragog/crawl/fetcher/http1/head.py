"""
Parses the head of an HTTP/1 response: status, headers, and what ends the body.

Like browsers, the parser accepts harmless deviations: bare LF, no reason phrase, obsolete line
folding, blanks before the colon, and NUL in headers that do not affect processing. It rejects heads
that two parsers could interpret differently (RFC 9112 sections 2.2, 4, 5 and 11): NUL elsewhere, CR
inside a line, a line without a colon, and a status that is not three digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum, auto

from aragog.crawl.fetcher.faults import TransportError
from aragog.fetch_record.outcome import Headers, UnreachableKind

# Three digits. The reason phrase may be missing (RFC 9112 section 4).
STATUS_LINE = re.compile(r"HTTP/1\.([01])[ \t]+([1-9][0-9][0-9])(?:[ \t](.*))?$")

# A NUL in one of these could change where the body ends, how it is decoded, or the next request.
_NO_NUL_HEADERS = frozenset({
    "connection", "content-encoding", "content-length", "location", "refresh", "set-cookie",
    "transfer-encoding",
})  # fmt: skip

# The optional whitespace of RFC 9110 section 5.6.3.
_WHITESPACE = " \t"


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """A response's status line and headers."""

    minor_version: int
    """0 for HTTP/1.0, 1 for HTTP/1.1."""
    status: int
    reason: str
    headers: Headers
    """In the order received. Names are as sent; values are trimmed and unfolded."""
    fields: dict[str, list[str]] = field(default_factory=dict)
    """The values of each header, by lower-case name."""

    def values(self, name: str) -> list[str]:
        """Return all values of the header `name` (lower case), in order."""
        return self.fields.get(name, [])

    def tokens(self, name: str) -> list[str]:
        """Return the comma-separated parts of all headers `name`, trimmed, in lower case."""
        members = (m.strip(_WHITESPACE) for v in self.values(name) for m in v.lower().split(","))
        return [m for m in members if m]


def parse_head(block: bytes) -> ResponseHead:
    """
    Parse the head in `block`, which ends before the empty line.

    Raises:
        TransportError: kind `protocol`. The response must not be used.
    """
    text = _decode_head(block.replace(b"\r\n", b"\n").removesuffix(b"\r"))
    if "\r" in text:
        raise TransportError(UnreachableKind.PROTOCOL, "a carriage return inside a header line")
    lines = text.split("\n")
    status_line = STATUS_LINE.match(lines[0].rstrip(_WHITESPACE))
    if status_line is None:
        raise TransportError(
            UnreachableKind.PROTOCOL, f"not an HTTP/1 status line: {lines[0][:60]!r}"
        )
    headers = _parse_headers(lines)
    if "\0" in text:
        headers = _replace_nuls(lines[0], headers)
    fields: dict[str, list[str]] = {}
    for name, value in headers:
        fields.setdefault(name.lower(), []).append(value)
    minor_version, status, reason = status_line.groups()
    return ResponseHead(int(minor_version), int(status), reason or "", headers, fields)


def _parse_headers(lines: list[str]) -> Headers:
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        if line[:1] in _WHITESPACE and headers:
            if line:
                name, value = headers[-1]
                headers[-1] = name, f"{value} {line.strip(_WHITESPACE)}".strip(_WHITESPACE)
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise TransportError(
                UnreachableKind.PROTOCOL, f"a header line without a colon: {line[:60]!r}"
            )
        if name := name.strip(_WHITESPACE):
            headers.append((name, value.strip(_WHITESPACE)))
    return tuple(headers)


def _replace_nuls(status_line: str, headers: Headers) -> Headers:
    """Replace NULs in harmless header values with blanks (RFC 9110 section 5.5)."""
    critical_values = [value for name, value in headers if name.lower() in _NO_NUL_HEADERS]
    names = [name for name, _ in headers]
    if any("\0" in text for text in (status_line, *names, *critical_values)):
        raise TransportError(UnreachableKind.PROTOCOL, "NUL byte in the headers")
    return tuple((name, value.replace("\0", " ").strip(_WHITESPACE)) for name, value in headers)


def _decode_head(block: bytes) -> str:
    """Decode as UTF-8, or else decode each line as UTF-8 or Latin-1 (RFC 9110 section 5.5)."""
    try:
        return block.decode()
    except UnicodeDecodeError:
        return "\n".join(_decode_line(line) for line in block.split(b"\n"))


def _decode_line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        if line[:9].lower() == b"location:":
            # Percent-encode these bytes. If they were decoded as Latin-1, they would later be
            # encoded as UTF-8.
            return "".join(chr(b) if b < 0x80 else f"%{b:02X}" for b in line)
        return line.decode("latin-1")


# The same limit as in curl. More codings are treated as an attack.
MAX_CODINGS = 5

TRANSFER_CODINGS = frozenset({"gzip", "x-gzip", "deflate", "br", "zstd"})

# Stands for a missing Content-Length. Lengths this large are ignored too: the body then ends with
# the connection or at a size limit.
NO_LENGTH = 1 << 63


class Delimiter(Enum):
    """What marks a body's end."""

    NO_BODY = auto()
    LENGTH = auto()
    LAST_CHUNK = auto()
    CLOSE = auto()
    """The end of the connection."""
    END_STREAM = auto()
    """In HTTP/2: a flag in the last frame."""


@dataclass(frozen=True, slots=True)
class Framing:
    """How the body is delimited."""

    delimiter: Delimiter
    length: int = 0
    """Length in bytes if the delimiter is LENGTH."""
    codings: tuple[str, ...] = ()
    """Transfer codings besides `chunked`, in the order of their application."""
    persistent: bool = False
    """True if the connection may be reused."""


def check_coding_count(names: Sequence[str], coding_type: str) -> None:
    """Raise TransportError if there are more than `MAX_CODINGS` codings."""
    if len(names) > MAX_CODINGS:
        raise TransportError(
            UnreachableKind.PROTOCOL,
            f"{len(names)} nested {coding_type} codings; {MAX_CODINGS} are supported",
        )


def get_framing(head: ResponseHead) -> Framing:
    """
    Return the framing of a final response to GET.

    Follows RFC 9112 section 6.3. A transfer coding takes precedence over a length. If a response
    has both, the connection is not reused, because this is a sign of response splitting. As in
    browsers, names that are not codings (`identity`, `binary`) are ignored.

    Raises:
        TransportError: different lengths, a length that is not a number, or `chunked` is not the
            last coding.
    """
    persistent = _is_persistent(head)
    if head.status in (204, 304):
        return Framing(Delimiter.NO_BODY, persistent=persistent)
    if head.values("transfer-encoding"):
        persistent = persistent and head.minor_version == 1 and not head.values("content-length")
        if codings := _transfer_codings(head):
            return _framing_from_codings(codings, persistent=persistent)
    lengths = {
        _parse_length(part) for value in head.values("content-length") for part in value.split(",")
    }
    if len(lengths) > 1:
        raise TransportError(UnreachableKind.PROTOCOL, "several Content-Length headers that differ")
    length = lengths.pop() if lengths else NO_LENGTH
    if length >= NO_LENGTH:
        return Framing(Delimiter.CLOSE)
    return Framing(Delimiter.LENGTH, length, persistent=persistent)


def _transfer_codings(head: ResponseHead) -> list[str]:
    """Return the transfer codings that change the body, in the order of their application."""
    names = [coding.partition(";")[0].strip() for coding in head.tokens("transfer-encoding")]
    return [name for name in names if name == "chunked" or name in TRANSFER_CODINGS]


def _framing_from_codings(names: list[str], *, persistent: bool) -> Framing:
    while names[-2:] == ["chunked", "chunked"]:
        names.pop()  # like curl and browsers, treat a repeated `chunked` as one
    if "chunked" in names[:-1]:
        raise TransportError(
            UnreachableKind.PROTOCOL, "Transfer-Encoding: chunked is not the last coding"
        )
    chunked = names[-1] == "chunked"
    inner_codings = names[:-1] if chunked else names
    check_coding_count(inner_codings, "transfer")
    if chunked:
        return Framing(Delimiter.LAST_CHUNK, codings=tuple(inner_codings), persistent=persistent)
    return Framing(Delimiter.CLOSE, codings=tuple(inner_codings))


def _parse_length(text: str) -> int:
    digits = text.strip(" \t")
    if not (digits.isascii() and digits.isdigit()):
        raise TransportError(
            UnreachableKind.PROTOCOL, f"Content-Length is not a number: {text[:40]!r}"
        )
    digits = digits.lstrip("0") or "0"
    return int(digits) if len(digits) < 20 else NO_LENGTH


def _is_persistent(head: ResponseHead) -> bool:
    """
    Return True if the connection persists (RFC 9112 section 9.3). An HTTP/1.0 connection persists
    only with `keep-alive`.
    """
    options = head.tokens("connection")
    if "close" in options:
        return False
    return head.minor_version == 1 or "keep-alive" in options
