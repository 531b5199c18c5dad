"""
Follows the URLs that item rules find: a listing's next pages (`follow`) and items' files (`files`).

Listing pages get the depth of the page that links to them, so that the pages listed on them are
reached. `include` patterns do not apply to listing pages. All other rules for links do: the crawl's
scope, nofollow, `exclude`, and robots.txt.

Files become jobs of the same crawl with depth 0, on any host, because images are often on a
separate host. The crawl's exclusion rules, `exclude`, nofollow and robots.txt apply to them. At
most `max_files` files of a page are fetched. A page's files are fetched again if a caller requests
a refresh of the page. The refresh schedule only fetches new files.

A listing has at most `MAX_PAGES` pages. `UrlJob.pages` counts them.

It is safe to run twice: a page's next pages are followed once per request ID, and waiting URLs are
skipped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple

from aragog.crawl.pipeline.crawl_records import REFRESHED
from aragog.crawl.pipeline.followed_pages import FULL, FollowedPages
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages import damaged
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.inherited_options import inherit_options
from aragog.crawl.stages.page_scope import read_url_filter, scope_filter
from aragog.errors import InvalidUrl
from aragog.pages.items import PageItems, SiteKinds, field_of, kind_from_field
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore
from urlspelling import normalize

MAX_PAGES = 10_000
NEXT_PAGES_SUFFIX = ":continued"
"""Appended to the request ID under which followed next pages are recorded."""

EnqueueLinks = Callable[[EnqueueOptions, list[str]], int]


class ListingPage(NamedTuple):
    """A page and the URLs of its next pages."""

    job: UrlJob
    url: str
    """The page's URL after redirects."""
    continuations: tuple[str, ...]
    nofollow: bool = False
    """True if the page asks crawlers not to follow its links."""
    nofollow_links: Collection[str] = ()
    files: Collection[str] = ()
    """URLs of items' files."""


class _ChosenUrls(NamedTuple):
    job: UrlJob
    continuations: list[str]
    files: list[str]


@dataclass(frozen=True, slots=True)
class Listings:
    """Follows listings and files."""

    kinds: SiteKinds
    checks: CrawlChecks
    followed_pages: FollowedPages | None
    obey_nofollow: bool
    max_files: int = 100

    def fields(self, url: str) -> list[str]:
        """
        Return the names of the page's fields that may contain next pages or files; none if no rule
        applies.
        """
        kinds = self.kinds.of(url).items()
        return [
            field_of(name)
            for name, site_kind in kinds
            if site_kind.kind.follow or site_kind.kind.files
        ]

    def follow(self, pages: Iterable[ListingPage], enqueue: EnqueueLinks) -> int:
        """Enqueue next pages and files. Returns how many."""
        chosen = {page.job.url: self._choose_urls(page) for page in pages}
        jobs = self._filter_unfollowed(
            [choice.job for choice in chosen.values() if choice.continuations or choice.files]
        )
        count = 0
        for job in jobs:
            count += enqueue(_next_page_options(job), chosen[job.url].continuations)
            count += enqueue(_file_options(job), chosen[job.url].files)
        for name, depths in _depths_by_call(jobs).items():
            if self.followed_pages is not None:
                self.followed_pages.add(name, depths)
        return count

    def follow_stored(
        self, pages: Iterable[tuple[UrlJob, Record]], store: UrlStore, enqueue: EnqueueLinks
    ) -> int:
        """
        Enqueue the next pages and files of stored pages. Takes two multi-gets if any page is a
        listing.
        """
        jobs = {r.canonical_url: job for job, r in pages if self.fields(r.canonical_url)}
        if self.followed_pages is None or not jobs:
            return 0
        names = sorted({name for url in jobs for name in self.fields(url)})
        records: list[Record | None] = []
        damaged.isolate(list(jobs), lambda part: records.extend(store.get_many(part, names)))
        links: dict[str, list[tuple[str, str]]] = {}
        damaged.isolate(list(jobs), lambda part: links.update(store.links.of_pages(part)))
        stored = (record for record in records if record and record.canonical_url in jobs)
        return self.follow((_page_from_record(jobs, record, links) for record in stored), enqueue)

    def _choose_urls(self, page: ListingPage) -> _ChosenUrls:
        scope = self.checks.get_crawl(page.job).scope
        is_allowed = self._make_link_filter(page)
        continuations = page.continuations if page.job.pages < MAX_PAGES else ()
        is_in_scope = scope_filter(scope, page.url)
        return _ChosenUrls(
            page.job,
            [url for url in continuations if is_in_scope(url) and is_allowed(url)],
            list(
                islice(
                    (url for url in page.files if not scope.excludes(url) and is_allowed(url)),
                    self.max_files,
                )
            ),
        )

    def _make_link_filter(self, page: ListingPage) -> Callable[[str], bool]:
        """
        Return a function that returns True for a URL if neither nofollow nor the job's `exclude`
        patterns forbid following it.
        """
        obeys_nofollow = self.obey_nofollow and not self.checks.get_crawl(page.job).nofollow
        if obeys_nofollow and page.nofollow:
            return lambda _: False
        exclude = UrlFilter(exclude=read_url_filter(page.job).exclude)
        links = page.nofollow_links if obeys_nofollow else ()
        return lambda url: url not in links and exclude.accepts(url)

    def _filter_unfollowed(self, jobs: Sequence[UrlJob]) -> list[UrlJob]:
        """Return the jobs whose call has not yet followed the page's next pages to this depth."""
        if self.followed_pages is None:
            return list(jobs)
        unfollowed = [job for job in jobs if not job.request_id]
        for name, depths in _depths_by_call(jobs).items():
            followed_depths = self.followed_pages.depths(name, list(depths))
            depth_by_url = dict(zip(depths, followed_depths, strict=True))
            unfollowed += [
                job
                for job in jobs
                if job.request_id + NEXT_PAGES_SUFFIX == name
                and _is_new(depth_by_url[job.url], job.depth)
            ]
        return unfollowed


