"""Convert the fetcher's outcomes to the results that messages carry."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace

from aragog.fetcher.outcome import Fetched, Outcome, OutcomeKind, Refused, kind_of
from aragog.pipeline.kept_headers import kept_headers, kept_hops
from aragog.pipeline.messages import FetchResult, UrlJob
from aragog.urlstore.content.compression import compress


@dataclass(frozen=True, slots=True)
class PackedBody:
    """A fetched body in the form in which the spool stores it."""

    blob: bytes
    """Compressed."""
    sha256: str
    """Of the body before compression, hex."""
    length_bytes: int
    """Before compression."""


def pack(body: bytes) -> PackedBody:
    """The body compressed, with its hash and size."""
    return PackedBody(compress(body), hashlib.sha256(body).hexdigest(), len(body))


def result_of(
    job: UrlJob, outcome: Outcome, token: str | None = None, body: PackedBody | None = None
) -> FetchResult:
    """The result of an outcome; `token` names its body in the spool."""
    result = FetchResult(
        job=job,
        outcome=kind_of(outcome),
        final_url=outcome.final_url or outcome.url,
        status=outcome.status,
        headers=kept_headers(outcome.headers),
        hops=kept_hops(outcome.hops),
        fetched_at_ms=outcome.fetched_at_ms,
        dns_ms=_tenths(outcome.timing.dns_ms),
        connect_ms=_tenths(outcome.timing.connect_ms),
        first_byte_ms=_tenths(outcome.timing.first_byte_ms),
        total_ms=round(outcome.timing.total_ms, 1),
        address=outcome.address,
        tls=outcome.tls,
        reason=getattr(outcome, "reason", None),
        taken_down=isinstance(outcome, Refused) and outcome.taken_down,
    )
    if not isinstance(outcome, Fetched) or body is None:
        return result
    return replace(
        result,
        token=token,
        body_hash=body.sha256,
        body_bytes=body.length_bytes,
        content_type=outcome.content_type,
        truncated=outcome.truncated,
    )


def _tenths(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 1)


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
