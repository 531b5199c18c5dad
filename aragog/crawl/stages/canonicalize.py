"""
Determines the canonical URL, links, fields and next refresh of each page in a batch.

This stage is safe to run twice: the second run only writes another blob to the spool, and its links
are merged with those of the first run.

If a worker dies while it analyzes a batch (`page_limits.RunMarks`), the batch is split into
individual pages. If a worker then dies twice on a single page, that page is stored as Unreadable
without analysis.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.finished_urls import finished_messages, takedown_results
from aragog.crawl.pipeline.messages import FetchResult, PageBatch, ResultBatch, UrlJob
from aragog.crawl.pipeline.ports import BodyStore, InFlight, Marks
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, most_urgent_priority
from aragog.crawl.pipeline.url_traces import TRACING_OFF, StageSpans, UrlTraces
from aragog.crawl.stages import damaged, page_scope
from aragog.crawl.stages.crawl_checks import TAKEN_DOWN, CrawlChecks, filter_wanted
from aragog.crawl.stages.crawl_endings import CrawlEndings
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.not_modified import ConfirmedPages, ConfirmedResults
from aragog.crawl.stages.page_analysis import (
    candidate_urls,
    decide_canonical,
    named_agent,
    read_known_chains,
)
from aragog.crawl.stages.page_limits import MAX_RUNS_LOST
from aragog.crawl.stages.page_reading import FAILED_REASON, PageReader, Readings
from aragog.crawl.stages.page_updates import (
    PageUpdate,
    confirmed_update,
    failure_update,
    page_update,
    reservation_reason,
    reserved_update,
    to_blob,
)
from aragog.crawl.stages.returning_jobs import ReturningJobs
from aragog.fetch_record.outcome import OutcomeKind
from aragog.observability.logs import log_url
from aragog.pages.items import load_kinds
from aragog.settings import Settings
from aragog.urlstore.records import Record
from aragog.urlstore.store import UrlStore
from urlspelling.canonical import KnownPage

log = logging.getLogger(__name__)

OUTCOMES_KEEPING_PAGE = (OutcomeKind.NOT_MODIFIED, OutcomeKind.BUSY, OutcomeKind.UNREACHABLE)
"""These outcomes leave a stored page unchanged."""


@dataclass(frozen=True, slots=True)
class CanonicalizeStage:
    """Turns fetch results into page updates."""

    spool: BodyStore
    store: UrlStore
    in_flight: InFlight
    marks: Marks
    discovery: Discovery
    returning_jobs: ReturningJobs
    settings: Settings
    traces: UrlTraces = TRACING_OFF
    checks: CrawlChecks = field(default_factory=CrawlChecks)

    def run(self, batch: ResultBatch) -> list[OutgoingMessage]:
        """
        Return one message to `store` for the whole batch, and fetches for URLs whose body has
        expired. If a worker died during an earlier run, returns one message to `canonicalize` per
        page instead.

        A page that cannot be analyzed is stored as Unreadable.

        Raises:
            TransientError: Redis or the store did not respond; the batch runs again.
        """
        with self.traces.stage("canonicalize", (r.job for r in batch.results)) as spans:
            return spans.with_departure_times(self._run(batch, spans))

    def _run(self, batch: ResultBatch, spans: StageSpans) -> list[OutgoingMessage]:
        batch, outgoing = self._drop_taken_down(self._keep_wanted(batch))
        tokens = [result.token for result in batch.results if result.token]
        runs_lost = self.marks.start_run(tokens) if tokens else 0
        if runs_lost:
            self.returning_jobs.counters.add({counters.RUNS_LOST: 1})
            log.warning("a process was lost while it read %s", _describe(batch))
            if len(tokens) > 1:
                # Do not reset the count of lost runs, in case the messages are not sent.
                return outgoing + _split_into_single_pages(batch)
        try:
            give_up = runs_lost >= MAX_RUNS_LOST
            return outgoing + self._canonicalize(batch, tokens, spans, give_up=give_up)
        finally:
            self.marks.end_run(tokens)

    def _keep_wanted(self, batch: ResultBatch) -> ResultBatch:
        """Drop the URLs that no crawl wants anymore, and delete their bodies."""
        wanted = filter_wanted(batch.results, self.checks)
        wanted_urls = {result.job.url for result in wanted}
        self.spool.free(
            [r.token for r in batch.results if r.token and r.job.url not in wanted_urls]
        )
        return ResultBatch(tuple(wanted))

    def _canonicalize(
        self, batch: ResultBatch, tokens: Sequence[str], spans: StageSpans, *, give_up: bool
    ) -> list[OutgoingMessage]:
        blobs = dict(zip(tokens, self.spool.get_many(tokens), strict=True))
        readable = {token: self.store.bodies.readable(blob) for token, blob in blobs.items()}
        bodies = {token: blob for token, blob in readable.items() if blob is not None}
        expired = [r for r in batch.results if r.token and r.token not in bodies]
        present = [r for r in batch.results if r not in expired] if expired else batch.results
        confirmed = self._apply_confirmations(present)
        present = confirmed.results
        bodies |= confirmed.bodies
        reader = PageReader(
            self.discovery.sitemaps,
            self.returning_jobs.counters,
            self.settings.pipeline,
            named_agent(self.settings.fetch),
            self.settings.extract,
            self.settings.preferences.drafts,
            spans,
            self.discovery.find_watched(present),
            self.settings.fetch.content_types,
            self.store.bodies,
        )
        readings = reader.read(present, bodies, give_up=give_up)
        rules = page_scope.excluded_pages(present, readings.analyses, self.checks)
        excluded_messages = self._end_excluded([r for r in present if r.job.url in rules], rules)
        present = [result for result in present if result.job.url not in rules]
        confirmed = replace(confirmed, results=present)
        self.discovery.sitemaps.record_unchanged(
            r for r in present if r.fetch.outcome is OutcomeKind.NOT_MODIFIED
        )
        updates = self._build_updates(confirmed, readings, spans)
        self.discovery.follow_links(
            [
                (result, readings.analyses[result.job.url])
                for result in present
                if result.job.url in readings.analyses
            ],
            [r for r in present if r.job.url not in readings.analyses and not r.job.sitemap],
        )
        self._follow_stored(present)
        outgoing = [self._make_store_message(present, updates)] if updates else []
        refetches = self.returning_jobs.refetch([result.job for result in expired])
        return outgoing + excluded_messages + refetches

    def _end_excluded(
        self, results: Sequence[FetchResult], rules: Mapping[str, str]
    ) -> list[OutgoingMessage]:
        """
        End the jobs of pages that their crawls exclude. Returns replies to callers, and jobs for
        other crawls that want the pages.
        """
        if not results:
            return []
        jobs = [result.job for result in results]
        endings = CrawlEndings(self.in_flight, self.store.crawls, self.checks)
        next_jobs = page_scope.end_excluded(jobs, rules, endings)
        self.spool.free([result.token for result in results if result.token])
        replies = finished_messages(jobs, page_scope.make_results(rules))
        return replies + self.returning_jobs.delayed((job, 0) for job in next_jobs)

    def _follow_stored(self, results: Sequence[FetchResult]) -> None:
        """Follow the stored links of pages whose fetch found nothing new."""
        has_lists = bool(load_kinds(self.settings.extract))
        unchanged = [r.job for r in results if r.fetch.outcome in OUTCOMES_KEEPING_PAGE]
        jobs = [job for job in unchanged if job.depth > 0 or has_lists]
        if not jobs:
            return
        records: list[tuple[UrlJob, Record | None]] = []

        def read(part: Sequence[UrlJob]) -> None:
            stored = self.store.get_many([job.url for job in part], fields=[])
            records.extend(zip(part, stored, strict=True))

        damaged.isolate(jobs, read)
        self.discovery.follow_stored(records, was_just_fetched=True)

    def _drop_taken_down(self, batch: ResultBatch) -> tuple[ResultBatch, list[OutgoingMessage]]:
        """
        Drop URLs that were taken down since their fetch, and delete their bodies. Also returns the
        results for callers waiting for those URLs.
        """
        result_urls = [
            {r.job.url, r.fetch.final_url, *(hop.url for hop in r.fetch.hops)}
            for r in batch.results
        ]
        refused = self.store.takedowns.refused(set().union(*result_urls))
        if not refused:
            return batch, []
        taken_down = [
            r for r, urls in zip(batch.results, result_urls, strict=True) if urls & refused
        ]
        self.spool.free([result.token for result in taken_down if result.token])
        self.in_flight.clear([result.job.url for result in taken_down], TAKEN_DOWN)
        jobs = [result.job for result in taken_down]
        replies = finished_messages(jobs, takedown_results(job.url for job in jobs))
        remaining = tuple(r for r in batch.results if r not in taken_down)
        return replace(batch, results=remaining), replies

    def _apply_confirmations(self, results: Sequence[FetchResult]) -> ConfirmedResults:
        agent, drafts = named_agent(self.settings.fetch), self.settings.preferences.drafts
        return ConfirmedPages(self.store, self.spool, agent, drafts).apply(results)

    def _build_updates(
        self, confirmed: ConfirmedResults, readings: Readings, spans: StageSpans
    ) -> list[PageUpdate]:
        analyses = readings.analyses
        declared = set().union(
            *(candidate_urls(analysis.evidence) for analysis in analyses.values())
        )
        pages = read_known_chains(declared, self._read_known_pages)
        updates = []
        for result in confirmed.results:
            url = result.job.url
            analysis, confirmation = analyses.get(url), confirmed.responses.get(url)
            if analysis is None:
                failed_result = _with_failure(result, readings.problems)
                headers = confirmed.headers.get(url)
                source = readings.sources.get(url) if result.job.sitemap else None
                updates.append(
                    failure_update(failed_result, self.settings, headers=headers, source=source)
                )
            elif reason := reservation_reason(result, analysis, self.settings.preferences):
                updates.append(reserved_update(result, analysis, reason, self.settings))
            else:
                decision = decide_canonical(analysis.evidence, pages)
                update = page_update(result, analysis, decision, self.settings)
                updates.append(confirmed_update(update, confirmation) if confirmation else update)
            canonical = updates[-1].write.canonical_url
            spans.set(result.job, canonical_url=canonical)
            log_url(
                log,
                "canonicalized",
                result.job.url,
                result.job.request_id,
                canonical=canonical,
                **spans.ids(result.job),
            )
        return updates

    def _read_known_pages(self, urls: Sequence[str]) -> dict[str, KnownPage]:
        pages: dict[str, KnownPage] = {}
        damaged.isolate(urls, lambda part: pages.update(self.store.pages.known(part)))
        return pages

    def _make_store_message(
        self, results: Sequence[FetchResult], updates: Sequence[PageUpdate]
    ) -> OutgoingMessage:
        (token,) = self.spool.put_many([to_blob(updates)])
        bodies = tuple(result.token for result in results if result.token)
        jobs = tuple(result.job for result in results)
        needs_dictionary = any(result.needs_dictionary for result in results)
        batch = PageBatch(token, jobs, bodies, needs_dictionary)
        return OutgoingMessage(Destination.STORE, batch, priority=most_urgent_priority(jobs))


def _describe(batch: ResultBatch) -> str:
    first_url, *other_urls = [result.fetch.final_url for result in batch.results if result.token]
    return f"{first_url} and {len(other_urls)} other pages" if other_urls else first_url


def _split_into_single_pages(batch: ResultBatch) -> list[OutgoingMessage]:
    single_pages = [(result,) for result in batch.results if result.token]
    others = tuple(result for result in batch.results if not result.token)
    return [
        OutgoingMessage(
            Destination.CANONICALIZE,
            ResultBatch(results),
            priority=most_urgent_priority(result.job for result in results),
        )
        for results in (*single_pages, others)
        if results
    ]


def _with_failure(result: FetchResult, problems: Mapping[str, str]) -> FetchResult:
    """Return the result, marked Unreadable with the reason if its page could not be analyzed."""
    problem = problems.get(result.job.url)
    if problem is None and (result.fetch.outcome is not OutcomeKind.FETCHED or result.job.sitemap):
        return result
    unreadable = replace(
        result.fetch, outcome=OutcomeKind.UNREADABLE, reason=problem or FAILED_REASON
    )
    return replace(result, fetch=unreadable)
