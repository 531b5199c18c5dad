"""The options that links and other found URLs inherit from a job."""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.enqueue_options import EnqueueOptions

INHERITED = {
    "refresh": "refresh",
    "priority": "priority",
    "url_filter": "url_filter",
    "request_id": "request_id",
    "purposes": "purposes",
    "found_on": "traceparent",
    "crawl_number": "crawl",
}
"""The inherited options, each with the job field that it comes from."""


def inherit_options(job: UrlJob, **overrides: Any) -> EnqueueOptions:
    """Return a job's options, with `overrides` applied. Depth and pages are not inherited."""
    from_job = {option: getattr(job, field) for option, field in INHERITED.items()}
    return EnqueueOptions(**{**from_job, **overrides})
