"""
Writes a batch's pages: first their content, then the records that point to it.

It is safe to run twice or late: content is replaced by the same content, a write never replaces a
newer one, and links go through the journal. If the worker is killed, the message is redelivered.
Spool tokens are freed only after everything is written.

The user's Celery task (`pipeline.page_ready_task`) gets a message per batch of stored pages:

    {"v": 1, "pages": [{"url": …, "canonical_url": …, "page_type": …, "fetched_at_ms": …}]}

Entries of traced URLs also have the trace's `traceparent`.

Delivery is at least once: a store task that runs twice sends the message twice. If a worker is
killed after it wrote a page, that page is fetched and reported again.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.crawl_log import CrawlLogStream, make_rows
from aragog.crawl.pipeline.finished_urls import finished_messages, make_write_result
from aragog.crawl.pipeline.messages import VERSION, PageBatch, UrlJob
from aragog.crawl.pipeline.ports import BodyStore, CounterSink, InFlight
from aragog.crawl.pipeline.routing import OutgoingMessage, UserTask, most_urgent_priority
from aragog.crawl.pipeline.url_traces import TRACING_OFF, StageSpans, UrlTraces
from aragog.crawl.stages import damaged
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.crawl_endings import CrawlEndings, CrawlLimits, make_page_ending
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.groups import Groups, WaitingBatch
from aragog.crawl.stages.page_updates import from_blob, with_body
from aragog.crawl.stages.returning_jobs import ReturningJobs
from aragog.crawl.stages.write_groups import MAX_BEGUN, WaitingWrite, WriteGroups
from aragog.errors import InvalidMessage
from aragog.observability.logs import log_url
from aragog.urlstore.packing import PackingPages
from aragog.urlstore.records import PageWrite, Written
from aragog.urlstore.store import UrlStore


@dataclass(frozen=True, slots=True)
class ReadyPages:
    """A message about stored pages."""

    pages: tuple[Mapping[str, Any], ...]

    def wire(self) -> dict[str, Any]:
        return {"v": VERSION, "pages": list(self.pages)}


def page_ready(
    task: UserTask | None, writes: Sequence[PageWrite], jobs: Sequence[UrlJob]
) -> list[OutgoingMessage]:
    """Return the message about the stored pages; none if there is no task or no page."""
    traced = {job.url: job.traceparent for job in jobs if job.traceparent}
    pages = tuple(_page(write, traced.get(write.url)) for write in writes if write.content)
    if task is None or not pages:
        return []
    priority = most_urgent_priority(jobs)
    return [OutgoingMessage(task, ReadyPages(pages), priority=priority, even_when_full=True)]


def _with_stored_url(write: PageWrite, done: Written | None) -> PageWrite:
    """Return the write with the canonical URL under which the page was stored."""
    if done is None or write.links is None or done.canonical_url == write.canonical_url:
        return write
    return replace(write, canonical_url=done.canonical_url)


def _answers(
    writes: Sequence[PageWrite], done: Mapping[str, Written], stuck: set[str]
) -> dict[str, dict[str, Any]]:
    return {
        write.url: make_write_result(write, done.get(write.url))
        for write in writes
        if write.url not in stuck
    }


def _page(write: PageWrite, traceparent: str | None) -> dict[str, Any]:
    page = {
        "url": write.url,
        "canonical_url": write.canonical_url,
        "page_type": write.facts.get("page_type"),
        "fetched_at_ms": write.fetched_at_ms,
    }
    return page | {"traceparent": traceparent} if traceparent else page


log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class BegunBatch:
    """A batch whose bodies are being written to a pack (a file of many bodies)."""

    batch: PageBatch
    writes: tuple[PageWrite, ...] = ()
    lost: frozenset[str] = frozenset()
    """URLs to fetch again, because their bodies are gone from the spool or unreadable."""
    packing: PackingPages | None = None
    """None if the batch is unreadable."""
    is_freed: bool = False
    """True if another version wrote the batch. Its bodies are then freed."""
    groups: WriteGroups | None = None
    """The group in which the batch waits to be written. None if it is written alone."""
    waiting: WaitingWrite | None = None
    """The batch's entry in its group, once the positions of its bodies are known."""

    def wait(self) -> BegunBatch:
        """
        Wait until the pack is stored. Returns the batch with its bodies' positions.

        Raises:
            ContentUnavailable: the pack could not be stored; run the batch again.
        """
        if self.packing is None:
            return self
        places = {write.url: write for write in self.packing.wait()}
        writes = tuple(places.get(write.url, write) for write in self.writes)
        waiting = self.groups.join(writes) if self.groups and writes else None
        return replace(self, writes=writes, waiting=waiting)


