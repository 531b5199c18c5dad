"""
Read the pages of WARC files (ISO 28500), compressed or not, with warcio.

A `response` with a status of success and a body is a page, and so is a `resource` with an http URL.
Other records are left out: requests, metadata, redirects, errors, and revisits, whose body is in
another record. Memory is bounded by one page.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, BinaryIO, NamedTuple

from warcio.archiveiterator import ArchiveIterator
from warcio.exceptions import ArchiveLoadFailed

from aragog.errors import InvalidUrl
from aragog.fetcher.outcome import FetchRecord, Headers, OutcomeKind
from aragog.transfer.json_lines import BadRecord
from aragog.urls.normalize import normalize

_EXPORTED = "X-Crawler-"
"""Begins the names of headers that describe an encoding that the record does not have."""


class ArchivedPage(NamedTuple):
    """A page as it was fetched then."""

    fetch: FetchRecord
    body: bytes


Archived = tuple[int, ArchivedPage | BadRecord]
"""The number of a record, from 1, and its page."""


def read_warc(stream: BinaryIO, *, max_body_bytes: int, after: int = 0) -> Iterator[Archived]:
    """
    Yield the pages of a file.

    Args:
        stream: the file.
        max_body_bytes: a longer body is cut, and its page marked as truncated.
        after: records to skip.
    """
    number = 0
    records = ArchiveIterator(stream)
    try:
        for number, record in enumerate(records, 1):
            if number > after and (page := _page(record, max_body_bytes)) is not None:
                yield number, page
    except (ArchiveLoadFailed, EOFError, OSError, ValueError) as error:
        yield number + 1, BadRecord(f"the file ends here: {error}")


def _page(record: Any, max_body_bytes: int) -> ArchivedPage | BadRecord | None:
    """The page; None for a record that is left out."""
    url = record.rec_headers.get_header("WARC-Target-URI") or ""
    if record.rec_type not in ("response", "resource") or not url.startswith(("http:", "https:")):
        return None
    status = _status(record)
    if status is None or not 200 <= status < 300:
        return None
    try:
        normalized = normalize(url)
        at_ms = _instant_ms(record.rec_headers.get_header("WARC-Date") or "")
        body = _read(record.content_stream(), max_body_bytes + 1)
        if len(body) <= max_body_bytes and _is_cut_off(record):
            return BadRecord(f"{url}: the file ends within this record")
    except InvalidUrl as error:
        return BadRecord(str(error))
    except Exception as error:  # noqa: BLE001 - each decoder has errors of its own
        return BadRecord(f"{url}: {type(error).__name__}: {error}")
    headers = _headers(record)
    named = {name.lower(): value for name, value in headers}
    fetch = FetchRecord(
        url=normalized,
        outcome=OutcomeKind.FETCHED,
        final_url=normalized,
        fetched_at_ms=at_ms,
        status=status,
        headers=headers,
        address=record.rec_headers.get_header("WARC-IP-Address"),
        content_type=named.get("content-type") or _content_type(record),
        body_bytes=min(len(body), max_body_bytes),
        truncated=len(body) > max_body_bytes or "WARC-Truncated" in record.rec_headers,
    )
    return ArchivedPage(fetch, body[:max_body_bytes])


def _read(stream: Any, most: int) -> bytes:
    """Up to `most` bytes; one call of warcio's `read` returns what it has decoded."""
    parts: list[bytes] = []
    while most > 0 and (part := stream.read(most)):
        parts.append(part)
        most -= len(part)
    return b"".join(parts)


def _is_cut_off(record: Any) -> bool:
    """Whether bytes of the record are missing; warcio reads on as if they were not promised."""
    left = getattr(record.raw_stream, "limit", 0)
    return left > 0 and not record.raw_stream.read(1)


def _status(record: Any) -> int | None:
    if record.rec_type == "resource":
        return 200
    code = record.http_headers.get_statuscode() if record.http_headers else ""
    return int(code) if code.isdigit() else None


def _headers(record: Any) -> Headers:
    if record.http_headers is None:
        return ()
    return tuple(
        (name.removeprefix(_EXPORTED), value) for name, value in record.http_headers.headers
    )


def _content_type(record: Any) -> str | None:
    value = record.rec_headers.get_header("Content-Type")
    return str(value) if record.rec_type == "resource" and value else None


def _instant_ms(date: str) -> int:
    """The ms of a WARC-Date, which may have fractions of a second."""
    parsed = datetime.fromisoformat(date)
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)
