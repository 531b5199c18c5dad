"""
The head of an HTTP/1 response: bytes to status and headers. Pure; the reader is in `reader`.

As lenient as browsers where nothing is at stake (bare LF, no reason phrase, folded lines, blanks
before the colon) and strict where two readers could see two answers (RFC 9112 sections 2.2, 4, 5
and 11): NUL, a CR inside a line, a line without colon, a status that is not three digits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from aragog.fetcher.faults import TransportError
from aragog.fetcher.outcome import Headers

# A status code is three digits and nothing else; the reason may be missing (RFC 9112 section 4).
STATUS_LINE = re.compile(r"HTTP/1\.([01])[ \t]+([1-9][0-9][0-9])(?:[ \t](.*))?$")

# Control characters other than tab have no place in a header; CR and NUL are refused by name.
_BLANK = " \t"


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """Status line and header lines of one answer."""

    minor: int
    """0 for HTTP/1.0, 1 for HTTP/1.1."""
    status: int
    reason: str
    headers: Headers
    """Names as sent, values trimmed and unfolded, in order."""
    fields: dict[str, list[str]] = field(default_factory=dict)
    """The same values by lower-case name."""

    def values(self, name: str) -> list[str]:
        """All values of the header `name` (lower case), in order."""
        return self.fields.get(name, [])

    def tokens(self, name: str) -> list[str]:
        """The comma-separated members of all headers `name`, trimmed and lower-cased."""
        members = (m.strip(_BLANK) for v in self.values(name) for m in v.lower().split(","))
        return [m for m in members if m]


def parse_head(block: bytes) -> ResponseHead:
    """
    The head in `block`, which ends before the empty line.

    Raises:
        TransportError: kind `protocol`, saying what is wrong; nothing of such an answer is to be
        trusted.
    """
    if b"\0" in block:
        raise TransportError("protocol", "a NUL in the headers")
    text = _text(block.replace(b"\r\n", b"\n").removesuffix(b"\r"))
    if "\r" in text:
        raise TransportError("protocol", "a carriage return inside a header line")
    lines = text.split("\n")
    found = STATUS_LINE.match(lines[0].rstrip(_BLANK))
    if found is None:
        raise TransportError("protocol", f"no HTTP/1 status line: {lines[0][:60]!r}")
    headers = _headers(lines)
    fields: dict[str, list[str]] = {}
    for name, value in headers:
        fields.setdefault(name.lower(), []).append(value)
    minor, status, reason = found.groups()
    return ResponseHead(int(minor), int(status), reason or "", headers, fields)


def _headers(lines: list[str]) -> Headers:
    found: list[tuple[str, str]] = []
    for line in lines[1:]:
        if line[:1] in _BLANK and found:
            if line:
                name, value = found[-1]
                found[-1] = name, f"{value} {line.strip(_BLANK)}".strip(_BLANK)
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise TransportError("protocol", f"a header line without a colon: {line[:60]!r}")
        if name := name.strip(_BLANK):
            found.append((name, value.strip(_BLANK)))
    return tuple(found)


def _text(block: bytes) -> str:
    """UTF-8 where it is, Latin-1 line by line where it is not (RFC 9110 section 5.5)."""
    try:
        return block.decode()
    except UnicodeDecodeError:
        return "\n".join(_line(line) for line in block.split(b"\n"))


def _line(line: bytes) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        if line[:9].lower() == b"location:":
            # The origin means these bytes, not the UTF-8 of the letters they would be in Latin-1.
            return "".join(chr(b) if b < 0x80 else f"%{b:02X}" for b in line)
        return line.decode("latin-1")
