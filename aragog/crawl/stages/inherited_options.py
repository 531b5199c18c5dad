"""The options that links and other URLs found by a job inherit from it."""

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
"""Each option that links inherit, and the field of the job with its value."""


def inherited(job: UrlJob, **overrides: Any) -> EnqueueOptions:
    """
    Return the options of a job, with those in `overrides` replaced.
    Depth and pages are not inherited.
    """
    from_job = {option: getattr(job, field) for option, field in INHERITED.items()}
    return EnqueueOptions(**{**from_job, **overrides})