def _page_from_record(
    jobs: Mapping[str, UrlJob], record: Record, links: Mapping[str, Sequence[tuple[str, str]]]
) -> ListingPage:
    url = record.canonical_url
    nofollow = {target for target, rel in links.get(url, ()) if "nofollow" in rel.split()}
    page_nofollow = bool(record.facts.get("nofollow"))
    return listing_page(jobs[url], url, record.fields, page_nofollow, nofollow)


def listing_page(
    job: UrlJob,
    url: str,
    fields: Mapping[str, bytes],
    nofollow: bool,
    nofollow_links: Collection[str],
) -> ListingPage:
    """Return a page with the URLs in its fields."""
    page_items = [PageItems.read(value) for name, value in fields.items() if kind_from_field(name)]
    continuations = dict.fromkeys(url for items in page_items for url in items.follow)
    files = dict.fromkeys(
        normalized
        for items in page_items
        for url in items.file_urls
        if (normalized := _normalize(url))
    )
    return ListingPage(job, url, tuple(continuations), nofollow, nofollow_links, tuple(files))


def _normalize(url: str) -> str | None:
    """Normalize a URL that a user's function returned. None if it is invalid."""
    try:
        return normalize(url)
    except InvalidUrl:
        return None


def _is_new(followed_depth: int | None, depth: int) -> bool:
    return followed_depth is None or (followed_depth != FULL and followed_depth < depth)


def _depths_by_call(jobs: Iterable[UrlJob]) -> dict[str, dict[str, int]]:
    calls: dict[str, dict[str, int]] = defaultdict(dict)
    for job in jobs:
        if job.request_id:
            calls[job.request_id + NEXT_PAGES_SUFFIX][job.url] = job.depth
    return calls


def _file_options(job: UrlJob) -> EnqueueOptions:
    is_requested = job.refresh and job.crawl != REFRESHED
    return replace(_next_page_options(job), depth=0, pages=0, file=True, refresh=is_requested)


def _next_page_options(job: UrlJob) -> EnqueueOptions:
    return inherit_options(job, depth=job.depth, pages=job.pages + 1)
