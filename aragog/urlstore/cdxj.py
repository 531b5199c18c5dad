"""
CDXJ: an index of WARC files by URL and time, for programs that replay archived pages.

Each line has the key of a URL, the time of its capture, and JSON with the location of its record.
The key (SURT: Sort-friendly URI Reordering Transform) has the host's labels in reverse order, so
pages of a host and of its subdomains are adjacent: `com,example)/page`. It follows the Internet
Archive's canonicalization, as pywb does: no scheme, no `www`, lower case, sorted parameters, no
session ids.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

import orjson

_WWW = re.compile(rb"www\d*\.")
_PORTS = {"http": 80, "https": 443}
_UNESCAPED = "!\"$&'()*+,-./:;<=>?@[\\]^_`{|}~"
"""Characters that are not escaped in a key, in addition to letters and digits."""
_PATH_SESSIONS = (
    re.compile(rb"(.*/)(?:\((?:[a-z]\([0-9a-z]{24}\))+\)/)([^?]+\.aspx.*)", re.DOTALL),
    re.compile(rb"(.*/)(?:\([0-9a-z]{24}\)/)([^?]+\.aspx.*)", re.DOTALL),
)
_QUERY_SESSIONS = tuple(
    re.compile(rb"(.*)(?:%s)(?:&(.*))?" % session, re.DOTALL | re.IGNORECASE)
    for session in (
        rb"jsessionid=[0-9a-z]{32}",
        rb"phpsessid=[0-9a-z]{32}",
        rb"sid=[0-9a-z]{32}",
        rb"aspsessionid[a-z]{8}=[a-z]{24}",
        rb"cfid=[^&]+&cftoken=[^&]+",
    )
)


_SIMPLE_URL = re.compile(r"https?://([a-z0-9.-]+)((?:/[A-Za-z0-9_-][A-Za-z0-9._-]*)*)/?")
"""
Matches URLs without a port, parameters, escapes, empty segments and dot segments. Most URLs match.
"""
_encode_json = json.JSONEncoder(separators=(",", ":")).encode


class Capture(NamedTuple):
    """A record in a WARC file."""

    url: str
    date: str
    """The record's WARC-Date."""
    mime: str | None
    status: str | None
    digest: str | None
    """The payload digest as written in the record."""
    offset: int
    length: int
    file: str

    def moved(self, offset: int, file: str) -> Capture:
        return Capture(*self[:5], offset, self.length, file)


def line(capture: Capture) -> str:
    """Return a capture's line in the index, including its newline."""
    values: dict[str, Any] = {
        "url": capture.url,
        "mime": capture.mime,
        "status": capture.status,
        "digest": capture.digest,
        "length": str(capture.length),
        "offset": str(capture.offset),
        "filename": capture.file,
    }
    fields_json = ascii_json({name: value for name, value in values.items() if value})
    return f"{surt_key(capture.url)} {_timestamp(capture.date)} {fields_json}\n"


@lru_cache(maxsize=4096)
def read_line(text: str) -> Capture:
    """
    Parse a line of an index. The capture's date is the line's 14 digits.

    Raises:
        ValueError: the line is not one that `line` returns.
    """
    _, date, values = text.split(" ", 2)
    fields = orjson.loads(values)
    try:
        return Capture(
            fields["url"],
            date,
            fields.get("mime"),
            fields.get("status"),
            fields.get("digest"),
            int(fields["offset"]),
            int(fields["length"]),
            fields["filename"],
        )
    except (KeyError, TypeError) as error:
        raise ValueError(f"incomplete index line: {error}") from None


def _timestamp(date: str) -> str:
    """Return a date's digits. Cached, because many captures have the same date."""
    return re.sub(r"\D", "", date)


def ascii_json(values: Mapping[str, Any]) -> str:
    """Serialize values as JSON without spaces, in ASCII."""
    try:
        encoded = orjson.dumps(values)
    except TypeError:  # orjson rejects lone surrogates
        encoded = b"\xff"
    return encoded.decode() if encoded.isascii() else _encode_json(values)


def write_index(path: Path, lines: Iterable[str]) -> None:
    """
    Write lines to a file in sorted order.

    Raises:
        OSError: the file cannot be written.
    """
    path.write_text("".join(sorted(lines, key=str.encode)), "utf-8")


def surt_key(url: str) -> str:
    """Return the SURT key of a normalized URL."""
    if match := _SIMPLE_URL.fullmatch(url):
        return f"{_reversed_labels(match[1]).decode()}){match[2].lower() or '/'}"
    return _key_of_parts(url)


def _key_of_parts(url: str) -> str:
    parts = urlsplit(url)
    labels = _reversed_labels(parts.hostname or "")
    port = b":%d" % parts.port if parts.port not in (None, _PORTS.get(parts.scheme)) else b""
    return (labels + port + b")" + _path(parts.path) + _query(parts.query)).decode()


@lru_cache(maxsize=4096)
def _reversed_labels(host: str) -> bytes:
    """Return a host's labels in reverse. Cached, because consecutive URLs often share a host."""
    bare = _WWW.sub(b"", _unescape(host).strip(b"."), count=1)
    return b",".join(reversed(_escape(bare).split(b".")))


def _path(text: str) -> bytes:
    segments: list[bytes] = []
    for segment in _unescape(text).split(b"/")[1:]:
        if segment == b".." and segments:
            segments.pop()
        elif segment != b".":
            segments.append(segment)
    last = segments.pop() if segments else b""
    path = _escape(b"/" + b"/".join([*filter(None, segments), last])).lower()
    for session in _PATH_SESSIONS if b".aspx" in path else ():
        if match := session.fullmatch(path):
            path = match[1] + match[2]
    return path[:-1] if path.endswith(b"/") and len(path) > 1 else path


def _query(text: str) -> bytes:
    if not text:
        return b""
    query = _escape(_unescape(text))
    for session in _QUERY_SESSIONS:
        if match := session.fullmatch(query):
            query = match[1] + (match[2] or b"")
    if len(query) > 1:
        pairs = sorted(tuple(pair.split(b"=", 1)) for pair in query.lower().split(b"&"))
        query = b"&".join(map(b"=".join, pairs))
    return b"?" + query if query else b""


def _unescape(text: str) -> bytes:
    """Decode percent escapes until nothing changes."""
    if "%" not in text:
        return text.encode()
    before, after = text.encode(), unquote_to_bytes(text)
    while before != after:
        before, after = after, unquote_to_bytes(after)
    return after


def _escape(raw: bytes) -> bytes:
    return quote_from_bytes(raw, safe=_UNESCAPED).encode()
