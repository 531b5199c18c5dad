"""
Converts the fetcher's outcomes to the results in messages.

Response headers are kept in order, up to a limit. Most responses have 1 to 2 KB of headers, but
some sites send 60 KB. Headers that later stages read are always kept. Cookie values are removed,
because whoever reads the store, a WARC export or the API must not be able to use the crawler's
sessions. Cookies' names and attributes are kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.pipeline.packed_body import PackedBody
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import (
    RECORD_FIELDS,
    Fetched,
    FetchRecord,
    Headers,
    Hop,
    Outcome,
    OutcomeKind,
    Refused,
)

LATENCIES = [name for name in RECORD_FIELDS if name.endswith("_ms") and name != "fetched_at_ms"]


def make_result(
    job: UrlJob, outcome: Outcome, token: str | None = None, body: PackedBody | None = None
) -> FetchResult:
    """Return the result for an outcome. `token` is the spool token of its body."""
    stored_body = body if isinstance(outcome, Fetched) else None
    latencies: dict[str, Any] = {name: _round_ms(getattr(outcome, name)) for name in LATENCIES}
    return FetchResult(
        job=job,
        fetch=FetchRecord.of(
            outcome,
            url=job.url,
            final_url=outcome.final_url or outcome.url,
            attempts=job.attempt + 1,
            headers=select_headers(outcome.headers),
            hops=trim_hops(outcome.hops),
            body_bytes=stored_body.length_bytes if stored_body else 0,
            **latencies,
        ),
        token=token if stored_body else None,
        body_hash=stored_body.sha256 if stored_body else None,
        needs_dictionary=stored_body.needs_dictionary if stored_body else False,
        taken_down=isinstance(outcome, Refused) and outcome.cause is RefusalCause.TAKEN_DOWN,
    )


def _round_ms(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 1)


def result_without_fetch(
    job: UrlJob, outcome: OutcomeKind, reason: str, now_ms: int, *, cause: str | None = None
) -> FetchResult:
    """Return the result for a URL that was not requested."""
    return FetchResult(
        job=job,
        fetch=FetchRecord(
            url=job.url,
            outcome=outcome,
            final_url=job.next_url,
            attempts=job.attempt + 1,
            hops=job.hops,
            fetched_at_ms=now_ms,
            reason=reason,
            cause=cause,
        ),
    )


NEEDED_HEADERS = frozenset({
    "content-type", "etag", "last-modified", "link", "cache-control", "expires", "x-robots-tag",
    "content-language", "retry-after", "location", "date", "age", "crawler-price",
    "content-usage", "content-signal", "tdm-reservation", "tdm-policy",
})  # fmt: skip
"""Headers that later stages read."""
COOKIE_HEADERS = frozenset({"set-cookie", "set-cookie2"})
MAX_HEADER_BYTES = 16_384
"""Limit on the names and values of the final response's headers, in characters (Latin-1)."""
MAX_HOP_BYTES = 4_096
"""Limit for each redirect. A fetch may have ten redirects."""


def select_headers(headers: Headers, max_bytes: int = MAX_HEADER_BYTES) -> Headers:
    """Return the headers to keep. If a header does not fit, smaller ones after it may still fit."""
    free_bytes = max_bytes - sum(
        len(name) + len(value) for name, value in headers if name.lower() in NEEDED_HEADERS
    )
    selected: list[tuple[str, str]] = []
    for name, value in headers:
        lower_name = name.lower()
        if lower_name in NEEDED_HEADERS:
            selected.append((name, value))
            continue
        safe_value = _remove_cookie_value(value) if lower_name in COOKIE_HEADERS else value
        size = len(name) + len(safe_value)
        if size <= free_bytes:
            free_bytes -= size
            selected.append((name, safe_value))
    return tuple(selected)


def trim_hops(hops: Sequence[Hop]) -> tuple[Hop, ...]:
    """Return the redirects with rounded latencies and only the headers to keep. Idempotent."""
    return tuple(
        replace(
            hop,
            headers=select_headers(hop.headers, MAX_HOP_BYTES),
            latency_ms=None if hop.latency_ms is None else round(hop.latency_ms, 1),
        )
        for hop in hops
    )


def _remove_cookie_value(cookie: str) -> str:
    """Return `name=secret; Path=/` as `name=; Path=/`."""
    pair, semicolon, attributes = cookie.partition(";")
    return f"{pair.partition('=')[0]}={semicolon}{attributes}"
