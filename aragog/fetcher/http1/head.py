"""
Parser for the head of an HTTP/1 response: bytes to status and headers. Pure.

It is as lenient as browsers about harmless deviations: bare LF, no reason phrase, obsolete line
folding, blanks before the colon. It rejects what two parsers could read as two different responses
(RFC 9112 sections 2.2, 4, 5 and 11): NUL, CR inside a line, a line without a colon, a status that
is not three digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from aragog.fetcher.faults import TransportError
from aragog.fetcher.outcome import Headers, UnreachableKind

# Three digits; the reason phrase may be missing (RFC 9112 section 4).
STATUS_LINE = re.compile(r"HTTP/1\.([01])[ \t]+([1-9][0-9][0-9])(?:[ \t](.*))?$")

# The optional whitespace of RFC 9110 section 5.6.3.
_BLANK = " \t"


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status line and headers of one response."""

    minor: int
    """0 for HTTP/1.0, 1 for HTTP/1.1."""
    status: int
    reason: str
    headers: Headers
    """Names as sent, values trimmed and unfolded, in order."""
    fields: dict[str, list[str]] = field(default_factory=dict)
    """The same values by lower-case name."""

    def values(self, name: str) -> list[str]:
        """Return all values of the header `name` (lower case), in order."""
        return self.fields.get(name, [])

    def tokens(self, name: str) -> list[str]:
        """Return the comma-separated members of all headers `name`, trimmed and in lower case."""
        members = (m.strip(_BLANK) for v in self.values(name) for m in v.lower().split(","))
        return [m for m in members if m]


def parse_head(block: bytes) -> ResponseHead:
    """
    Parse the head in `block`, which ends before the empty line.

    Raises:
        TransportError: kind `protocol`; the response must not be used.
    """
    if b"\0" in block:
        raise TransportError(UnreachableKind.PROTOCOL, "NUL byte in the headers")
    text = _text(block.replace(b"\r\n", b"\n").removesuffix(b"\r"))
    if "\r" in text:
        raise TransportError(UnreachableKind.PROTOCOL, "a carriage return inside a header line")
    lines = text.split("\n")
    status_line = STATUS_LINE.match(lines[0].rstrip(_BLANK))
    if status_line is None:
        raise TransportError(
            UnreachableKind.PROTOCOL, f"not an HTTP/1 status line: {lines[0][:60]!r}"
        )
    headers = _headers(lines)
    fields: dict[str, list[str]] = {}
    for name, value in headers:
        fields.setdefault(name.lower(), []).append(value)
    minor, status, reason = status_line.groups()
    return ResponseHead(int(minor), int(status), reason or "", headers, fields)


def _headers(lines: list[str]) -> Headers:
    headers: list[tuple[str, str]] = []
    for line in lines[1:]:
        if line[:1] in _BLANK and headers:
            if line:
                name, value = headers[-1]
                headers[-1] = name, f"{value} {line.strip(_BLANK)}".strip(_BLANK)
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise TransportError(
                UnreachableKind.PROTOCOL, f"a header line without a colon: {line[:60]!r}"
            )
        if name := name.strip(_BLANK):
            headers.append((name, value.strip(_BLANK)))
    return tuple(headers)


def _text(block: bytes) -> str:
    """Decode as UTF-8, and line by line as Latin-1 where that fails (RFC 9110 section 5.5)."""
    try:
        return block.decode()
    except UnicodeDecodeError:
        return "\n".join(_line(line) for line in block.split(b"\n"))


def _line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        if line[:9].lower() == b"location:":
            # A Location means these bytes, not the UTF-8 encoding of Latin-1 characters.
            return "".join(chr(b) if b < 0x80 else f"%{b:02X}" for b in line)
        return line.decode("latin-1")
