"""
Renders fetched pages in a browser, and replaces their bodies with the result.

This stage is between `fetch` and `canonicalize`. It gets only pages on `rendering.hosts`, one per
message, and only changes their bodies. A page that cannot be rendered continues with the fetched
body and the reason.

It is safe to run twice: the rendered body gets its own spool token, and the fetched body is freed
only after that token was sent. If the worker is killed, the page is rendered again, or fetched
again if its body is gone. After two such deaths, the page continues as fetched.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import FetchResult, ResultBatch
from aragog.crawl.pipeline.packed_body import PLAIN, BodyCodec, pack
from aragog.crawl.pipeline.ports import BodyStore, CounterSink, Marks, TakedownLookup
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage, most_urgent_priority
from aragog.crawl.pipeline.url_traces import TRACING_OFF, StageSpans, UrlTraces
from aragog.crawl.rendering.models import (
    FetchResource,
    NotRendered,
    PlainPage,
    RenderedPage,
    Resource,
    ResourceRequest,
)
from aragog.crawl.stages.crawl_checks import CrawlChecks, filter_wanted
from aragog.crawl.stages.page_limits import MAX_RUNS_LOST
from aragog.crawl.stages.returning_jobs import ReturningJobs
from aragog.observability.logs import log_url

log = logging.getLogger(__name__)

RENDERED = "rendered"
LOST_REASON = "each process that rendered the page died"


class PageRenderer(Protocol):
    """Renders pages (`aragog.crawl.rendering.renderer.Renderer`)."""

    def render(self, document: PlainPage, fetch: FetchResource) -> RenderedPage | NotRendered:
        """
        Return the rendered page. Blocks for at most `rendering.deadline_s` plus a few
        seconds.
        """

    def close(self) -> None:
        """Stop this thread's browser."""


@dataclass(frozen=True, slots=True)
class RenderStage:
    """Renders a batch's pages one by one."""

    spool: BodyStore
    renderer: PageRenderer
    fetch_resource: FetchResource
    takedowns: TakedownLookup
    marks: Marks
    returning_jobs: ReturningJobs
    counters: CounterSink
    traces: UrlTraces = TRACING_OFF
    checks: CrawlChecks = field(default_factory=CrawlChecks)
    bodies: BodyCodec = PLAIN

    def run(self, batch: ResultBatch) -> list[OutgoingMessage]:
        """
        Return one message to `canonicalize`, and fetches for URLs whose body has expired.

        Call `free` after sending them.

        Raises:
            BrowserUnavailable: no browser can be started; the batch runs again.
            TransientError: Redis or the store did not respond; the batch runs again.
        """
        with self.traces.stage("render", (result.job for result in batch.results)) as spans:
            return spans.with_departure_times(self._run(batch, spans))

    def _run(self, batch: ResultBatch, spans: StageSpans) -> list[OutgoingMessage]:
        counts: Counter[str] = Counter()
        results, expired_results = [], []
        for result in filter_wanted(batch.results, self.checks):
            blob = self._read_body(result)
            if blob is None and result.token:
                expired_results.append(result)
            else:
                results.append(
                    result if blob is None else self._render(result, blob, counts, spans)
                )
        self.counters.add(counts)
        outgoing = self.returning_jobs.refetch([result.job for result in expired_results])
        if results:
            priority = most_urgent_priority(result.job for result in results)
            rendered_batch = ResultBatch(tuple(results))
            outgoing.append(
                OutgoingMessage(Destination.CANONICALIZE, rendered_batch, priority=priority)
            )
        return outgoing

    def free(self, batch: ResultBatch, outgoing: Sequence[OutgoingMessage]) -> None:
        """
        Free the bodies that no outgoing message refers to. Call this after sending the
        messages.
        """
        sent_tokens = {
            result.token
            for message in outgoing
            if isinstance(message.message, ResultBatch)
            for result in message.message.results
        }
        tokens = [result.token for result in batch.results if result.token]
        self.spool.free([token for token in tokens if token not in sent_tokens])

    def _read_body(self, result: FetchResult) -> bytes | None:
        return (
            self.bodies.readable(self.spool.get_many([result.token])[0]) if result.token else None
        )

    def _render(
        self, result: FetchResult, blob: bytes, counts: Counter[str], spans: StageSpans
    ) -> FetchResult:
        """Return the result with the rendered body, or with the reason why rendering failed."""
        if self.takedowns.refused({result.job.url, result.fetch.final_url}):
            return result  # canonicalize drops it
        outcome = self._render_or_explain(result, blob, spans)
        if isinstance(outcome, NotRendered):
            counts[counters.NOT_RENDERED] += 1
            spans.event(result.job, "not rendered", reason=outcome.reason)
            log.warning("not rendered: %s: %s", result.fetch.final_url, outcome.reason)
            return replace(result, fetch=replace(result.fetch, rendering=outcome.reason))
        counts[counters.RENDERED] += 1
        spans.event(result.job, RENDERED, requests=outcome.requests)
        log_url(
            log,
            RENDERED,
            result.job.url,
            result.job.request_id,
            requests=outcome.requests,
            **spans.ids(result.job),
        )
        body = pack(outcome.html, self.bodies)
        (token,) = self.spool.put_many([body.blob])
        return replace(
            result,
            token=token,
            body_hash=body.sha256,
            needs_dictionary=body.needs_dictionary,
            fetch=replace(result.fetch, body_bytes=body.length_bytes, rendering=RENDERED),
        )

    def _render_or_explain(
        self, result: FetchResult, blob: bytes, spans: StageSpans
    ) -> RenderedPage | NotRendered:
        tokens = [result.token or ""]
        lost_runs = self.marks.start_run(tokens)
        try:
            if lost_runs:
                self.counters.add({counters.RUNS_LOST: 1})
                if lost_runs >= MAX_RUNS_LOST:
                    return NotRendered(LOST_REASON)
            body = self.bodies.decompress(blob)
            document = PlainPage(result.fetch.final_url, result.fetch.headers, body)
            return self.renderer.render(document, self._resource_fetcher(result, spans))
        finally:
            self.marks.end_run(tokens)

    def _resource_fetcher(self, result: FetchResult, spans: StageSpans) -> FetchResource:
        """
        Return a function that fetches a page's scripts and data. If the page is traced, each fetch
        gets a span.
        """

        def fetch(request: ResourceRequest) -> Resource | str:
            return self.fetch_resource(
                replace(request, purposes=result.job.purposes, crawl=result.job.crawl)
            )

        if spans.span_for(result.job) is None:
            return fetch

        def fetch_traced(request: ResourceRequest) -> Resource | str:
            with spans.subspan(result.job, "fetch resource", {"url.full": request.url}):
                return fetch(request)

        return fetch_traced
