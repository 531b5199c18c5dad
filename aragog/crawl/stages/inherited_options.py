"""Options for the URLs that a job leads to, inherited from the job's own options."""

from __future__ import annotations

from typing import Any

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.enqueue_options import EnqueueOptions


def inherited(job: UrlJob, **own: Any) -> EnqueueOptions:
    """The options of a job, with those in `own` replaced. Depth and pages are not inherited."""
    of_job = {
        "refresh": job.refresh,
        "priority": job.priority,
        "url_filter": job.url_filter,
        "request_id": job.request_id,
        "purposes": job.purposes,
        "found_on": job.traceparent,
        "crawl_number": job.crawl,
    }
    return EnqueueOptions(**{**of_job, **own})
