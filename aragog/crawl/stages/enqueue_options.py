"""The options of one call to `Enqueuer.enqueue`."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from aragog.crawl.pipeline.crawl_records import ENQUEUED, REFRESHED, CrawlRecord
from aragog.crawl.pipeline.messages import AS_KEPT, PRIORITY_DEFAULT, PRIORITY_REFRESH, UrlJob


@dataclass(frozen=True, slots=True, kw_only=True)
class EnqueueOptions:
    """How to fetch the URLs."""

    depth: int = 0
    """How many levels of links to follow from each URL, within its registered domain."""
    pages: int = 0
    """The number of listing pages in a row that led to the URLs."""
    refresh: bool = False
    """Fetch a URL even if it is already stored."""
    priority: int = PRIORITY_DEFAULT
    """From 0 (most urgent) to 9."""
    run_after_ms: int | None = None
    """Earliest time of the fetch, in ms since the epoch by the producer's clock."""
    insist: bool = False
    """Send a URL again if it has been in flight for an hour, because its message may be lost."""
    sitemap: bool = False
    """The URLs are sitemaps. Their entries are enqueued, through `depth` levels of sitemaps."""
    in_walk: bool = False
    """True if a sitemap listed these sitemaps. If False, they start a walk through their sites."""
    file: bool = False
    """The URLs are files of items, such as images (`UrlJob.file`)."""
    url_filter: str = ""
    """Which links and sitemap entries are followed, in the format of `UrlFilter.wire`."""
    request_id: str = ""
    """ID of this call in the logs of all stages. If empty, a new one of 8 characters is created."""
    caller: str = ""
    """The W3C `traceparent` of the enqueuing span. If empty, the current span, if any, is used."""
    purposes: str | None = None
    """The crawl's purposes (`UrlJob.purposes`). None means those in the workers' settings."""
    found_on: str = ""
    """The `traceparent` of the page that lists the URLs. Their traces link to it."""
    crawl: str = ""
    """The crawl that wants the URLs. If empty, `crawl_number` decides."""
    crawl_number: int = ENQUEUED
    """The crawl number of the page that lists the URLs."""

    def for_jobs(self) -> dict[str, Any]:
        """Return the options that the URLs' jobs inherit."""
        return {name: getattr(self, name) for name in _JOB_OPTIONS}

    def for_seeds(self) -> dict[str, Any]:
        """Return the options to store with a crawl's seeds, for its later rounds."""
        return {name: getattr(self, name) for name in _SEED_OPTIONS}

    def for_crawl(self, crawl: CrawlRecord) -> EnqueueOptions:
        """Return the options for seeds. Unset options are taken from the crawl."""
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
"""The refresh schedule's options for reading sitemaps and feeds again."""

_JOB_OPTIONS = (
    {option.name for option in fields(EnqueueOptions)} & {job.name for job in fields(UrlJob)}
) - {"crawl"}
_SEED_OPTIONS = ("depth", "priority", "sitemap", "url_filter", "purposes")
