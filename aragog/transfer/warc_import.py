"""
Read the pages of WARC files (ISO 28500), compressed or not.

A `response` with a success status and a body is a page, and so is a `resource` with an HTTP URL.
Other records are skipped: requests, metadata, redirects, errors, and revisits (whose body is in
another record). Bodies are decoded like those of fetches. Memory is bounded by one page.

Data that is not a record is reported, and reading continues at the next line that starts a record.
A damaged record does not affect the others.
"""

from __future__ import annotations

import gzip
import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import BinaryIO, NamedTuple, cast

from aragog.crawl.fetcher.faults import Fault
from aragog.crawl.fetcher.recorded import RecordedLimits, RecordedResponse, read_recorded
from aragog.errors import InvalidUrl
from aragog.fetch_record.outcome import FetchRecord, Headers, OutcomeKind
from aragog.transfer.json_lines import BadRecord
from aragog.transfer.lines import DAMAGE_ERRORS, bounded_line
from urlspelling import normalize

_EXPORT_PREFIX = "X-Crawler-"
"""Prefix of headers that describe the original encoding; the record's body is decoded."""


class ArchivedPage(NamedTuple):
    """A page as it was captured."""

    fetch: FetchRecord
    body: bytes


NumberedPage = tuple[int, ArchivedPage | BadRecord]
"""A record number, from 1, and its page."""


def read_warc(
    stream: BinaryIO, limits: RecordedLimits, *, after: int = 0
) -> Iterator[NumberedPage]:
    """
    Yield a file's pages, and a report for each unreadable part.

    Args:
        stream: the file.
        limits: limits for each response. A longer body is truncated, and its page is marked as
            truncated.
        after: number of records to skip.
    """
    for number, record in read_records(stream):
        if number <= after:
            continue
        page = BadRecord(str(record)) if isinstance(record, BadWarc) else _to_page(record, limits)
        if page is not None:
            yield number, page


def _to_page(record: WarcRecord, limits: RecordedLimits) -> ArchivedPage | BadRecord | None:
    if record.kind not in ("response", "resource"):
        return None
    url = record.fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    if not url:
        return BadRecord(f"a {record.kind} record has no WARC-Target-URI")
    if not url.startswith(("http:", "https:")):
        return None
    try:
        normalized, at_ms = normalize(url), _date_to_ms(record.fields.get("warc-date", ""))
        response = _read_response(record, limits)
    except InvalidUrl as error:
        return BadRecord(str(error))
    except Fault as fault:
        return BadRecord(f"{url}: {fault.reason}")
    except (OverflowError, ValueError) as error:
        return BadRecord(f"{url}: WARC-Date: {error}")
    if not 200 <= response.status < 300:
        return None
    record.skip()
    if record.is_truncated:
        return None  # the next item reports it
    return ArchivedPage(_fetch_record(record, normalized, at_ms, response), response.body)


def _read_response(record: WarcRecord, limits: RecordedLimits) -> RecordedResponse:
    if record.kind == "response":
        return read_recorded(record.read, limits)
    body = (
        b"".join(iter(lambda: record.read(1 << 16), b""))
        if record.remaining_bytes <= limits.body
        else None
    )
    if body is None:
        return RecordedResponse(200, (), record.read(limits.body), f"cut at {limits.body} bytes")
    return RecordedResponse(200, (), body, None)


def _fetch_record(
    record: WarcRecord, url: str, at_ms: int, response: RecordedResponse
) -> FetchRecord:
    headers: Headers = tuple(
        (name.removeprefix(_EXPORT_PREFIX), value) for name, value in response.headers
    )
    values = {name.lower(): value for name, value in headers}
    declared_type = record.fields.get("content-type") if record.kind == "resource" else None
    return FetchRecord(
        url=url,
        outcome=OutcomeKind.FETCHED,
        final_url=url,
        fetched_at_ms=at_ms,
        status=response.status,
        headers=headers,
        address=record.fields.get("warc-ip-address"),
        content_type=values.get("content-type") or declared_type,
        body_bytes=len(response.body),
        truncated=response.truncated_why is not None or "warc-truncated" in record.fields,
    )


