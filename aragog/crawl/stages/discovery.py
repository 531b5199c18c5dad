"""
Enqueues the URLs that pages and sitemaps list. A job's depth says how many more levels of links to
follow; links are only followed from pages with depth left.

Each sitemap is requested once per walk through its site (`aragog.crawl.pipeline.sitemap_walks`).

If a call to enqueue does not fetch a page because it is already stored, the page's links are read
from the store. So a repeated call reaches the same pages as the first. A call that refreshes pages
also refreshes the pages that those link to, each once (`FollowedPages`).

It is safe to run twice: it skips waiting URLs, and URLs fetched since their lastmod.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from aragog.crawl.pipeline.followed_pages import FULL, FollowedPages
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.pipeline.ports import Walks
from aragog.crawl.stages import damaged
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.held_link_sweep import HeldLinkSweep
from aragog.crawl.stages.inherited_options import inherit_options
from aragog.crawl.stages.link_budgets import ArrivedPage, LinkBudgets, follow_all
from aragog.crawl.stages.listings import ListingPage, Listings, listing_page
from aragog.crawl.stages.page_analysis import PageAnalysis
from aragog.crawl.stages.page_scope import read_url_filter, scope_filter
from aragog.crawl.stages.sitemap_reading import SitemapEnqueuer
from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.items import load_kinds
from aragog.runtime.clock import Clock
from aragog.settings import Settings
from aragog.urlstore.records import PageWrite, Record
from aragog.urlstore.store import UrlStore
from urlspelling.domain import host

log = logging.getLogger(__name__)
T = TypeVar("T")
REFRESHED_SUFFIX = ":asked"
"""Appended to the request ID under which refreshed links are recorded."""


class _PageLinks(NamedTuple):
    """A page with depth left, and its links that may be followed."""

    job: UrlJob
    links: Sequence[str]


@dataclass(frozen=True, slots=True)
class Discovery:
    """Enqueues URLs in their crawl's scope, by default the registered domain of their page."""

    enqueuer: Enqueuer
    store: UrlStore
    settings: Settings
    walks: Walks
    clock: Clock
    chunk: int = 500
    """How many sitemap entries are looked up in the store at once."""
    followed_pages: FollowedPages | None = None
    """If None, links are not followed from the store and not refreshed."""
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    budgets: LinkBudgets | None = None
    """The budgets of URL templates. If None, every link is followed."""
    held_links: HeldLinkSweep | None = None
    """Decides about held links when the pages that they wait for never arrive."""

    @property
    def sitemaps(self) -> SitemapEnqueuer:
        return SitemapEnqueuer(
            self.enqueuer,
            self.store,
            self.settings,
            self.walks,
            self.clock,
            chunk_size=self.chunk,
            checks=self.checks,
        )

    def find_watched(self, results: Sequence[FetchResult]) -> set[str]:
        """Return the URLs of results that have depth left or are on hosts with link budgets."""
        if self.budgets is None:
            return set()
        urls_with_depth = {result.job.url for result in results if result.job.depth > 0}
        others = [result.job.url for result in results if result.job.depth <= 0]
        return urls_with_depth | self.budgets.watched(others)

    def follow_links(
        self,
        pages: Sequence[tuple[FetchResult, PageAnalysis]],
        others: Sequence[FetchResult] = (),
    ) -> int:
        """
        Enqueue the links of pages that have depth left. Returns how many. `others` are the results
        without a page.
        """
        arrived_pages = [_arrived_page(result, analysis) for result, analysis in pages]
        arrived_pages += [_arrived_page(result, None) for result in others]
        count = self._listings.follow(map(_to_listing_page, pages), self._enqueue_links)
        return count + self._follow(
            [
                _PageLinks(result.job, self._links_to_follow(result, analysis))
                for result, analysis in pages
                if result.job.depth > 0
            ],
            arrived_pages,
        )

    def follow_stored(
        self, pages: Iterable[tuple[UrlJob, Record | None]], *, was_just_fetched: bool = False
    ) -> int:
        """
        Enqueue the links of stored pages that have depth left. Returns how many.

        Skips pages whose links this call has already followed at least as deeply, unless the job
        has just fetched the page and found it unchanged (`was_just_fetched`). Takes two round
        trips, and two more if there are links to follow.
        """
        stored_pages = [(job, r) for job, r in pages if r is not None and r.content_key]
        count = self._listings.follow_stored(stored_pages, self.store, self._enqueue_links)
        arrived_pages = (
            []
            if was_just_fetched
            else [ArrivedPage(j.url, is_stored=True) for j, _ in stored_pages]
        )
        pages_with_depth = [
            (job, record) for job, record in stored_pages if job.depth > 0 and job.request_id
        ]
        if self.followed_pages is None or not (
            pages_with_depth or (self.budgets and arrived_pages)
        ):
            return count
        depths = (
            {} if was_just_fetched else self._followed_depths([job for job, _ in pages_with_depth])
        )
        unfollowed_pages = [
            (job, record)
            for job, record in pages_with_depth
            if not _is_followed(depths.get((job.request_id, job.url)), job.depth)
        ]
        links: dict[str, list[tuple[str, str]]] = {}
        urls = list(dict.fromkeys(record.canonical_url for _, record in unfollowed_pages))
        damaged.isolate(urls, lambda part: links.update(self.store.links.of_pages(part)))
        return count + self._follow(
            [
                _PageLinks(
                    job,
                    self._stored_links_to_follow(job, record, links.get(record.canonical_url, [])),
                )
                for job, record in unfollowed_pages
            ],
            arrived_pages,
        )

    @property
    def _listings(self) -> Listings:
        kinds, obeys_nofollow = (
            load_kinds(self.settings.extract),
            self.settings.politeness.obey_nofollow,
        )
        max_files = self.settings.pipeline.max_files_per_page
        return Listings(kinds, self.checks, self.followed_pages, obeys_nofollow, max_files)

    def _follow(
        self, pages: Sequence[_PageLinks], arrived_pages: Sequence[ArrivedPage] = ()
    ) -> int:
        links = {job.url: {_link_options(job): urls} for job, urls in pages}
        if self.budgets is None:
            count = follow_all(links, self._enqueue_links)
        else:
            count = self.budgets.follow(links, arrived_pages, self._enqueue_links)
        self._record_followed([job for job, _ in pages])
        return count

    def _enqueue_links(self, options: EnqueueOptions, urls: list[str]) -> int:
        return (self._refresh if options.refresh else self._enqueue)(urls, options)

    def sweep_held(self) -> int:
        """
        Decide about held links whose awaited pages never arrive. Returns how many were
        enqueued.
        """
        return self.held_links.run(self._enqueue_links) if self.held_links else 0

    def _refresh(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        """Enqueue the URLs. Those that this call has already reached are not fetched again."""
        if self.followed_pages is None:
            return self._enqueue(urls, replace(options, refresh=False))
        refresh_id = options.request_id + REFRESHED_SUFFIX
        depths = dict(zip(urls, self.followed_pages.depths(refresh_id, urls), strict=True))
        new_urls = [url for url, depth in depths.items() if depth is None]
        deeper_urls = [
            u for u, depth in depths.items() if depth is not None and depth < options.depth
        ]
        count = self._enqueue(new_urls, options)
        self.followed_pages.add(refresh_id, dict.fromkeys((*new_urls, *deeper_urls), options.depth))
        return count + self._enqueue(deeper_urls, replace(options, refresh=False))

    def _followed_depths(self, jobs: Sequence[UrlJob]) -> Mapping[tuple[str, str], int | None]:
        page_depths: dict[tuple[str, str], int | None] = {}
        if self.followed_pages is not None:
            for request_id, urls in _depths_by_call(jobs).items():
                depths = self.followed_pages.depths(request_id, list(urls))
                page_depths |= {(request_id, u): d for u, d in zip(urls, depths, strict=True)}
        return page_depths

    def _record_followed(self, jobs: Sequence[UrlJob]) -> None:
        if self.followed_pages is not None:
            for request_id, depths in _depths_by_call(jobs).items():
                self.followed_pages.add(request_id, depths)

    def canonicals(self, declared: Sequence[tuple[UrlJob, PageWrite, str]]) -> list[str]:
        """
        Enqueue declared canonical URLs that must be fetched before they can be trusted.

        The rules for links apply: depth left, registered domain, nofollow, URL filter. Returns the
        URLs that were enqueued or are already waiting.
        """
        enqueued = []
        for job, write, url in declared:
            if job.depth > 0 and self._may_follow(job, write, url):
                self._enqueue([url], inherit_options(job, depth=job.depth - 1, refresh=False))
                enqueued.append(url)
        return enqueued

    def _may_follow(self, job: UrlJob, write: PageWrite, url: str) -> bool:
        crawl = self.checks.get_crawl(job)
        obeys_nofollow = self.settings.politeness.obey_nofollow and not crawl.nofollow
        if obeys_nofollow and write.facts.get("nofollow"):
            return False
        return scope_filter(crawl.scope, write.final_url)(url) and read_url_filter(job).accepts(url)

    def _links_to_follow(self, result: FetchResult, analysis: PageAnalysis) -> list[str]:
        links = [(link.url, link.nofollow) for link in analysis.links]
        return self._links_in_scope(
            result.job, result.fetch.final_url, links, nofollow=analysis.nofollow
        )

    def _stored_links_to_follow(
        self, job: UrlJob, record: Record, links: Sequence[tuple[str, str]]
    ) -> list[str]:
        """Return the links that may be followed; `links` are pairs of URL and `rel`."""
        with_nofollow = [(url, "nofollow" in rel.split()) for url, rel in links]
        page_url = str(record.facts.get("final_url") or record.canonical_url)
        nofollow = bool(record.facts.get("nofollow"))
        return self._links_in_scope(job, page_url, with_nofollow, nofollow=nofollow)

    def _links_in_scope(
        self, job: UrlJob, page_url: str, links: Iterable[tuple[str, bool]], *, nofollow: bool
    ) -> list[str]:
        """Return the links that may be followed; `links` are pairs of URL and nofollow."""
        crawl, url_filter = self.checks.get_crawl(job), read_url_filter(job)
        obeys_nofollow = self.settings.politeness.obey_nofollow and not crawl.nofollow
        if obeys_nofollow and nofollow:
            return []
        is_in_scope = scope_filter(crawl.scope, page_url)
        return [
            url
            for url, link_nofollow in links
            if is_in_scope(url)
            and not (obeys_nofollow and link_nofollow)
            and url_filter.accepts(url)
        ]

    def _enqueue(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        return sum(1 for _ in self.enqueuer.enqueue(urls, options))


def _arrived_page(result: FetchResult, analysis: PageAnalysis | None) -> ArrivedPage:
    url = result.job.url
    if analysis is None or analysis.traits is None:
        return ArrivedPage(url, is_failure=result.fetch.outcome is OutcomeKind.GONE)
    name = host(url)
    links = [(link.url, link.text) for link in analysis.links if host(link.url) == name]
    return ArrivedPage(url, analysis.traits, links)


def _to_listing_page(page: tuple[FetchResult, PageAnalysis]) -> ListingPage:
    result, analysis = page
    nofollow = {link.url for link in analysis.links if link.nofollow}
    url = result.fetch.final_url
    return listing_page(result.job, url, analysis.fields, analysis.nofollow, nofollow)


def _link_options(job: UrlJob) -> EnqueueOptions:
    return inherit_options(job, depth=job.depth - 1)


def _depths_by_call(jobs: Iterable[UrlJob]) -> dict[str, dict[str, int]]:
    """Return the URLs and depths of jobs by request ID. Omits jobs without one."""
    calls: dict[str, dict[str, int]] = defaultdict(dict)
    for job in jobs:
        if job.request_id:
            calls[job.request_id][job.url] = job.depth
    return calls


def _is_followed(followed_depth: int | None, depth: int) -> bool:
    """Return True if the links were followed to this depth, or the call's record is full."""
    return followed_depth is not None and (followed_depth == FULL or followed_depth >= depth)
