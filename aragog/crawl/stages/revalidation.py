"""
Revalidation: selects the jobs of a batch to fetch, and their validators (ETag, Last-Modified).

Drops URLs that were taken down. Drops stored URLs too, unless a refresh is requested, and follows
their links from the store. Postpones URLs whose rows are in a damaged file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.crawl_records import REFRESHED
from aragog.crawl.pipeline.finished_urls import (
    finished_messages,
    make_record_result,
    takedown_results,
)
from aragog.crawl.pipeline.messages import AS_KEPT, UrlJob
from aragog.crawl.pipeline.ports import CounterSink, InFlight
from aragog.crawl.pipeline.routing import OutgoingMessage
from aragog.crawl.stages import damaged, page_scope
from aragog.crawl.stages.crawl_checks import TAKEN_DOWN, CrawlChecks
from aragog.crawl.stages.crawl_endings import CrawlEndings
from aragog.crawl.stages.returning_jobs import Delayed
from aragog.urlstore.item_files import is_stored_file
from aragog.urlstore.kept_for import USUAL, crawl_name, crawls_of, purposes_of
from aragog.urlstore.records import Record, is_expired
from aragog.urlstore.store import UrlStore


class StoredPageFollower(Protocol):
    """Enqueues the links of stored pages that this call does not fetch."""

    def follow_stored(self, pages: Iterable[tuple[UrlJob, Record | None]]) -> int:
        """See `aragog.crawl.stages.discovery.Discovery.follow_stored`."""


@dataclass(frozen=True, slots=True)
class StoredValidators:
    """A stored page's validators, and the only URL that may receive them."""

    url: str | None = None
    etag: str | None = None
    last_modified: str | None = None


@dataclass(frozen=True, slots=True)
class Selection:
    """The jobs of a batch that continue."""

    jobs: list[UrlJob]
    postponed: list[Delayed]
    validators: dict[str, StoredValidators]
    """Validators for conditional requests, by URL."""
    replies: list[OutgoingMessage] = field(default_factory=list)
    """Results for callers whose jobs end here."""


@dataclass(frozen=True, slots=True)
class JobSelection:
    """Selects the jobs to fetch."""

    store: UrlStore
    in_flight: InFlight
    counters: CounterSink
    discovery: StoredPageFollower | None = None
    checks: CrawlChecks = field(default_factory=CrawlChecks)

    def select(self, jobs: Sequence[UrlJob]) -> Selection:
        """
        Select the jobs to fetch, and remove the others from the in-flight set. Takes two
        multi-gets.
        """
        servable, blocked = damaged.split(jobs, self.store)
        open_jobs, replies = self._drop_taken_down(servable)
        records, unreadable = self._read_records([job for job in open_jobs if _is_at_start(job)])
        open_jobs = [_with_purposes_of_crawl(job, records.get(job.url)) for job in open_jobs]
        open_jobs = [_match_stored_kind(job, records.get(job.url)) for job in open_jobs]
        starting = [job for job in open_jobs if _is_at_start(job)]
        expired_urls = self._withdraw_expired([job for job in starting if job.refresh], records)
        stored_jobs = [
            job for job in starting if not job.refresh and _has_page(job, records.get(job.url))
        ]
        validators = {
            job.url: _make_validators(record)
            for job in starting
            if job.url not in expired_urls
            and (record := records.get(job.url))
            and (is_scheduled_reading(job) or (not job.sitemap and _is_complete(record)))
        }
        rules = page_scope.excluded_stored_pages(stored_jobs, records, self.checks)
        excluded_jobs = [job for job in stored_jobs if job.url in rules]
        stored_jobs = [job for job in stored_jobs if job.url not in rules]
        if self.discovery:  # `aragog run` only waits for links recorded before the page's job ends
            self.discovery.follow_stored([(job, records.get(job.url)) for job in stored_jobs])
        self.counters.add({counters.ALREADY_STORED: len(stored_jobs)})
        next_jobs = self._end_stored(stored_jobs, records) + self._end_excluded(
            excluded_jobs, rules
        )
        replies += finished_messages(
            stored_jobs,
            {job.url: make_record_result(job.url, records.get(job.url)) for job in stored_jobs},
        )
        replies += finished_messages(excluded_jobs, page_scope.make_results(rules))
        dropped_urls = {job.url for job in (*stored_jobs, *excluded_jobs, *unreadable)}
        to_fetch = [job for job in open_jobs if job.url not in dropped_urls]
        postponed = damaged.postpone([*blocked, *unreadable]) + [(job, 0) for job in next_jobs]
        return Selection(to_fetch, postponed, validators, replies)

    def _end_stored(
        self, jobs: Sequence[UrlJob], records: Mapping[str, Record | None]
    ) -> list[UrlJob]:
        """End jobs whose pages are stored. Returns jobs for other crawls that want the URLs."""
        if not jobs:
            return []
        canonical_urls = {url: record.canonical_url for url, record in records.items() if record}
        endings = CrawlEndings(self.in_flight, self.store.crawls, self.checks)
        return endings.end_stored(jobs, canonical_urls, self.store.clock.now_ms())

    def _end_excluded(self, jobs: Sequence[UrlJob], rules: Mapping[str, str]) -> list[UrlJob]:
        """End jobs if their crawls exclude the stored pages. Returns jobs for other crawls."""
        if not jobs:
            return []
        endings = CrawlEndings(self.in_flight, self.store.crawls, self.checks)
        return page_scope.end_excluded(jobs, rules, endings)

    def _withdraw_expired(
        self, jobs: Sequence[UrlJob], records: Mapping[str, Record | None]
    ) -> set[str]:
        """Return the URLs whose `unavailable_after` has passed, and delete their stored pages."""
        now_ms = self.store.clock.now_ms()
        expired_urls = {
            job.url
            for job in jobs
            if (record := records.get(job.url)) and is_expired(record.facts, now_ms)
        }
        for url in expired_urls:
            self.store.takedowns.withdraw(url, now_ms)
        return expired_urls

    def _drop_taken_down(
        self, jobs: Sequence[UrlJob]
    ) -> tuple[list[UrlJob], list[OutgoingMessage]]:
        """
        Return the jobs that may continue, and the results for the callers of the other jobs.

        A job ends here if its URL, or one that it was redirected through, was taken down.
        """
        requested_urls = {
            job.url: {job.url, job.next_url, *(hop.url for hop in job.hops)} for job in jobs
        }
        refused_urls = self.store.takedowns.refused(set().union(*requested_urls.values()))
        if not refused_urls:
            return list(jobs), []
        taken_down = {url for url, urls in requested_urls.items() if urls & refused_urls}
        self.in_flight.clear(sorted(taken_down), TAKEN_DOWN)
        self.counters.add({counters.REFUSED: len(taken_down)})
        replies = finished_messages(
            (job for job in jobs if job.url in taken_down), takedown_results(taken_down)
        )
        return [job for job in jobs if job.url not in taken_down], replies

    def _read_records(
        self, jobs: Sequence[UrlJob]
    ) -> tuple[dict[str, Record | None], list[UrlJob]]:
        """Return the records by URL, and the jobs whose records are in a damaged file."""
        records: dict[str, Record | None] = {}
        fields = [page_scope.LANGUAGE] if page_scope.has_page_rules(jobs, self.checks) else []

        def read(part: Sequence[UrlJob]) -> None:
            urls = [job.url for job in part]
            records.update(zip(urls, self.store.get_many(urls, fields=fields), strict=True))

        return records, damaged.isolate(jobs, read)


