"""
Pages that continue a listing, by the rule `follow` of a kind of items; apart from links to content.

They have the depth of the page that names them, so that the pages that they list are reached from
each of them, and patterns that only accept content do not hold for them. Everything else that a
link obeys they obey as well: the scope of the crawl, nofollow, `exclude`, robots.txt.

A listing has at most `MOST_PAGES` pages, counted along the way (`UrlJob.pages`). Safe to run twice:
a call follows the continuation of a page once, and URLs that wait already are passed over.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aragog.crawl.pipeline.followed_pages import FULL, FollowedPages
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages import damaged
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.enqueue import EnqueueOptions
from aragog.errors import BAD_INPUT
from aragog.pages.items import PageItems, SiteKinds, field_of, kind_in
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore
from urlspelling.domain import registered_domain

MOST_PAGES = 10_000
"""Pages of one listing."""
CONTINUED = ":continued"
"""Ends the name under which a call records the pages whose continuation it followed."""

EnqueueLinks = Callable[[EnqueueOptions, list[str]], int]


class ListingPage(NamedTuple):
    """A page and the URLs that continue it."""

    job: UrlJob
    url: str
    """Where the page is, after redirects."""
    continues: tuple[str, ...]
    nofollow: bool = False
    """The page asks that none of its links is followed."""
    nofollow_links: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Listings:
    """Follows listings."""

    kinds: SiteKinds
    checks: CrawlChecks
    followed_pages: FollowedPages | None
    obey_nofollow: bool

    def fields(self, url: str) -> list[str]:
        """The fields of a page that may name its continuation; empty: it is no listing."""
        return [field_of(name) for name, each in self.kinds.of(url).items() if each.kind.follow]

    def follow(self, pages: Iterable[ListingPage], enqueue: EnqueueLinks) -> int:
        """How many URLs were enqueued."""
        chosen = {page.job.url: (page.job, self._chosen(page)) for page in pages}
        jobs = self._unfollowed([job for job, urls in chosen.values() if urls])
        count = sum(enqueue(_options(job), chosen[job.url][1]) for job in jobs)
        for name, depths in _by_call(jobs).items():
            if self.followed_pages is not None:
                self.followed_pages.add(name, depths)
        return count

    def follow_stored(
        self, pages: Iterable[tuple[UrlJob, Record]], store: UrlStore, enqueue: EnqueueLinks
    ) -> int:
        """The same for stored pages, as the store has them; two multi-gets if any is a listing."""
        jobs = {r.canonical_url: job for job, r in pages if self.fields(r.canonical_url)}
        if self.followed_pages is None or not jobs:
            return 0
        names = sorted({name for url in jobs for name in self.fields(url)})
        records: list[Record | None] = []
        damaged.apart(list(jobs), lambda some: records.extend(store.get_many(some, names)))
        links: dict[str, list[tuple[str, str]]] = {}
        damaged.apart(list(jobs), lambda some: links.update(store.links.of_pages(some)))
        found = (record for record in records if record and record.canonical_url in jobs)
        return self.follow((_of_record(jobs, record, links) for record in found), enqueue)

    def _chosen(self, page: ListingPage) -> list[str]:
        crawl = self.checks.crawl_of(page.job)
        obey = self.obey_nofollow and not crawl.nofollow
        if (obey and page.nofollow) or page.job.pages >= MOST_PAGES:
            return []
        try:
            exclude = UrlFilter(exclude=UrlFilter.read(page.job.url_filter).exclude)
        except BAD_INPUT:  # as for links: a filter that cannot be read accepts nothing
            return []
        domain = registered_domain(page.url)
        return [
            url
            for url in page.continues
            if (
                crawl.scope.decide(url, page_url=page.url).accepted
                if crawl.scope.rules
                else registered_domain(url) == domain
            )
            and not (obey and url in page.nofollow_links)
            and exclude.accepts(url)
        ]

    def _unfollowed(self, jobs: Sequence[UrlJob]) -> list[UrlJob]:
        """The jobs whose call has not followed their page's continuation as deep yet."""
        if self.followed_pages is None:
            return list(jobs)
        new = [job for job in jobs if not job.request_id]
        for name, depths in _by_call(jobs).items():
            known = self.followed_pages.depths(name, list(depths))
            of_url = dict(zip(depths, known, strict=True))
            new += [
                job
                for job in jobs
                if job.request_id + CONTINUED == name and _is_new(of_url[job.url], job.depth)
            ]
        return new


def _of_record(
    jobs: Mapping[str, UrlJob], record: Record, links: Mapping[str, Sequence[tuple[str, str]]]
) -> ListingPage:
    url = record.canonical_url
    nofollow = {target for target, rel in links.get(url, ()) if "nofollow" in rel.split()}
    page_asks = bool(record.facts.get("nofollow"))
    return ListingPage(jobs[url], url, continuation(record.fields), page_asks, nofollow)


def continuation(fields: Mapping[str, bytes]) -> tuple[str, ...]:
    """The URLs that continue a page with these fields."""
    found = (PageItems.read(value) for name, value in fields.items() if kind_in(name))
    return tuple(dict.fromkeys(url for items in found for url in items.follow))


def _is_new(known: int | None, depth: int) -> bool:
    return known is None or (known != FULL and known < depth)


def _by_call(jobs: Iterable[UrlJob]) -> dict[str, dict[str, int]]:
    calls: dict[str, dict[str, int]] = defaultdict(dict)
    for job in jobs:
        if job.request_id:
            calls[job.request_id + CONTINUED][job.url] = job.depth
    return calls


def _options(job: UrlJob) -> EnqueueOptions:
    return EnqueueOptions(
        depth=job.depth,
        pages=job.pages + 1,
        refresh=job.refresh,
        priority=job.priority,
        url_filter=job.url_filter,
        request_id=job.request_id,
        purposes=job.purposes,
        found_on=job.traceparent,
        crawl_number=job.crawl,
    )
