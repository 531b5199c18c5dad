"""
URLs that pages and sitemaps name, enqueued: links of pages with depth left, entries of sitemaps.

A sitemap is requested once in a walk of its site (`aragog.crawl.pipeline.sitemap_walks`).

Links of a page that is stored, and not fetched by this call, are followed from the store, so that a
call that is repeated reaches every page that the first one reached. A call that refreshes takes the
links of its pages with it: each is fetched again, once a call (`FollowedPages`).

Safe to run twice: URLs that wait already, or whose page was seen since their lastmod, are passed
over.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.pipeline.followed_pages import FULL, FollowedPages
from aragog.crawl.pipeline.messages import PRIORITY_REFRESH, FetchResult, UrlJob
from aragog.crawl.pipeline.ports import Walks
from aragog.crawl.pipeline.sitemap_walks import Walk, WalkSize
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages import damaged
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.enqueue import EnqueueOptions, Enqueuer
from aragog.crawl.stages.link_budgets import ArrivedPage, LinkBudgets, follow_all
from aragog.crawl.stages.page_analysis import PageAnalysis
from aragog.crawl.stages.page_limits import limited
from aragog.crawl.stages.page_reading import SourceReading
from aragog.crawl.stages.revalidation import is_reread
from aragog.errors import BAD_INPUT
from aragog.fetch_record.outcome import OutcomeKind
from aragog.observability.metrics import SOURCE_READINGS
from aragog.pages import sitemaps
from aragog.pages.sitemaps import SitemapUrl
from aragog.runtime.clock import Clock
from aragog.settings import Settings
from aragog.urlstore.change_signals.signals import Reading
from aragog.urlstore.change_signals.sources import SOURCES
from aragog.urlstore.records import PageWrite, Record
from aragog.urlstore.store import UrlStore
from aragog.urlstore.usual_intervals import FEED, SITEMAP
from urlspelling.domain import host, registered_domain

log = logging.getLogger(__name__)
T = TypeVar("T")
MOST_NEW_FILES = 50
"""Files of an index that one reading by the refresh schedule adds, the newest first."""
_BROUGHT, _NOTHING, _UNCHANGED = map(SOURCE_READINGS.of, SOURCE_READINGS.values)
ASKED = ":asked"
"""Ends the name under which a call records the links that it refreshes."""


class _PageLinks(NamedTuple):
    """A page with depth left, and the links of it that may be followed."""

    job: UrlJob
    links: Sequence[str]


@dataclass(frozen=True, slots=True)
class Discovery:
    """Enqueues URLs of the registered domain that named them, or of the scope of their crawl."""

    enqueuer: Enqueuer
    store: UrlStore
    settings: Settings
    walks: Walks
    clock: Clock
    chunk: int = 500
    """Entries of a sitemap that are looked up in the store at a time."""
    followed_pages: FollowedPages | None = None
    """Without it no links are followed from the store, and none are refreshed."""
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    """Knows the scope of each job's crawl."""
    budgets: LinkBudgets | None = None
    """Of the templates of URLs; None: every link is followed."""

    def sitemap(self, result: FetchResult, body: bytes) -> SourceReading:
        """
        Take what a sitemap or feed lists.

        Enqueued are entries of its own registered domain that are not stored, or were last seen
        before their lastmod. A file that the refresh schedule reads again enqueues no page: it
        brings refreshes of stored pages forward (`aragog.urlstore.change_signals`), which a walk
        does as well.

        Raises:
            PageTooExpensive, MemoryError: the sitemap exceeds the limits of a page.
        """
        limits, job = self.settings.pipeline, result.job
        if is_reread(job) and (kind := self._unchanged(result)):
            self.confirmed_sources([result])
            return SourceReading(0, kind)
        with limited(limits.page_max_cpu_s, limits.page_max_memory_bytes):
            sitemap = sitemaps.parse(body, result.fetch.final_url, result.fetch.content_type)
        kind = FEED if sitemap.is_feed else SITEMAP
        domain = registered_domain(result.fetch.final_url)
        listed = [entry for entry in sitemap.urls if registered_domain(entry.url) == domain]
        children = [c for c in sitemap.children if registered_domain(c.url) == domain]
        reading = self.store.signals.reading(
            listed, kind=kind, fetched_at_ms=result.fetch.fetched_at_ms, sender=job.url
        )
        if is_reread(job):
            for at in range(0, len(listed), self.chunk):
                reading.take(listed[at : at + self.chunk])
            enqueued = self._new_children(result, children) if job.depth > 0 else 0
        else:
            enqueued = self._walked(result, listed, children, reading)
        reading.close()
        (_BROUGHT if reading.brought else _NOTHING).add()
        return SourceReading(enqueued, kind, reading.brought)

    def _unchanged(self, result: FetchResult) -> str | None:
        """The kind of a file that has the bytes of its last reading; None: they are others."""
        state = self.store.schedule.refresh_state(result.job.url)
        is_same = state is not None and state.body_hash == (result.body_hash or "-")[:16]
        return state.page_type if state and is_same and state.page_type in SOURCES else None

    def _walked(
        self,
        result: FetchResult,
        listed: Sequence[SitemapUrl],
        children: Sequence[SitemapUrl],
        reading: Reading,
    ) -> int:
        """How many files and pages of a walk were enqueued."""
        job, url = result.job, result.fetch.final_url
        url_filter, is_in_scope = _filter(job), _in_scope(self.checks.crawl_of(job).scope, url)
        entries = [e for e in listed if url_filter.accepts(e.url) and is_in_scope(e.url)]
        walk = Walk(job.request_id, registered_domain(url))
        size = self.walks.note_read(walk, [job.url, url], len(entries))
        files = [child.url for child in children]
        count = self._children(job, walk, size, files) if job.depth > 0 else 0
        return count + self._entries(job, walk, size, entries, reading)

    def _children(self, job: UrlJob, walk: Walk, size: WalkSize, listed: Sequence[str]) -> int:
        """How many of the files that an index lists were enqueued: those that are new to it."""
        room = self.settings.pipeline.sitemap_max_files - size.files
        files = _within(self.walks.unseen(walk, listed), room, walk, "sitemap_max_files")
        count = self._enqueue(files, _options_of_files(job))
        self.walks.note_enqueued(walk, files)  # afterward: a task that is killed loses none
        return count

    def _new_children(self, result: FetchResult, children: Sequence[SitemapUrl]) -> int:
        """How many files of an index that is read again were enqueued: some that are not known."""
        at_ms = result.fetch.fetched_at_ms
        new = self.store.signals.children(children, at_ms, MOST_NEW_FILES)
        return self._enqueue(new, _options_of_files(result.job)) if new else 0

    def _entries(
        self,
        job: UrlJob,
        walk: Walk,
        size: WalkSize,
        entries: Sequence[SitemapUrl],
        reading: Reading,
    ) -> int:
        """How many of the pages that a sitemap lists were enqueued."""
        room = self.settings.pipeline.sitemap_max_urls - size.urls
        entries = _within(entries, room, walk, "sitemap_max_urls")
        options = EnqueueOptions(
            refresh=True,
            priority=PRIORITY_REFRESH,
            request_id=job.request_id,
            purposes=job.purposes,
            found_on=job.traceparent,
            crawl_number=job.crawl,
        )
        return sum(
            self._enqueue(self._newer(entries[at : at + self.chunk], reading), options)
            for at in range(0, len(entries), self.chunk)
        )

    def _newer(self, entries: Sequence[SitemapUrl], reading: Reading) -> list[str]:
        """URLs of entries that are not stored, or that changed since they were seen."""
        seen = reading.take(entries)
        now_ms = self.clock.now_ms()
        return [
            entry.url
            for entry, seen_at_ms in zip(entries, seen, strict=True)
            if seen_at_ms is None or entry.changed_since(seen_at_ms, now_ms)
        ]

    def confirmed_sources(self, results: Iterable[FetchResult]) -> None:
        """Note sitemaps and feeds that a 304 confirmed: they name no change."""
        found = {r.job.url: r.fetch.fetched_at_ms for r in results if r.job.sitemap}
        if found:
            self.store.signals.confirmed(found, max(found.values()))
            _UNCHANGED.add(len(found))

    def watched(self, results: Sequence[FetchResult]) -> set[str]:
        """The URLs of results whose pages tell which links are worth following."""
        if self.budgets is None:
            return set()
        deep = {result.job.url for result in results if result.job.depth > 0}
        others = [result.job.url for result in results if result.job.depth <= 0]
        return deep | self.budgets.watched(others)

    def links(
        self,
        pages: Sequence[tuple[FetchResult, PageAnalysis]],
        others: Sequence[FetchResult] = (),
    ) -> int:
        """How many links of pages with depth left were enqueued; `others` brought no page."""
        came = [_came(result, analysis) for result, analysis in pages]
        came += [_came(result, None) for result in others]
        return self._follow(
            [
                _PageLinks(result.job, self._followed(result, analysis))
                for result, analysis in pages
                if result.job.depth > 0
            ],
            came,
        )

    def stored(
        self, pages: Iterable[tuple[UrlJob, Record | None]], *, looked_at: bool = False
    ) -> int:
        """
        How many links of stored pages with depth left were enqueued, as the store has the links.

        Passed over are pages whose links this call has followed at least as deep, unless they were
        `looked_at`: the job has just fetched the page and nothing in it was new. Two round trips,
        and two more where there are links to follow.
        """
        with_page = [(job, r) for job, r in pages if r is not None and r.content_key]
        came = [] if looked_at else [ArrivedPage(j.url, is_stored=True) for j, _ in with_page]
        deep = [(job, record) for job, record in with_page if job.depth > 0 and job.request_id]
        if self.followed_pages is None or not (deep or (self.budgets and came)):
            return 0
        depths = {} if looked_at else self._depths([job for job, _ in deep])
        unfollowed = [
            (job, record)
            for job, record in deep
            if not _is_followed(depths.get((job.request_id, job.url)), job.depth)
        ]
        links: dict[str, list[tuple[str, str]]] = {}
        urls = list(dict.fromkeys(record.canonical_url for _, record in unfollowed))
        damaged.apart(urls, lambda some: links.update(self.store.links.of_pages(some)))
        return self._follow(
            [
                _PageLinks(job, self._of_record(job, record, links.get(record.canonical_url, [])))
                for job, record in unfollowed
            ],
            came,
        )

    def _follow(self, pages: Sequence[_PageLinks], came: Sequence[ArrivedPage] = ()) -> int:
        """Enqueue the links of pages, then record that they were followed."""
        links = {job.url: {_options_of_links(job): urls} for job, urls in pages}
        if self.budgets is None:
            count = follow_all(links, self._enqueue_links)
        else:
            count = self.budgets.follow(links, came, self._enqueue_links)
        self._record([job for job, _ in pages])
        return count

    def _enqueue_links(self, options: EnqueueOptions, urls: list[str]) -> int:
        return (self._refresh if options.refresh else self._enqueue)(urls, options)

    def sweep_held(self) -> int:
        """Offer links again that wait for pages which never came; how many were enqueued."""
        return self.budgets.sweep(self._enqueue_links) if self.budgets else 0

    def _refresh(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        """Enqueue the URLs: to be fetched again only those that the call has not reached before."""
        if self.followed_pages is None:
            return self._enqueue(urls, replace(options, refresh=False))
        asked = options.request_id + ASKED
        known = dict(zip(urls, self.followed_pages.depths(asked, urls), strict=True))
        new = [url for url, depth in known.items() if depth is None]
        deeper = [u for u, depth in known.items() if depth is not None and depth < options.depth]
        count = self._enqueue(new, options)
        self.followed_pages.add(asked, dict.fromkeys((*new, *deeper), options.depth))
        return count + self._enqueue(deeper, replace(options, refresh=False))

    def _depths(self, jobs: Sequence[UrlJob]) -> Mapping[tuple[str, str], int | None]:
        """The depth with which the call of each job has followed its page's links."""
        found: dict[tuple[str, str], int | None] = {}
        if self.followed_pages is not None:
            for request_id, urls in _by_call(jobs).items():
                depths = self.followed_pages.depths(request_id, list(urls))
                found |= {(request_id, u): d for u, d in zip(urls, depths, strict=True)}
        return found

    def _record(self, jobs: Sequence[UrlJob]) -> None:
        if self.followed_pages is not None:
            for request_id, depths in _by_call(jobs).items():
                self.followed_pages.add(request_id, depths)

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
                    crawl_number=job.crawl,
                )
                self._enqueue([url], options)
                asked.append(url)
        return asked

    def _may_follow(self, job: UrlJob, write: PageWrite, url: str) -> bool:
        crawl = self.checks.crawl_of(job)
        obey = self.settings.politeness.obey_nofollow and not crawl.nofollow
        if obey and write.facts.get("nofollow"):
            return False
        return _in_scope(crawl.scope, write.final_url)(url) and _filter(job).accepts(url)

    def _followed(self, result: FetchResult, analysis: PageAnalysis) -> list[str]:
        links = [(link.url, link.nofollow) for link in analysis.links]
        return self._chosen(result.job, result.fetch.final_url, links, nofollow=analysis.nofollow)

    def _of_record(
        self, job: UrlJob, record: Record, links: Sequence[tuple[str, str]]
    ) -> list[str]:
        """The links of a stored page that may be followed; each comes with its rel words."""
        with_nofollow = [(url, "nofollow" in rel.split()) for url, rel in links]
        page_url = str(record.facts.get("final_url") or record.canonical_url)
        nofollow = bool(record.facts.get("nofollow"))
        return self._chosen(job, page_url, with_nofollow, nofollow=nofollow)

    def _chosen(
        self, job: UrlJob, page_url: str, links: Iterable[tuple[str, bool]], *, nofollow: bool
    ) -> list[str]:
        """The links of a page that may be followed; each comes with its own `nofollow`."""
        crawl, url_filter = self.checks.crawl_of(job), _filter(job)
        obey = self.settings.politeness.obey_nofollow and not crawl.nofollow
        if obey and nofollow:
            return []
        is_in_scope = _in_scope(crawl.scope, page_url)
        return [
            url
            for url, link_nofollow in links
            if is_in_scope(url) and not (obey and link_nofollow) and url_filter.accepts(url)
        ]

    def _enqueue(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        return sum(1 for _ in self.enqueuer.enqueue(urls, options))


def _came(result: FetchResult, analysis: PageAnalysis | None) -> ArrivedPage:
    """What a result tells about the templates of its URL."""
    url = result.job.url
    if analysis is None or analysis.traits is None:
        return ArrivedPage(url, is_failure=result.fetch.outcome is OutcomeKind.GONE)
    name = host(url)
    links = [link.url for link in analysis.links if host(link.url) == name]
    return ArrivedPage(url, analysis.traits, links)


def _in_scope(scope: Scope, page_url: str) -> Callable[[str], bool]:
    """Whether the URLs that a page names belong to its crawl."""
    if scope.rules:
        return lambda url: scope.decide(url, page_url=page_url).accepted
    domain = registered_domain(page_url)
    return lambda url: registered_domain(url) == domain


def _within(listed: Sequence[T], room: int, walk: Walk, setting: str) -> Sequence[T]:
    """What still belongs to a walk; the rest is logged."""
    if len(listed) <= room:
        return listed
    log.warning(
        "the walk %s of the sitemaps of %s leaves out %d: see pipeline.%s",
        walk.request_id, walk.domain, len(listed) - max(0, room), setting,
    )  # fmt: skip
    return listed[: max(0, room)]


def _options_of_files(job: UrlJob) -> EnqueueOptions:
    """How the files that an index lists are enqueued."""
    return EnqueueOptions(
        depth=job.depth - 1,
        refresh=True,
        sitemap=True,
        in_walk=True,
        priority=job.priority,
        url_filter=job.url_filter,
        request_id=job.request_id,
        purposes=job.purposes,
        found_on=job.traceparent,
        crawl_number=job.crawl,
    )


def _options_of_links(job: UrlJob) -> EnqueueOptions:
    """How the links of a job's page are enqueued."""
    return EnqueueOptions(
        depth=job.depth - 1,
        refresh=job.refresh,
        priority=job.priority,
        url_filter=job.url_filter,
        request_id=job.request_id,
        purposes=job.purposes,
        found_on=job.traceparent,
        crawl_number=job.crawl,
    )


def _by_call(jobs: Iterable[UrlJob]) -> dict[str, dict[str, int]]:
    """URLs with their depths, by request id; jobs without one belong to no call."""
    calls: dict[str, dict[str, int]] = defaultdict(dict)
    for job in jobs:
        if job.request_id:
            calls[job.request_id][job.url] = job.depth
    return calls


def _is_followed(known: int | None, depth: int) -> bool:
    """Whether the links of a page were followed this deep; if it cannot be recorded, as if so."""
    return known is not None and (known == FULL or known >= depth)


def _filter(job: UrlJob) -> UrlFilter:
    """The job's filter; of a message whose filter cannot be read, one that accepts nothing."""
    try:
        return UrlFilter.read(job.url_filter)
    except BAD_INPUT:
        return UrlFilter(exclude=("*",))