def _date_to_ms(date: str) -> int:
    """Convert a WARC-Date, which may have fractions of a second, to ms."""
    parsed = datetime.fromisoformat(date)
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)


MAX_HEADER_BYTES = 65_536
_SKIPPED_BYTES = 65_536
_VERSION = re.compile(rb"WARC/\d\.\d+\s*$")
_GZIP = b"\x1f\x8b"


class BadWarc(ValueError):
    """A part of the file is not a record. It is yielded, never raised to callers."""


@dataclass(slots=True)
class WarcRecord:
    """One record. Read its block before the next record."""

    fields: Mapping[str, str]
    """The first value of each named field, by lower-case name."""
    remaining_bytes: int
    """Unread bytes of the block."""
    _stream: BinaryIO

    @property
    def kind(self) -> str:
        """The WARC-Type: `response`, `resource`, ..."""
        return self.fields.get("warc-type", "")

    @property
    def is_truncated(self) -> bool:
        """True if the file ends or is damaged inside the block; only valid after reading it."""
        return self.remaining_bytes > 0

    def read(self, max_bytes: int) -> bytes:
        """Return at most `max_bytes` of the block; b"" at its end or if it is damaged."""
        data = b""
        with suppress(*DAMAGE_ERRORS):
            data = (
                self._stream.read(min(max_bytes, self.remaining_bytes))
                if self.remaining_bytes
                else b""
            )
        self.remaining_bytes -= len(data)
        return data

    def skip(self) -> None:
        """Skip the rest of the block."""
        while self.remaining_bytes and self.read(_SKIPPED_BYTES):
            pass


def read_records(stream: BinaryIO) -> Iterator[tuple[int, WarcRecord | BadWarc]]:
    """
    Yield a file's records, and parts that are not records, numbered from 1.

    The stream stays open. If the file is damaged or truncated, the last item reports that.
    """
    buffered = stream if isinstance(stream, io.BufferedReader) else _buffered(stream)
    is_compressed = buffered.peek(2)[:2] == _GZIP
    source = cast("BinaryIO", gzip.GzipFile(fileobj=buffered)) if is_compressed else buffered
    number = 0
    try:
        for record in _parse_records(source):
            number += 1
            yield number, record
    except DAMAGE_ERRORS as error:
        yield number + 1, BadWarc(f"the file ends here: {error}")


def _buffered(stream: BinaryIO) -> io.BufferedReader:
    return io.BufferedReader(cast("io.RawIOBase", stream))


def _parse_records(stream: BinaryIO) -> Iterator[WarcRecord | BadWarc]:
    is_skipping = False
    while version := _next_line(stream):
        if not _VERSION.match(version):
            if not is_skipping:
                yield BadWarc("is not a record; skipping to the next one")
            is_skipping = True
            continue
        try:
            fields = _read_fields(stream)
            record = WarcRecord(fields, _content_length(fields), stream)
        except BadWarc as problem:
            yield problem
            is_skipping = True
            continue
        is_skipping = False
        yield record
        record.skip()
        if record.is_truncated:
            yield BadWarc("the file ends within the previous record, or is damaged there")
            return


def _next_line(stream: BinaryIO) -> bytes:
    while (line := bounded_line(stream, MAX_HEADER_BYTES)[0]) and not line.strip():
        pass
    return line


def _read_fields(stream: BinaryIO) -> dict[str, str]:
    fields: dict[str, str] = {}
    name, remaining = "", MAX_HEADER_BYTES
    while (line := stream.readline(remaining + 1)).strip():
        remaining -= len(line)
        if remaining < 0:
            raise BadWarc(f"has headers of more than {MAX_HEADER_BYTES:,} bytes")
        text = line.decode("utf-8", "surrogateescape").rstrip("\r\n")
        if text[0] in " \t" and name:
            fields[name] = f"{fields[name]} {text.strip()}"
            continue
        name, _, value = text.partition(":")
        name = name.strip().lower()
        fields.setdefault(name, value.strip())
    return fields


def _content_length(fields: Mapping[str, str]) -> int:
    length = fields.get("content-length", "")
    if not (length.isascii() and length.isdigit() and len(length) < 19):
        raise BadWarc(f"has no valid Content-Length: {length[:40]!r}")
    return int(length)
