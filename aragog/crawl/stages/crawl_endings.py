"""
Counts the outcomes of URLs, and passes each URL on to the next crawl that wants it.

A page joins a crawl when the crawl's name is added to the page's node in the store. Only then does
the URL leave the crawl's set of waiting URLs. If the process is killed in between, the job runs
again and has the same effect. A page is fetched once for all crawls that want it. The other crawls
then get jobs that find the stored page, follow its links to their own depth, and end.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from aragog.crawl.pipeline.crawl_counts import (
    DUPLICATE,
    REPEATED,
    STORED,
    UNCHANGED,
    CrawlCounters,
)
from aragog.crawl.pipeline.crawl_records import REFRESHED, CrawlPhase
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.in_flight_values import UrlEnding
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.ports import InFlight
from aragog.crawl.stages.crawl_checks import CrawlChecks, next_crawl_job
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.crawl_members import CrawlMembers
from aragog.urlstore.records import PageWrite, Written

MAX_BYTES_REASON = "it has fetched max_bytes"
SUPERSEDED = "superseded"
"""The outcome of a page that was replaced or removed in the meantime."""
_PAGE_OUTCOMES = (OutcomeKind.FETCHED, OutcomeKind.NOT_MODIFIED)
_OUTCOMES_WITH_STATUS = (OutcomeKind.GONE, OutcomeKind.BUSY, OutcomeKind.UNREACHABLE)


class EndedUrl(NamedTuple):
    """A URL that is done."""

    job: UrlJob
    outcome: str
    canonical_url: str | None = None
    """The page that now belongs to the crawl. None if the URL led to no page."""
    at_ms: int = 0
    bytes: int = 0
    for_all: bool = False
    """True if the URL ended for all crawls that want it."""
    existed: bool = False
    """True if the page was already stored, even outside any crawl."""
    notes: tuple[str, ...] = ()
    """See `UrlEnding`."""
    joined: str = ""
    """The crawl that the page joined when it was written (`Written.crawl`)."""


@dataclass(frozen=True, slots=True)
class CrawlEndings:
    """Records how URLs ended for their crawls."""

    in_flight: InFlight
    members: CrawlMembers
    checks: CrawlChecks
    limits: CrawlLimits | None = None

    def end(self, ended: Sequence[EndedUrl]) -> list[UrlJob]:
        """
        Count the URLs' outcomes. Returns jobs for the URLs that another crawl wants.

        Raises:
            TransientError: Redis or the store did not respond; run it again.
        """
        self._add_members(ended)
        next_crawls = self.in_flight.end(
            [
                UrlEnding(e.job.url, e.job.crawl, e.outcome, e.bytes, e.for_all, e.notes)
                for e in ended
            ]
        )
        if self.limits:
            self.limits.check({e.job.crawl for e in ended if e.bytes})
        crawls = self.checks.registry.crawls()
        return [
            next_crawl_job(ending.job, next_crawl, crawls)
            for ending, next_crawl in zip(ended, next_crawls, strict=True)
            if next_crawl is not None
        ]

    def _add_members(self, ended: Iterable[EndedUrl]) -> None:
        new_pages: dict[str, dict[str, int]] = defaultdict(dict)
        stored_pages: dict[str, dict[str, int]] = defaultdict(dict)
        for ending in ended:
            name = self.get_crawl_name(ending.job)
            if ending.canonical_url and name and name != ending.joined:
                pages_by_crawl = stored_pages if ending.existed else new_pages
                pages_by_crawl[name][ending.canonical_url] = ending.at_ms
        # Add new pages first: if two URLs of a page end together, the second finds the page stored.
        for name, pages in new_pages.items():
            self.members.add(name, pages)
        for name, pages in stored_pages.items():
            self.members.add_stored(name, pages)

    def get_crawl_name(self, job: UrlJob) -> str:
        """Return the name of a job's crawl; empty if the store does not record its pages."""
        return "" if job.crawl == REFRESHED else self.checks.get_crawl(job).name

    def end_stored(
        self, jobs: Sequence[UrlJob], urls: Mapping[str, str], now_ms: int
    ) -> list[UrlJob]:
        """
        End jobs whose pages are stored. Returns jobs for other crawls that want the URLs.

        Args:
            jobs: jobs with stored pages.
            urls: the canonical URL of each page, by the URL of its job.
            now_ms: the current time by the store's clock.
        """
        urls_by_crawl: dict[str, list[str]] = defaultdict(list)
        for job in jobs:
            urls_by_crawl[self.get_crawl_name(job)].append(job.url)
        members = {
            (name, url)
            for name, crawl_urls in urls_by_crawl.items()
            for url in (self.members.among(name, crawl_urls) if name else crawl_urls)
        }
        return self.end([self._stored_ending(job, urls[job.url], now_ms, members) for job in jobs])

    def _stored_ending(
        self, job: UrlJob, canonical_url: str, now_ms: int, members: set[tuple[str, str]]
    ) -> EndedUrl:
        if (self.get_crawl_name(job), job.url) in members:
            return EndedUrl(job, REPEATED)
        return EndedUrl(job, STORED, canonical_url, now_ms, existed=True)


