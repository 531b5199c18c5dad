"""From the fetcher's outcomes to the messages' answers."""

from __future__ import annotations

import hashlib
from typing import Any

from aragog.fetcher.outcome import Fetched, Outcome
from aragog.pipeline.messages import FetchResult, UrlJob
from aragog.pipeline.services import Services

# What later stages read. The others would cost space in every message.
KEPT_HEADERS = frozenset({
    "content-type", "etag", "last-modified", "link", "cache-control", "expires", "x-robots-tag",
    "content-language", "retry-after", "location", "date", "age",
})  # fmt: skip


def result_of(job: UrlJob, outcome: Outcome, token: str | None = None) -> FetchResult:
    """The answer for an outcome; `token` is where its body waits."""
    body: dict[str, Any] = {}
    if isinstance(outcome, Fetched):
        body = {
            "token": token,
            "body_hash": hashlib.sha256(outcome.body).hexdigest(),
            "body_bytes": len(outcome.body),
            "content_type": outcome.content_type,
            "truncated": outcome.truncated,
        }
    return FetchResult(
        job=job,
        kind=type(outcome).__name__,
        final_url=outcome.final_url or outcome.url,
        status=outcome.status,
        headers=tuple((k, v) for k, v in outcome.headers if k.lower() in KEPT_HEADERS),
        hops=outcome.hops,
        fetched_at_ms=outcome.fetched_at_ms,
        total_ms=round(outcome.timing.total_ms, 1),
        address=outcome.address,
        why=getattr(outcome, "why", None),
        **body,
    )


def without_fetch(cls: type[Any], job: UrlJob, services: Services, **what: Any) -> FetchResult:
    """The answer for a URL that was not asked at all: an outcome of class `cls`."""
    outcome = cls(
        url=job.url,
        final_url=job.next_url,
        hops=job.hops,
        fetched_at_ms=services.clock.now_ms(),
        **what,
    )
    return result_of(job, outcome)