def is_scheduled_reading(job: UrlJob) -> bool:
    """
    Return True if the refresh schedule is reading this sitemap or feed again. A 304 is then enough.

    A walk reads each of a site's sitemaps completely, for its own crawl, filter and scope.
    """
    return job.sitemap and job.crawl == REFRESHED


def _is_at_start(job: UrlJob) -> bool:
    """Return False for a job in the middle of redirects or attempts. Such jobs always continue."""
    return not job.hops and (job.refresh or not job.attempt)


def _with_purposes_of_crawl(job: UrlJob, record: Record | None) -> UrlJob:
    """Return the job. A refresh gets the purposes of a crawl that keeps the page."""
    if job.purposes != AS_KEPT:
        return job
    crawls = crawls_of(record.facts) if record else frozenset[str]()
    crawl = USUAL if USUAL in crawls else min(crawls, default=USUAL)
    return replace(job, purposes=purposes_of(crawl))


def _match_stored_kind(job: UrlJob, record: Record | None) -> UrlJob:
    """
    Return the job as a file or a page, whichever is stored for its URL.

    An item may use a page as its file, and a link may lead to an image.
    """
    if job.sitemap or record is None or not record.content_key:
        return job
    return replace(job, file=is_stored_file(record))


def _has_page(job: UrlJob, record: Record | None) -> bool:
    """
    Return True if a page is stored for the job's crawl, even if later fetches failed.

    A site may allow a page for other crawls' purposes, but not for this crawl's.
    """
    if record is None or not record.content_key:
        return False
    crawls = crawls_of(record.facts)
    return not crawls or crawl_name(job.purposes) in crawls


def _is_complete(record: Record) -> bool:
    """Return True if the content is complete. A 304 would leave a truncated page truncated."""
    return bool(record.content_key) and not record.facts.get("truncated")


def _make_validators(record: Record) -> StoredValidators:
    final_url, etag, modified = (
        _text_or_none(record.facts.get(name)) for name in ("final_url", "etag", "last_modified")
    )
    return StoredValidators(final_url, etag, modified)


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None
