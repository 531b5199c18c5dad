"""Byte streams that arrive in pieces, whose size must not matter to readers."""

from __future__ import annotations

from collections.abc import Iterator

from aragog.crawl.fetcher.http1.reader import ResponseReader
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.fetch_record.outcome import OutcomeKind
from tests.support.fetch_results import fetch_result


def pieces_of(data: bytes, size: int) -> Iterator[bytes]:
    """Return `data` in pieces of `size` bytes."""
    return (data[at : at + size] for at in range(0, len(data), size))


def channel_of(data: bytes, size: int = 65_536) -> ResponseReader:
    """Return a reader that receives `data` in pieces of `size` bytes, then the end."""
    arriving = pieces_of(data, size)
    return ResponseReader(lambda: next(arriving, b""))


def html_result(url: str) -> FetchResult:
    """Return the result of fetching an HTML page."""
    return fetch_result(
        job=UrlJob(url=url), outcome=OutcomeKind.FETCHED, final_url=url, status=200,
        content_type="text/html",
    )  # fmt: skip
