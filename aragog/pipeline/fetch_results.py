"""From the fetcher's outcomes to the results in messages."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from aragog.fetcher.outcome import Fetched, Outcome, OutcomeKind, kind_of
from aragog.pipeline.messages import FetchResult, UrlJob

# What later stages read. The others would cost space in every message.
KEPT_HEADERS = frozenset({
    "content-type", "etag", "last-modified", "link", "cache-control", "expires", "x-robots-tag",
    "content-language", "retry-after", "location", "date", "age",
})  # fmt: skip


def result_of(job: UrlJob, outcome: Outcome, token: str | None = None) -> FetchResult:
    """The result of an outcome; `token` names its body in the spool."""
    result = FetchResult(
        job=job,
        outcome=kind_of(outcome),
        final_url=outcome.final_url or outcome.url,
        status=outcome.status,
        headers=tuple((k, v) for k, v in outcome.headers if k.lower() in KEPT_HEADERS),
        hops=outcome.hops,
        fetched_at_ms=outcome.fetched_at_ms,
        total_ms=round(outcome.timing.total_ms, 1),
        address=outcome.address,
        reason=getattr(outcome, "reason", None),
    )
    if not isinstance(outcome, Fetched):
        return result
    return replace(
        result,
        token=token,
        body_hash=hashlib.sha256(outcome.body).hexdigest(),
        body_bytes=len(outcome.body),
        content_type=outcome.content_type,
        truncated=outcome.truncated,
    )


def without_fetch(job: UrlJob, outcome: OutcomeKind, reason: str, now_ms: int) -> FetchResult:
    """The result of a URL that was not requested at all."""
    return FetchResult(
        job=job,
        outcome=outcome,
        final_url=job.next_url,
        hops=job.hops,
        fetched_at_ms=now_ms,
        reason=reason,
    )
