"""Convert the fetcher's outcomes to the results that messages carry."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

from aragog.fetcher.outcome import (
    RECORD_FIELDS,
    Fetched,
    FetchRecord,
    Outcome,
    OutcomeKind,
    Refused,
)
from aragog.pipeline.kept_headers import kept_headers, kept_hops
from aragog.pipeline.messages import FetchResult, UrlJob
from aragog.urlstore.compression import compress

LATENCIES = [name for name in RECORD_FIELDS if name.endswith("_ms") and name != "fetched_at_ms"]


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
    record = FetchRecord.of(outcome)
    kept = body if isinstance(outcome, Fetched) else None
    tenths: dict[str, Any] = {name: _tenths(getattr(record, name)) for name in LATENCIES}
    return FetchResult(
        job=job,
        fetch=replace(
            record,
            url=job.url,
            final_url=outcome.final_url or outcome.url,
            attempts=job.attempt + 1,
            headers=kept_headers(outcome.headers),
            hops=kept_hops(outcome.hops),
            body_bytes=kept.length_bytes if kept else 0,
            **tenths,
        ),
        token=token if kept else None,
        body_hash=kept.sha256 if kept else None,
        taken_down=isinstance(outcome, Refused) and outcome.taken_down,
    )


def _tenths(ms: float | None) -> float | None:
    return None if ms is None else round(ms, 1)


def without_fetch(job: UrlJob, outcome: OutcomeKind, reason: str, now_ms: int) -> FetchResult:
    """The result of a URL that was not requested at all."""
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
        ),
    )
