"""Options that decide how the URLs of one call to `Enqueuer.enqueue` are fetched."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from aragog.crawl.pipeline.crawl_records import ENQUEUED, REFRESHED, CrawlRecord
from aragog.crawl.pipeline.messages import AS_KEPT, PRIORITY_DEFAULT, PRIORITY_REFRESH, UrlJob


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueOptions:
    """How to fetch the URLs of one call."""

    depth: int = 0
    """How many levels of links to follow from each URL, within its registered domain."""
    pages: int = 0
    """How many listing pages in a row led to the URLs."""
    refresh: bool = False
    """Fetch a URL even if it is already stored."""
    priority: int = PRIORITY_DEFAULT
    """From 0 (most urgent) to 9."""
    run_after_ms: int | None = None
    """Earliest time of the fetch, in ms since the epoch by the producer's clock."""
    insist: bool = False
    """Send a URL again if it has been in flight for an hour, because its message may be lost."""
    sitemap: bool = False
    """The URLs are sitemaps. The URLs that they list are enqueued, through `depth` levels of
    sitemaps."""
    in_walk: bool = False
    """True if a sitemap listed these sitemaps. If False, they start a walk through their sites."""
    file: bool = False
    """The URLs are items' files (`UrlJob.file`)."""
    url_filter: str = ""
    """Which links and sitemap entries are followed: `UrlFilter.wire`."""
    request_id: str = ""
    """ID of this call in the logs of all stages. If empty, a new ID of 8 characters is created."""
    caller: str = ""
    """The W3C `traceparent` of the enqueuing span. If empty, the current span is used, if there is
    one."""
    purposes: str | None = None
    """The purposes of the crawl (`UrlJob.purposes`); None for those in the workers' settings."""
    found_on: str = ""
    """The `traceparent` of the page that lists the URLs. Their traces link to it."""
    crawl: str = ""
    """The name of the crawl that wants the URLs. If empty, `crawl_number` decides."""
    crawl_number: int = ENQUEUED
    """The crawl number of the page that lists the URLs."""

    def for_jobs(self) -> dict[str, Any]:
        """Return the options that are copied into the jobs of the URLs."""
        return {name: getattr(self, name) for name in _JOB_OPTIONS}

    def for_seeds(self) -> dict[str, Any]:
        """Return the options that are stored with a crawl's seeds, for its later rounds."""
        return {name: getattr(self, name) for name in _SEED_OPTIONS}

    def for_crawl(self, crawl: CrawlRecord) -> EnqueueOptions:
        """
        Return the options for seeds.
        Options that the call did not set are taken from its crawl.
        """
        if not self.crawl:
            return self
        is_default = self.priority == PRIORITY_DEFAULT
        return replace(
            self,
            depth=self.depth if self.sitemap else self.depth or crawl.depth,
            priority=crawl.priority if is_default else self.priority,
            purposes=crawl.purposes if self.purposes is None else self.purposes,
        )


SOURCE_OPTIONS = EnqueueOptions(
    depth=1,
    refresh=True,
    sitemap=True,
    priority=PRIORITY_REFRESH,
    purposes=AS_KEPT,
    crawl_number=REFRESHED,
)
"""The options with which the refresh schedule reads sitemaps and feeds again."""

_JOB_OPTIONS = (
    {option.name for option in fields(EnqueueOptions)} & {job.name for job in fields(UrlJob)}
) - {"crawl"}
_SEED_OPTIONS = ("depth", "priority", "sitemap", "url_filter", "purposes")