@dataclass(frozen=True, slots=True)
class CrawlLimits:
    """Ends crawls at their byte limit."""

    registry: CrawlRegistry
    counts: CrawlCounters

    def check(self, numbers: Iterable[int]) -> None:
        """Check the crawls with these numbers after storing their pages."""
        crawls = self.registry.crawls()
        for number in numbers:
            record = crawls.get_record(number)
            if record.max_bytes is None or record.has_ended or not record.name:
                continue
            # Bytes from before the current round or restart do not count.
            fetched = self.counts.totals([record.number]).bytes - record.round_bytes
            if number != record.number or fetched < record.max_bytes:
                continue
            if record.every_s:
                self.registry.end_round(record)
            else:
                self.registry.set_state(record.name, CrawlPhase.ENDED, MAX_BYTES_REASON)


def make_page_ending(job: UrlJob, write: PageWrite, written: Written | None) -> EndedUrl:
    """Return how a URL ended, once its page or failure is written."""
    fetch = write.confirmation or write.report
    outcome = str(write.facts.get("outcome") or "")
    body_bytes = 0 if fetch is None else fetch.body_bytes
    if written is not None and written.stale:
        return EndedUrl(job, SUPERSEDED, bytes=body_bytes)
    if outcome in _PAGE_OUTCOMES and not write.withdrawn and not job.sitemap:
        canonical_url = write.canonical_url if written is None else written.canonical_url
        return EndedUrl(
            job,
            STORED,
            canonical_url,
            write.fetched_at_ms,
            body_bytes,
            existed=written is not None and written.existed,
            notes=_notes(job, outcome, canonical_url),
            joined="" if written is None else written.crawl,
        )
    # Another crawl may have other permissions for the page, or extract other fields.
    for_all = outcome != OutcomeKind.RESERVED and outcome not in _PAGE_OUTCOMES
    return EndedUrl(job, _outcome_name(outcome, write), bytes=body_bytes, for_all=for_all)


def _notes(job: UrlJob, outcome: str, canonical_url: str) -> tuple[str, ...]:
    unchanged = (UNCHANGED,) if outcome == OutcomeKind.NOT_MODIFIED else ()
    return (*unchanged, DUPLICATE) if canonical_url != job.url else unchanged


def _outcome_name(outcome: str, write: PageWrite) -> str:
    """Return the outcome with its cause or status, such as `refused: robots` or `gone: 404`."""
    if outcome in _PAGE_OUTCOMES:
        return "sitemap"
    detail = write.facts.get("cause")
    if not detail and outcome in _OUTCOMES_WITH_STATUS:
        detail = write.facts.get("status")
    words = "".join(f" {c.lower()}" if c.isupper() else c for c in outcome).strip()
    return f"{words}: {detail}" if detail else words
