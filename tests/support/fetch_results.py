"""Results of fetches, as passed between stages."""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind

OWN = ("token", "body_hash", "needs_dictionary", "taken_down")


def fetch_result(
    job: UrlJob, outcome: OutcomeKind = OutcomeKind.FETCHED, **values: Any
) -> FetchResult:
    """Return the result of a job. `values` are fields of its record, or its own."""
    own = {name: values.pop(name) for name in OWN if name in values}
    values.setdefault("final_url", job.url)
    record = FetchRecord(url=job.url, outcome=outcome, attempts=job.attempt + 1, **values)
    return FetchResult(job=job, fetch=record, **own)
