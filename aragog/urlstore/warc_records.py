"""
Builds and parses WARC 1.1 records of pages (ISO 28500:2017). No I/O.

A page is a `response` with its status line and headers. The body is stored decoded. So headers that
describe its encoding get the prefix `X-Crawler-`, and Content-Length is the length of the decoded
body, as in public crawls. A body without headers is a `resource`. If a fetch found the body
unchanged, the record is a `revisit` with headers only (identical-payload-digest).

The field `WARC-JSON-Metadata` has the metadata that the store returns with the body.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import lru_cache
from http import HTTPStatus
from typing import NamedTuple

from aragog.errors import CorruptContent
from aragog.fetch_record.outcome import FetchRecord
from aragog.urlstore.cdxj import Capture, ascii_json

META = "WARC-JSON-Metadata"
PAGES = "Aragog-Pages"
"""The field with more URLs of the page, separated by spaces."""
IDENTICAL = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
ENCODING_HEADERS = ("content-encoding", "transfer-encoding", "content-length")
"""Headers that describe the transferred bytes, which the record does not contain."""
_END = b"\r\n\r\n"
RECORD_END = b"\r\n\r\n"
"""The bytes after a record's body."""
_CONTROL = re.compile("[\x00-\x1f\x7f]")
_CONTENT_TYPE = re.compile(rb"\r\n[ \t]*content-type[ \t]*:([^\r\n]*)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class WarcPage:
    """The page that a record is made from."""

    url: str
    """The URL that returned the page, normalized."""
    at_ms: int
    digest: str
    """The SHA-256 of the decoded body in hex."""
    body_bytes: int
    meta: Mapping[str, str] = field(default_factory=dict)
    report: FetchRecord | None = None
    """The fetch's report, or None if the page was not fetched."""
    pages: tuple[str, ...] = ()
    """More URLs under which the page may be stored. `pack_upkeep` reads their nodes too."""


class Original(NamedTuple):
    """The earlier record with the body of a `revisit`."""

    url: str
    date: str


class WarcBlock(NamedTuple):
    """A parsed record."""

    fields: Mapping[str, str]
    head: bytes
    """The HTTP status line and headers, without the empty line. Empty if there are none."""
    body: bytes

    @property
    def kind(self) -> str:
        return self.fields.get("warc-type", "")

    @property
    def url(self) -> str:
        """The WARC-Target-URI; empty for a `warcinfo`."""
        return self.fields.get("warc-target-uri", "")

    @property
    def urls(self) -> tuple[str, ...]:
        """The URLs under which the record's page may be stored."""
        return (*([self.url] if self.url else []), *self.fields.get(PAGES.lower(), "").split())

    @property
    def meta(self) -> dict[str, str]:
        try:
            return dict(json.loads(self.fields.get(META.lower()) or "{}"))
        except ValueError:
            raise CorruptContent(self.url, "its metadata cannot be read") from None


class RecordHead(NamedTuple):
    """A record without its body."""

    fields: Sequence[tuple[str, str]]
    """The named fields, without Content-Length."""
    http: bytes
    """The HTTP status line and headers, with the empty line. Empty if there are none."""
    body_bytes: int

    @property
    def encoded(self) -> bytes:
        lines = [f"{name}: {value}" for name, value in self.fields]
        length = f"Content-Length: {len(self.http) + self.body_bytes}"
        return b"".join(["\r\n".join(["WARC/1.1", *lines, length]).encode(), _END, self.http])

    def capture(self, length: int) -> Capture:
        """Return the record's index entry, without its pack and offset."""
        fields = dict(self.fields)
        return _capture(
            (
                fields.get("WARC-Type", ""),
                fields.get("WARC-Target-URI", ""),
                fields.get("WARC-Date", ""),
                fields.get("WARC-Payload-Digest"),
                fields.get("Content-Type"),
            ),
            self.http.removesuffix(_END),
            (0, length, ""),
        )

    def with_body(self, body: bytes) -> bytes:
        return b"".join([self.encoded, body, RECORD_END])


def page_head(page: WarcPage) -> RecordHead:
    """Return the `response` or `resource` record of a page."""
    head = http_head(page.report, page.body_bytes)
    kind = "response" if head else "resource"
    fields = [*_fields(kind, page), *_content_type(page, head)]
    if page.report is not None and page.report.truncated:
        fields.append(("WARC-Truncated", "length"))
    return RecordHead(fields, head, page.body_bytes)


def revisit_head(page: WarcPage, original: Original) -> RecordHead:
    """Return the record for a page whose body did not change."""
    head = http_head(page.report, None)
    fields = [
        *_fields("revisit", page),
        ("WARC-Profile", IDENTICAL),
        ("WARC-Refers-To-Target-URI", original.url),
        ("WARC-Refers-To-Date", original.date),
        *([("Content-Type", "application/http; msgtype=response")] if head else []),
    ]
    return RecordHead(fields, head, 0)


def warcinfo_record(name: str, at_ms: int) -> bytes:
    """Return the first record of a pack."""
    block = b"software: aragog\r\nformat: WARC File Format 1.1\r\n"
    fields = [
        ("WARC-Type", "warcinfo"),
        ("WARC-Record-ID", _record_id()),
        ("WARC-Date", iso_date(at_ms)),
        ("WARC-Filename", name.rpartition("/")[2]),
        ("Content-Type", "application/warc-fields"),
    ]
    return RecordHead(fields, b"", len(block)).with_body(block)


def read_record(data: bytes) -> WarcBlock:
    """
    Parse a decompressed record.

    Raises:
        CorruptContent: the bytes are not a record.
    """
    fields, offset = _read_fields(data)
    length = _length_of(fields)
    block = data[offset : offset + length]
    if len(block) != length:
        raise CorruptContent(fields.get("warc-target-uri", ""), "its record is truncated")
    if not fields.get("content-type", "").startswith("application/http"):
        return WarcBlock(fields, b"", block)
    head, _, body = block.partition(_END)
    return WarcBlock(fields, head, body)


def read_beginning(data: bytes) -> tuple[WarcBlock, int]:
    """
    Parse a record's fields and HTTP head. Its body may be missing.

    Returns:
        The record without its body, and the size of the whole record in bytes.

    Raises:
        CorruptContent: the bytes do not start with a record's fields.
    """
    fields, offset = _read_fields(data)
    head = b""
    if fields.get("content-type", "").startswith("application/http"):
        end = data.find(_END, offset)
        head = data[offset : end if end >= 0 else len(data)]
    return WarcBlock(fields, head, b""), offset + _length_of(fields) + len(RECORD_END)


def _read_fields(data: bytes) -> tuple[dict[str, str], int]:
    end = data.find(_END)
    lines = data[: max(end, 0)].decode("utf-8", "replace").split("\r\n")
    if end < 0 or not lines[0].startswith("WARC/1."):
        raise CorruptContent("", "is not a WARC record")
    pairs = (line.partition(":") for line in lines[1:])
    return {name.strip().lower(): value.strip() for name, _, value in pairs}, end + len(_END)


def _length_of(fields: Mapping[str, str]) -> int:
    length = fields.get("content-length", "")
    if not length.isdecimal():
        raise CorruptContent(fields.get("warc-target-uri", ""), "its record has no length")
    return int(length)


def capture_of(block: WarcBlock, offset: int, length: int, file: str) -> Capture:
    """Return a record's entry in its pack's index."""
    get = block.fields.get
    return _capture(
        (
            block.kind,
            block.url,
            get("warc-date", ""),
            get("warc-payload-digest"),
            get("content-type"),
        ),
        block.head,
        (offset, length, file.rpartition("/")[2]),
    )


def _capture(
    fields: tuple[str, str, str, str | None, str | None],
    head: bytes,
    location: tuple[int, int, str],
) -> Capture:
    kind, url, date, digest, mime = fields
    status = head.partition(b"\r\n")[0].decode("latin-1").split(" ")
    if kind == "revisit":
        mime = "warc/revisit"
    elif head:
        declared = _CONTENT_TYPE.search(head)
        mime = declared[1].decode("latin-1").strip() if declared else None
    return Capture(
        url,
        date,
        _media_type(mime) if mime else None,
        status[1] if len(status) > 1 else None,
        digest,
        *location,
    )


@lru_cache(maxsize=1024)
def _media_type(content_type: str) -> str:
    return re.split(r"[;\s]", content_type.strip(), maxsplit=1)[0]


def http_head(report: FetchRecord | None, body_bytes: int | None) -> bytes:
    """
    Return a response's status line and headers, with the empty line; empty if unknown.

    Headers that describe encodings are renamed; `body_bytes`, unless None, becomes Content-Length.
    """
    if report is None or not report.status:
        return b""
    ends = [] if body_bytes is None else [f"Content-Length: {body_bytes}"]
    lines = [f"HTTP/1.1 {status_line(report.status)}"]
    lines += [f"{_archived_name(name)}: {value.strip()}" for name, value in report.headers]
    lines += [*ends, "", ""]
    text = "\r\n".join(lines)
    if not text.count("\n") == text.count("\r") == len(lines) - 1:  # a value has a line break
        headers = [f"{name}: {value}" for name, value in archived_headers(report.headers)]
        text = "\r\n".join([lines[0], *headers, *ends, "", ""])
    return text.encode("latin-1", "replace")


def archived_headers(headers: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return the headers, except that those describing encodings are renamed."""
    return [(_archived_name(name), one_line(value)) for name, value in headers]


@lru_cache(maxsize=1024)
def _archived_name(name: str) -> str:
    return f"X-Crawler-{name}" if name.lower() in ENCODING_HEADERS else name


def network_fields(
    address: str | None, tls: str | None, http_version: str | None
) -> list[tuple[str, str]]:
    """Return WARC fields about the connection."""
    protocols = _protocols(tls, http_version)
    return [("WARC-IP-Address", address), *protocols] if address else [*protocols]


@lru_cache(maxsize=64)
def _protocols(tls: str | None, http_version: str | None) -> tuple[tuple[str, str], ...]:
    version = re.fullmatch(r"TLSv(1(?:\.\d)?)", tls or "")
    protocol = ("WARC-Protocol", "h2" if http_version == "2" else "http/1.1")
    if version is None:
        return (protocol,)
    return protocol, ("WARC-Protocol", f"tls/{_tls_number(version[1])}")


@lru_cache(maxsize=1024)
def status_line(status: int) -> str:
    """Return the status line without the version, such as `200 OK`."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"{status} Unknown"


def one_line(value: str) -> str:
    """Return a header's value without line breaks, which would start a new header."""
    if "\n" in value or "\r" in value:
        value = value.replace("\n", " ").replace("\r", " ")
    return value.strip()


def iso_date(at_ms: int) -> str:
    """Return a time as a WARC-Date, in whole seconds."""
    return _date_of_second(at_ms // 1000)


@lru_cache(maxsize=4096)
def _date_of_second(at_s: int) -> str:
    """Return a second as a WARC-Date. Cached, because many pages are fetched in one second."""
    return datetime.fromtimestamp(at_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _tls_number(version: str) -> str:
    return version if "." in version else f"{version}.0"


def _fields(kind: str, page: WarcPage) -> list[tuple[str, str]]:
    report = page.report
    network = (
        [] if report is None else network_fields(report.address, report.tls, report.http_version)
    )
    return [
        ("WARC-Type", kind),
        ("WARC-Record-ID", _record_id()),
        ("WARC-Target-URI", _without_controls(page.url)),
        ("WARC-Date", iso_date(page.at_ms)),
        ("WARC-Payload-Digest", f"sha256:{page.digest}"),
        *network,
        *([(PAGES, _without_controls(" ".join(page.pages)))] if page.pages else []),
        (META, ascii_json(dict(page.meta))),
    ]


def _content_type(page: WarcPage, head: bytes) -> list[tuple[str, str]]:
    if head:
        return [("Content-Type", "application/http; msgtype=response")]
    declared = _without_controls(page.meta.get("content_type") or "")
    # `application/http` would mean that the block starts with HTTP headers.
    is_odd = not declared or declared.startswith("application/http")
    return [("Content-Type", "application/octet-stream" if is_odd else declared)]


def _without_controls(text: str) -> str:
    return text if text.isprintable() else _CONTROL.sub("", text)


def _record_id() -> str:
    """Return a random version 4 UUID, in a third of the time that `uuid` takes."""
    digits = os.urandom(16).hex()
    variant = "89ab"[int(digits[16], 16) & 3]
    return (
        f"<urn:uuid:{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{variant}{digits[17:20]}"
        f"-{digits[20:]}>"
    )
