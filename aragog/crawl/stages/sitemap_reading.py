"""
Reads sitemaps and feeds, to enqueue their pages and to refresh changed pages earlier.

When a user enqueues a sitemap, aragog reads it and all sitemaps that it lists, each once, and
enqueues their pages. This is called a walk (`aragog.crawl.pipeline.sitemap_walks`). Later, the
refresh schedule reads each file again, only to refresh changed pages earlier
(`aragog.urlstore.change_signals`).

It is safe to run twice: queued URLs and URLs fetched since their lastmod are skipped, and the same
content leads to the same refreshes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from aragog.crawl.pipeline.messages import PRIORITY_REFRESH, FetchResult, UrlJob
from aragog.crawl.pipeline.ports import Walks
from aragog.crawl.pipeline.sitemap_walks import Walk, WalkSize
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.inherited_options import inherit_options
from aragog.crawl.stages.page_limits import limit_resources
from aragog.crawl.stages.page_reading import SourceReading
from aragog.crawl.stages.page_scope import read_url_filter, scope_filter
from aragog.crawl.stages.revalidation import is_scheduled_reading
from aragog.observability.instruments import SOURCE_READINGS
from aragog.pages import sitemaps
from aragog.pages.sitemaps import SitemapUrl
from aragog.runtime.clock import Clock
from aragog.settings import Settings
from aragog.urlstore.change_signals import Reading
from aragog.urlstore.signal_sources import SOURCES
from aragog.urlstore.store import UrlStore
from aragog.urlstore.usual_intervals import FEED, SITEMAP
from urlspelling.domain import registered_domain

log = logging.getLogger(__name__)
T = TypeVar("T")
MAX_NEW_FILES = 50
"""How many new child sitemaps, newest first, are added each time the refresh schedule reads a
sitemap index again."""
_WITH_SIGNALS, _WITHOUT_SIGNALS, _UNCHANGED = map(SOURCE_READINGS.labels, SOURCE_READINGS.values)


@dataclass(frozen=True, slots=True)
class SitemapEnqueuer:
    """Handles the entries of sitemaps and feeds."""

    enqueuer: Enqueuer
    store: UrlStore
    settings: Settings
    walks: Walks
    clock: Clock
    chunk_size: int = 500
    """How many entries one lookup in the store covers."""
    checks: CrawlChecks = field(default_factory=CrawlChecks)

    def read(self, result: FetchResult, body: bytes) -> SourceReading:
        """
        Read a sitemap or feed and handle its entries.

        Enqueues entries on the sitemap's own registered domain that are not stored, or whose
        lastmod is later than their fetch. If the refresh schedule requested the file, no pages are
        enqueued. In both cases, changed pages are refreshed earlier.

        Raises:
            PageTooExpensive, MemoryError: parsing exceeds the CPU or memory limit for a page.
        """
        settings, job = self.settings.pipeline, result.job
        if is_scheduled_reading(job) and (kind := self._kind_if_unchanged(result)):
            self.record_unchanged([result])
            return SourceReading(0, kind)
        with limit_resources(settings.page_max_cpu_s, settings.page_max_memory_bytes):
            sitemap = sitemaps.parse(body, result.fetch.final_url, result.fetch.content_type)
        kind = FEED if sitemap.is_feed else SITEMAP
        domain = registered_domain(result.fetch.final_url)
        listed = [entry for entry in sitemap.urls if registered_domain(entry.url) == domain]
        children = [c for c in sitemap.children if registered_domain(c.url) == domain]
        reading = self.store.signals.reading(
            listed, kind=kind, fetched_at_ms=result.fetch.fetched_at_ms, sender=job.url
        )
        if is_scheduled_reading(job):
            for start in range(0, len(listed), self.chunk_size):
                reading.take(listed[start : start + self.chunk_size])
            enqueued = self._enqueue_new_children(result, children) if job.depth > 0 else 0
        else:
            enqueued = self._enqueue_walk(result, listed, children, reading)
        reading.close()
        (_WITH_SIGNALS if reading.signal_count else _WITHOUT_SIGNALS).add()
        return SourceReading(enqueued, kind, reading.signal_count)

    def _kind_if_unchanged(self, result: FetchResult) -> str | None:
        """Return `sitemap` or `feed` if the file has not changed since it was read, or None."""
        state = self.store.schedule.refresh_state(result.job.url)
        is_unchanged = state is not None and state.body_hash == (result.body_hash or "-")[:16]
        return state.page_type if state and is_unchanged and state.page_type in SOURCES else None

    def _enqueue_walk(
        self,
        result: FetchResult,
        listed: Sequence[SitemapUrl],
        children: Sequence[SitemapUrl],
        reading: Reading,
    ) -> int:
        """Enqueue the child sitemaps and pages listed in a walk's file. Returns how many."""
        job, url = result.job, result.fetch.final_url
        url_filter, is_in_scope = (
            read_url_filter(job),
            scope_filter(self.checks.get_crawl(job).scope, url),
        )
        entries = [e for e in listed if url_filter.accepts(e.url) and is_in_scope(e.url)]
        walk = Walk(job.request_id, registered_domain(url))
        size = self.walks.record_read(walk, [job.url, url], len(entries))
        child_urls = [child.url for child in children]
        child_count = self._enqueue_children(job, walk, size, child_urls) if job.depth > 0 else 0
        return child_count + self._enqueue_entries(job, walk, size, entries, reading)

    def _enqueue_children(
        self, job: UrlJob, walk: Walk, size: WalkSize, listed: Sequence[str]
    ) -> int:
        """Enqueue the child sitemaps that are new in this walk. Returns how many."""
        remaining = self.settings.pipeline.sitemap_max_files - size.files
        files = _take_within_limit(
            self.walks.unseen_files(walk, listed), remaining, walk, "sitemap_max_files"
        )
        count = self._enqueue(files, _child_options(job))
        self.walks.record_enqueued(walk, files)  # last, so that a killed task loses no file
        return count

    def _enqueue_new_children(self, result: FetchResult, children: Sequence[SitemapUrl]) -> int:
        """Enqueue the newest child sitemaps of an index that was read again. Returns how many."""
        at_ms = result.fetch.fetched_at_ms
        new_urls = self.store.signals.children(children, at_ms, MAX_NEW_FILES)
        return self._enqueue(new_urls, _child_options(result.job)) if new_urls else 0

    def _enqueue_entries(
        self,
        job: UrlJob,
        walk: Walk,
        size: WalkSize,
        entries: Sequence[SitemapUrl],
        reading: Reading,
    ) -> int:
        remaining = self.settings.pipeline.sitemap_max_urls - size.urls
        entries = _take_within_limit(entries, remaining, walk, "sitemap_max_urls")
        options = inherit_options(job, depth=0, refresh=True, priority=PRIORITY_REFRESH)
        return sum(
            self._enqueue(
                self._newer_urls(entries[start : start + self.chunk_size], reading), options
            )
            for start in range(0, len(entries), self.chunk_size)
        )

    def _newer_urls(self, entries: Sequence[SitemapUrl], reading: Reading) -> list[str]:
        """Return the URLs that are not stored, or whose lastmod is later than their fetch."""
        fetch_times_ms = reading.take(entries)
        now_ms = self.clock.now_ms()
        return [
            entry.url
            for entry, fetched_at_ms in zip(entries, fetch_times_ms, strict=True)
            if fetched_at_ms is None or entry.changed_since(fetched_at_ms, now_ms)
        ]

    def record_unchanged(self, results: Iterable[FetchResult]) -> None:
        """Record that sitemaps and feeds have not changed: a 304 response or identical bytes."""
        fetch_times_ms = {r.job.url: r.fetch.fetched_at_ms for r in results if r.job.sitemap}
        if fetch_times_ms:
            self.store.signals.record_unchanged(fetch_times_ms, max(fetch_times_ms.values()))
            _UNCHANGED.add(len(fetch_times_ms))

    def _enqueue(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        return sum(1 for _ in self.enqueuer.enqueue(urls, options))


def _take_within_limit(
    listed: Sequence[T], remaining: int, walk: Walk, setting: str
) -> Sequence[T]:
    """Return the URLs that still fit into a walk. Logs how many do not."""
    if len(listed) <= remaining:
        return listed
    log.warning(
        "sitemap walk %s for %s: skipped %d URLs over the limit pipeline.%s",
        walk.request_id, walk.domain, len(listed) - max(0, remaining), setting,
    )  # fmt: skip
    return listed[: max(0, remaining)]


def _child_options(job: UrlJob) -> EnqueueOptions:
    return inherit_options(job, depth=job.depth - 1, refresh=True, sitemap=True, in_walk=True)
