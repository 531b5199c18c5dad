"""
Read the pages of WARC files (ISO 28500), compressed or not.

A `response` with a status of success and a body is a page, and so is a `resource` with an http URL.
Other records are left out: requests, metadata, redirects, errors, and revisits, whose body is in
another record. Bodies are decoded as those of fetches are, and memory is bounded by one page.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import BinaryIO, NamedTuple

from aragog.crawl.fetcher.faults import Fault
from aragog.crawl.fetcher.recorded import RecordedLimits, RecordedResponse, read_recorded
from aragog.errors import InvalidUrl
from aragog.fetch_record.outcome import FetchRecord, Headers, OutcomeKind
from aragog.transfer.json_lines import BadRecord
from aragog.transfer.warc_records import BadWarc, WarcRecord, read_records
from urlspelling import normalize

_EXPORTED = "X-Crawler-"
"""Begins the names of headers that describe an encoding that the record does not have."""


class ArchivedPage(NamedTuple):
    """A page as it was fetched then."""

    fetch: FetchRecord
    body: bytes


Archived = tuple[int, ArchivedPage | BadRecord]
"""The number of a record, from 1, and its page."""


def read_warc(stream: BinaryIO, limits: RecordedLimits, *, after: int = 0) -> Iterator[Archived]:
    """
    Yield the pages of a file, and what cannot be read of it.

    Args:
        stream: the file.
        limits: of each response; a longer body is cut, and its page marked as truncated.
        after: records to skip.
    """
    for number, record in read_records(stream):
        if number <= after:
            continue
        page = BadRecord(str(record)) if isinstance(record, BadWarc) else _page(record, limits)
        if page is not None:
            yield number, page


def _page(record: WarcRecord, limits: RecordedLimits) -> ArchivedPage | BadRecord | None:
    """The page; None for a record that is left out."""
    if record.kind not in ("response", "resource"):
        return None
    url = record.fields.get("warc-target-uri", "").removeprefix("<").removesuffix(">")
    if not url:
        return BadRecord(f"a {record.kind} has no WARC-Target-URI")
    if not url.startswith(("http:", "https:")):
        return None
    try:
        normalized, at_ms = normalize(url), _instant_ms(record.fields.get("warc-date", ""))
        response = _response(record, limits)
    except InvalidUrl as error:
        return BadRecord(str(error))
    except Fault as fault:
        return BadRecord(f"{url}: {fault.reason}")
    except (OverflowError, ValueError) as error:
        return BadRecord(f"{url}: WARC-Date: {error}")
    if not 200 <= response.status < 300:
        return None
    record.skip()
    if record.is_cut_off:
        return None  # the next report says so
    return ArchivedPage(_fetched(record, normalized, at_ms, response), response.body)


def _response(record: WarcRecord, limits: RecordedLimits) -> RecordedResponse:
    if record.kind == "response":
        return read_recorded(record.read, limits)
    body = b"".join(iter(lambda: record.read(1 << 16), b"")) if record.left <= limits.body else None
    if body is None:
        return RecordedResponse(200, (), record.read(limits.body), f"cut at {limits.body} bytes")
    return RecordedResponse(200, (), body, None)


def _fetched(record: WarcRecord, url: str, at_ms: int, response: RecordedResponse) -> FetchRecord:
    headers: Headers = tuple(
        (name.removeprefix(_EXPORTED), value) for name, value in response.headers
    )
    named = {name.lower(): value for name, value in headers}
    of_record = record.fields.get("content-type") if record.kind == "resource" else None
    return FetchRecord(
        url=url,
        outcome=OutcomeKind.FETCHED,
        final_url=url,
        fetched_at_ms=at_ms,
        status=response.status,
        headers=headers,
        address=record.fields.get("warc-ip-address"),
        content_type=named.get("content-type") or of_record,
        body_bytes=len(response.body),
        truncated=response.truncated_why is not None or "warc-truncated" in record.fields,
    )


def _instant_ms(date: str) -> int:
    """The ms of a WARC-Date, which may have fractions of a second."""
    parsed = datetime.fromisoformat(date)
    return int((parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp() * 1000)
