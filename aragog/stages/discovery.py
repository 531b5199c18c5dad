"""
URLs that pages and sitemaps name, enqueued: links of pages with depth left, entries of sitemaps.

Safe to run twice: URLs that wait already, or whose page was seen since their lastmod, are passed
over.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from aragog.errors import BadInput
from aragog.pages import sitemaps
from aragog.pages.sitemaps import SitemapUrl
from aragog.pipeline.messages import PRIORITY_REFRESH, FetchResult, UrlJob
from aragog.settings import Settings
from aragog.stages.enqueue import EnqueueOptions, Enqueuer
from aragog.stages.page_analysis import PageAnalysis
from aragog.stages.page_limits import limited
from aragog.urls.domain import registered_domain
from aragog.urls.url_filter import UrlFilter
from aragog.urlstore.records import PageWrite
from aragog.urlstore.store import UrlStore


@dataclass(frozen=True, slots=True)
class Discovery:
    """Enqueues URLs of the registered domain that named them."""

    enqueuer: Enqueuer
    store: UrlStore
    settings: Settings
    chunk: int = 500
    """Entries of a sitemap that are looked up in the store at a time."""

    def sitemap(self, result: FetchResult, body: bytes) -> int:
        """
        How many entries of a sitemap were enqueued: those of its own registered domain that are not
        stored, or were last seen before their lastmod.

        Raises:
            PageTooExpensive, MemoryError: the sitemap exceeds the limits of a page.
        """
        limits, job = self.settings.pipeline, result.job
        url_filter = _filter(job)
        with limited(limits.page_max_cpu_s, limits.page_max_memory_bytes):
            sitemap = sitemaps.parse(body, result.fetch.final_url)
        domain = registered_domain(result.fetch.final_url)
        count = 0
        if job.depth > 0:
            children = [
                child.url for child in sitemap.children if registered_domain(child.url) == domain
            ]
            options = EnqueueOptions(
                depth=job.depth - 1,
                refresh=True,
                sitemap=True,
                priority=job.priority,
                url_filter=job.url_filter,
                request_id=job.request_id,
                purposes=job.purposes,
                found_on=job.traceparent,
            )
            count += self._enqueue(children, options)
        entries = [
            entry
            for entry in sitemap.urls
            if registered_domain(entry.url) == domain and url_filter.accepts(entry.url)
        ]
        options = EnqueueOptions(
            refresh=True,
            priority=PRIORITY_REFRESH,
            request_id=job.request_id,
            purposes=job.purposes,
            found_on=job.traceparent,
        )
        for at in range(0, len(entries), self.chunk):
            count += self._enqueue(self._newer(entries[at : at + self.chunk]), options)
        return count

    def _newer(self, entries: Sequence[SitemapUrl]) -> list[str]:
        """URLs of entries that are not stored, or that changed since they were seen."""
        seen = self.store.pages.seen_at_ms([entry.url for entry in entries])
        return [
            entry.url
            for entry, seen_at_ms in zip(entries, seen, strict=True)
            if seen_at_ms is None or (entry.lastmod_ms or 0) > seen_at_ms
        ]

    def links(self, pages: Sequence[tuple[FetchResult, PageAnalysis]]) -> int:
        """How many links were enqueued, of pages with depth left."""
        by_options: dict[EnqueueOptions, list[str]] = {}
        for result, analysis in pages:
            job = result.job
            if job.depth > 0:
                options = EnqueueOptions(
                    depth=job.depth - 1,
                    priority=job.priority,
                    url_filter=job.url_filter,
                    request_id=job.request_id,
                    purposes=job.purposes,
                    found_on=job.traceparent,
                )
                by_options.setdefault(options, []).extend(self._followed(result, analysis))
        return sum(self._enqueue(urls, options) for options, urls in by_options.items())

    def canonicals(self, named: Sequence[tuple[UrlJob, PageWrite, str]]) -> list[str]:
        """
        Enqueue canonical URLs that pages declare and whose fetch has to decide.

        By the rules that links follow: depth left, within the registered domain, nofollow, filter.
        Returns those that were enqueued, or wait already.
        """
        asked = []
        for job, write, url in named:
            if job.depth > 0 and self._may_follow(job, write, url):
                options = EnqueueOptions(
                    depth=job.depth - 1,
                    priority=job.priority,
                    url_filter=job.url_filter,
                    request_id=job.request_id,
                    purposes=job.purposes,
                    found_on=job.traceparent,
                )
                self._enqueue([url], options)
                asked.append(url)
        return asked

    def _may_follow(self, job: UrlJob, write: PageWrite, url: str) -> bool:
        if self.settings.politeness.obey_nofollow and write.facts.get("nofollow"):
            return False
        same_site = registered_domain(url) == registered_domain(write.final_url)
        return same_site and _filter(job).accepts(url)

    def _followed(self, result: FetchResult, analysis: PageAnalysis) -> list[str]:
        obey = self.settings.politeness.obey_nofollow
        if obey and analysis.nofollow:
            return []
        domain, url_filter = registered_domain(result.fetch.final_url), _filter(result.job)
        return [
            link.url
            for link in analysis.links
            if registered_domain(link.url) == domain
            and not (obey and link.nofollow)
            and url_filter.accepts(link.url)
        ]

    def _enqueue(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        return sum(1 for _ in self.enqueuer.enqueue(urls, options))


def _filter(job: UrlJob) -> UrlFilter:
    """The job's filter; of a message whose filter cannot be read, one that accepts nothing."""
    try:
        return UrlFilter.read(job.url_filter)
    except BadInput:
        return UrlFilter(exclude=("*",))
