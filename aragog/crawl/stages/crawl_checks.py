"""
Checks before each pipeline step whether a crawl still wants the URL.

Each process keeps a copy of the crawl registry that is at most one second old. The check costs
nothing unless a crawl has ended or is paused, or URLs were cancelled. In that case, one round trip
checks the jobs' in-flight entries, and a URL that another crawl wants continues for that crawl.

It is safe to run twice: a URL is removed from a crawl's set of waiting URLs only once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from aragog.crawl.pipeline.crawl_records import ENQUEUED, CrawlRecord
from aragog.crawl.pipeline.crawls import Crawls
from aragog.crawl.pipeline.in_flight_values import CancelQuery, NextCrawl, NextStep
from aragog.crawl.pipeline.messages import FetchResult, UrlJob
from aragog.crawl.stages.returning_jobs import restart
from aragog.crawl.stages.waiting_line import WaitingJob, paused_line

TAKEN_DOWN = "taken down"
"""The outcome of URLs that were taken down while waiting."""


class CrawlSource(Protocol):
    """The states of all crawls (`aragog.crawl.pipeline.crawl_registry.CrawlRegistry`)."""

    def crawls(self) -> Crawls:
        """Return a copy of the states that is at most one second old."""

    def read(self) -> Crawls:
        """Read the states from Redis."""


class StoppableUrls(Protocol):
    """Knows which crawls want each URL (`aragog.crawl.pipeline.in_flight.InFlightSet`)."""

    def stop(
        self, queries: Sequence[CancelQuery], *, ended: Iterable[int], paused: Iterable[int]
    ) -> list[NextStep | NextCrawl]:
        """Remove the jobs' URLs from the sets of ended crawls. Returns what to do with each job."""


class NoCrawls:
    """A registry without crawls."""

    def crawls(self) -> Crawls:
        return Crawls()

    def read(self) -> Crawls:
        return Crawls()


class RemainingJobs(NamedTuple):
    """The jobs that a crawl still wants. All others have ended."""

    jobs: list[UrlJob]
    paused: list[UrlJob]

    def line_entries(self) -> list[WaitingJob]:
        """
        Return the jobs that wait for paused crawls, as entries for those crawls' lines (waiting
        queues).
        """
        return [
            WaitingJob(_without_slot(job), paused_line(job.crawl), None, 0) for job in self.paused
        ]


@dataclass(frozen=True, slots=True)
class CrawlChecks:
    """
    Checks jobs against the crawl registry.

    Args:
        in_flight: which crawls want each URL. If None, a URL only belongs to its job's crawl.
    """

    registry: CrawlSource = field(default_factory=NoCrawls)
    in_flight: StoppableUrls | None = None

    def get_crawl(self, job: UrlJob) -> CrawlRecord:
        """Return a job's crawl, even one that was just started."""
        crawls = self.registry.crawls()
        if not crawls.is_known(job.crawl):
            crawls = self.registry.read()
        return crawls.get_record(job.crawl)

    def wanted(self, jobs: Sequence[UrlJob], *, pausing: bool = True) -> RemainingJobs:
        """
        Return the jobs to continue with, in order, each assigned to a crawl that wants it.

        With `pausing=False`, jobs of paused crawls continue too: use this for steps that send no
        request.
        """
        crawls = self.registry.crawls()
        if crawls.can_all_continue or self.in_flight is None:
            return RemainingJobs(list(jobs), [])
        paused = crawls.paused if pausing else frozenset()
        next_steps = self._next_steps(jobs, crawls, paused)
        continuing: list[UrlJob] = []
        waiting: list[UrlJob] = []
        for index, job in enumerate(jobs):
            reply = next_steps.get(index, NextStep.CONTINUES)
            if isinstance(reply, NextCrawl):
                jobs_to_extend = waiting if reply.crawl in paused else continuing
                jobs_to_extend.append(assign_to_crawl(job, reply, crawls))
            elif reply is NextStep.CONTINUES:
                continuing.append(job)
            elif reply is NextStep.WAITS:
                waiting.append(job)
        return RemainingJobs(continuing, waiting)

    def clear(self, urls: Sequence[str]) -> None:
        """Remove cancelled URLs from their crawls' sets."""
        crawls = self.registry.crawls()
        if self.in_flight is None or not (crawls.cancellations or crawls.ended):
            return
        queries = [
            CancelQuery(url, ENQUEUED, cancelled_until_s=crawls.cancelled_until_s(url))
            for url in urls
        ]
        self.in_flight.stop(queries, ended=crawls.ended, paused=())

    def _next_steps(
        self, jobs: Sequence[UrlJob], crawls: Crawls, paused: Collection[int]
    ) -> dict[int, NextStep | NextCrawl]:
        queries: dict[int, CancelQuery] = {}
        for index, job in enumerate(jobs):
            cancelled_until_s = crawls.cancelled_until_s(job.url) if crawls.cancellations else 0
            if cancelled_until_s or job.crawl in crawls.ended or job.crawl in paused:
                queries[index] = CancelQuery(job.url, job.crawl, job.depth, cancelled_until_s)
        if not queries or self.in_flight is None:
            return {}
        replies = self.in_flight.stop(list(queries.values()), ended=crawls.ended, paused=paused)
        return dict(zip(queries, replies, strict=True))


def filter_wanted(results: Sequence[FetchResult], checks: CrawlChecks) -> list[FetchResult]:
    """Return the results that a crawl still wants, even a paused one, each assigned to it."""
    jobs = checks.wanted([result.job for result in results], pausing=False).jobs
    jobs_by_url = {job.url: job for job in jobs}
    return [
        result
        if result.job is jobs_by_url[result.job.url]
        else replace(result, job=jobs_by_url[result.job.url])
        for result in results
        if result.job.url in jobs_by_url
    ]


def assign_to_crawl(job: UrlJob, next_crawl: NextCrawl, crawls: Crawls) -> UrlJob:
    """Return the job, assigned to another crawl that wants the URL."""
    record = crawls.get_record(next_crawl.crawl)
    return replace(
        job,
        crawl=next_crawl.crawl,
        depth=job.depth if next_crawl.depth is None else next_crawl.depth,
        priority=record.priority,
        purposes=record.purposes,
        url_filter="",
    )


def next_crawl_job(job: UrlJob, next_crawl: NextCrawl, crawls: Crawls) -> UrlJob:
    """Return the job that fetches a URL for the next crawl when the previous one is done."""
    inherited_job = restart(assign_to_crawl(job, next_crawl, crawls))
    # The page's links were followed for another request ID. This crawl must follow them too.
    return replace(inherited_job, attempt=0, refresh=False, request_id=f"crawl-{next_crawl.crawl}")


def _without_slot(job: UrlJob) -> UrlJob:
    return replace(job, slot_at_ms=None)