@dataclass(frozen=True, slots=True)
class StoreStage:
    """Writes page updates to the store."""

    spool: BodyStore
    store: UrlStore
    in_flight: InFlight
    counters: CounterSink
    returning_jobs: ReturningJobs
    page_ready_task: UserTask | None = None
    crawl_log: CrawlLogStream | None = None
    traces: UrlTraces = TRACING_OFF
    discovery: Discovery | None = None
    """Enqueues declared canonical URLs that must be fetched before they can be trusted. If None,
    they are not enqueued."""
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    limits: CrawlLimits | None = None
    """Ends crawls at their byte limit."""
    groups: WriteGroups = field(default_factory=WriteGroups)
    begins: Groups[PageBatch, BegunBatch] = field(default_factory=partial(Groups, MAX_BEGUN))

    @property
    def endings(self) -> CrawlEndings:
        """Counts the outcomes of URLs."""
        return CrawlEndings(self.in_flight, self.store.crawls, self.checks, self.limits)

    def run(self, batch: PageBatch) -> list[OutgoingMessage]:
        """
        Write a batch. Returns the messages to send.

        These are fetches of URLs whose blobs are gone or unreadable, delayed fetches of URLs whose
        rows are in a damaged file, and the stored pages for `page_ready_task`.

        Raises:
            TransientError: the store, the content store or Redis did not respond; run it again.
        """
        begun = self.begin(batch)
        return self.finish(begun.wait())

    def join(self, batch: PageBatch) -> WaitingBatch[PageBatch, BegunBatch] | None:
        """
        Let the next thread that begins a batch begin this one, too.

        Returns None for an urgent batch, because a caller waits for it.
        """
        return None if batch.is_urgent else self.begins.join([batch])

    def begin(
        self, batch: PageBatch, waiting: WaitingBatch[PageBatch, BegunBatch] | None = None
    ) -> BegunBatch:
        """
        Read a batch from the spool, and write its bodies to the open pack.

        Wait for the result, then call `finish`. Waiting takes no CPU and no connection. If the
        process is killed in between, the message is redelivered; its bodies are still in the spool.
        Pass the result of `join`, if any, as `waiting`.
        """
        begun = self.begins.handle(waiting, self._begin) if waiting else None
        return (begun or self._begin([batch]))[0]

    def _begin(self, received: Sequence[PageBatch]) -> list[BegunBatch]:
        """Begin batches together. An urgent batch must be alone."""
        batches = list(map(self._wanted, received))
        for before, batch in zip(received, batches, strict=True):
            if not batch.jobs:
                self.spool.free([before.token, *before.bodies])
        tokens = [token for one in batches if one.jobs for token in (one.token, *one.bodies)]
        blobs = dict(zip(tokens, self.spool.get_many(tokens), strict=True)) if tokens else {}
        read = [self._read(batch, blobs) for batch in batches]
        packed = iter(self._pack([one for one in read if one.packing]))
        return [next(packed) if one.packing else one for one in read]

    def _read(self, batch: PageBatch, blobs: Mapping[str, bytes | None]) -> BegunBatch:
        """Read a batch's pages, given its blobs by token."""
        blob = blobs.get(batch.token)
        if blob is None:
            # Either this message was already processed, and its URLs are fetched again in vain, or
            # it waited longer than the spool keeps bodies.
            return BegunBatch(batch, lost=frozenset(job.url for job in batch.jobs))
        try:
            updates = from_blob(blob)
        except InvalidMessage as error:
            # Another version wrote the blob, before or during an upgrade.
            log.warning("fetching %d URLs again: %s", len(batch.jobs), error)
            return BegunBatch(batch, lost=frozenset(job.url for job in batch.jobs), is_freed=True)
        wanted = {job.url for job in batch.jobs}
        updates = [update for update in updates if update.write.url in wanted]
        body_of = {token: self.store.bodies.storable(blobs[token]) for token in batch.bodies}
        lost = {u.write.url for u in updates if u.token and body_of.get(u.token) is None}
        endings = self.endings
        crawls = {job.url: endings.get_crawl_name(job) for job in batch.jobs if not job.sitemap}
        writes = tuple(
            self.store.timely(
                with_body(
                    update,
                    body_of[update.token] if update.token else None,
                    crawls.get(update.write.url, ""),
                )
            )
            for update in updates
            if update.write.url not in lost
        )
        return BegunBatch(batch, writes, frozenset(lost), PackingPages(writes))

    def _pack(self, read: Sequence[BegunBatch]) -> list[BegunBatch]:
        if not read:
            return []
        batches = [one.batch for one in read]
        tokens = [token for one in batches if one.bodies for token in (one.token, *one.bodies)]
        if tokens and self.store.bodies.in_packs:
            # The open pack must not block the fetches that would fill it.
            self.spool.mark_packed(tokens)
        now = any(batch.is_urgent for batch in batches)
        served = [list(filter(self._is_served, one.writes)) for one in read]
        counts = [len(batch.jobs) for batch in batches]
        packing = self.store.pack_batches(list(zip(served, counts, strict=True)), now=now)
        self.store.put_pack_if_last(self.in_flight.count)
        # Written alone: a caller waits for an urgent batch, and a damaged file would make the other
        # batches fail.
        return [
            replace(
                one,
                packing=pages,
                groups=None if now or len(some) < len(one.writes) else self.groups,
            )
            for one, pages, some in zip(read, packing, served, strict=True)
        ]

    def finish(self, begun: BegunBatch) -> list[OutgoingMessage]:
        """Write a batch's pages once its pack is stored. Returns and raises the same as `run`."""
        with self.traces.stage("store", begun.batch.jobs) as spans:
            outgoing = spans.with_departure_times(self._finish(begun, spans))
        # The open pack may have been waiting only for this batch.
        self.store.put_pack_if_last(self.in_flight.count)
        return outgoing

    def _wanted(self, batch: PageBatch) -> PageBatch:
        return replace(batch, jobs=tuple(self.checks.wanted(batch.jobs, pausing=False).jobs))

    def _finish(self, begun: BegunBatch, spans: StageSpans) -> list[OutgoingMessage]:
        batch, lost = begun.batch, set(begun.lost)
        if begun.packing is None:
            if begun.is_freed:
                self.spool.free([batch.token, *batch.bodies])
            return self.returning_jobs.refetch(batch.jobs)
        writes = list(begun.writes)
        done: dict[str, Written] = {}
        stuck = {write.url for write in self._write(writes, done, begun.waiting)}
        begun.packing.settle()
        self._ask(batch.jobs, writes, done)
        writes = [_with_stored_url(write, done.get(write.url)) for write in writes]
        if self.crawl_log:
            written = [write for write in writes if write.url not in stuck]
            self.crawl_log.add(make_rows(written, batch.jobs, done))
        dropped = {url for url, written in done.items() if written.stale}
        stored = [write for write in writes if write.url not in stuck | dropped]
        self.counters.add({counters.STORED: sum(1 for write in stored if write.content)})
        next_crawls = self._done(batch, lost | stuck, writes, done)
        self._log(batch, lost, stuck, spans)
        postponed = damaged.postpone((j for j in batch.jobs if j.url in stuck), fetched=True)
        again = self.returning_jobs.refetch([job for job in batch.jobs if job.url in lost])
        ready = page_ready(self.page_ready_task, stored, batch.jobs)
        ended = finished_messages(batch.jobs, _answers(writes, done, stuck))
        delayed = self.returning_jobs.delayed([*postponed, *((job, 0) for job in next_crawls)])
        return again + delayed + ready + ended

    def _done(
        self,
        batch: PageBatch,
        left: set[str],
        writes: Sequence[PageWrite],
        done: Mapping[str, Written],
    ) -> list[UrlJob]:
        write_of = {write.url: write for write in writes}
        next_crawls = self.endings.end(
            [
                make_page_ending(job, write_of[job.url], done.get(job.url))
                for job in batch.jobs
                if job.url not in left and job.url in write_of
            ]
        )
        self.in_flight.clear(
            [job.url for job in batch.jobs if job.url not in left and job.url not in write_of]
        )
        self.spool.free([batch.token, *batch.bodies])
        return next_crawls

    def _log(self, batch: PageBatch, lost: set[str], stuck: set[str], spans: StageSpans) -> None:
        if spans or log.isEnabledFor(logging.INFO):
            for job in batch.jobs:
                event = "stuck" if job.url in stuck else "lost" if job.url in lost else "stored"
                spans.event(job, event)
                log_url(log, event, job.url, job.request_id, **spans.ids(job))

    def _ask(
        self, jobs: Sequence[UrlJob], writes: Sequence[PageWrite], done: Mapping[str, Written]
    ) -> None:
        """Enqueue canonical URLs about which pages disagree. Safe to repeat."""
        job_of = {job.url: job for job in jobs}
        named = [
            (job_of[write.url], write, url)
            for write in writes
            if write.url in done and (url := done[write.url].unconfirmed) and write.url in job_of
        ]
        if named and self.discovery and (unfetched := self.discovery.canonicals(named)):
            self.store.aliases.mark_enqueued_for_check(unfetched)

    def _write(
        self, writes: Sequence[PageWrite], done: dict[str, Written], waiting: WaitingWrite | None
    ) -> list[PageWrite]:
        """
        Write the pages and add the results to `done`. Returns the pages that must wait for the
        repair of a damaged file.
        """
        if waiting and (results := self.groups.handle(waiting, self.store.write_pages)) is not None:
            self._count_written(results, done)
            return []
        stuck = [write for write in writes if not self._is_served(write)]
        well = [write for write in writes if self._is_served(write)] if stuck else writes
        # Other affected nodes, such as aliases of aliases, are only known after the write.
        return stuck + damaged.isolate(well, partial(self._write_served, done))

    def _is_served(self, write: PageWrite) -> bool:
        """Return False for a page that must wait for the repair of a damaged file."""
        return all(map(self.store.serves, write.urls))

    def _write_served(self, done: dict[str, Written], writes: Sequence[PageWrite]) -> None:
        self._count_written(self.store.write_pages(writes), done)

    def _count_written(self, results: Sequence[Written], done: dict[str, Written]) -> None:
        done.update({written.url: written for written in results})
        older = sum(1 for one in results if one.older_by_ms)
        same = sum(1 for one in results if one.same_as)
        if older or same:
            self.counters.add({counters.OLDER: older, counters.SAME_BODY: same})
