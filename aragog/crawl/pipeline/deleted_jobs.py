"""
Removes the URLs of deleted jobs from the in-flight set, so that they can be enqueued again.

pinlater calls this before it deletes jobs: in `aragog queue purge` and `delete`, `celery purge`,
and `app.control.purge()`. Idempotent. If a deleted job runs anyway, its URLs may be fetched twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, suppress

from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.producer_messages import urls_in
from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.errors import InvalidMessage
from aragog.settings.in_use import process_settings
from pinlater.envelope import arguments
from pinlater.models import JobInfo
from pinlater.redis.connect import connect


def urls_in_jobs(jobs: Sequence[JobInfo]) -> list[str]:
    """Return the URLs in these jobs. Unreadable messages are skipped."""
    urls: list[str] = []
    for job in jobs:
        with suppress(InvalidMessage):
            urls += [url for message in arguments(job.body) for url in urls_in(message)]
    return urls


def clear_in_flight(_queue: str, jobs: Sequence[JobInfo]) -> None:
    """
    Remove the URLs in these jobs from the in-flight set of the configured Redis.

    Raises:
        BrokerUnavailable: Redis did not respond.
    """
    settings = process_settings().resolved()
    shared = settings.redis
    with closing(RedisNodes.connect((shared.url, *shared.nodes), connect)) as nodes:
        InFlightSet(nodes, prefix=shared.prefix).clear(urls_in_jobs(jobs))
