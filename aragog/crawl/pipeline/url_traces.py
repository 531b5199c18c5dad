"""
The spans of URLs: one trace per traced URL, from `enqueue` to `store`.

Whether to trace a URL is decided when it is enqueued. Its job then carries the context of its
`enqueue` span, and each stage adds a child span, in any process and at any attempt. For other jobs,
this costs one comparison. A span covers a URL rather than a message, because every stage regroups a
message's URLs (docs/adr/0079).

Spans are exported when they end, so a killed stage leaves no span. When the message runs again,
that run adds a span to the same trace, with the number of the delivery.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import TracebackType
from typing import Any, Self

from aragog.crawl.fetcher.gate import Gate
from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, ResultBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import OutgoingMessage
from aragog.crawl.pipeline.traced_requests import NS_PER_MS, TimedGate, exchange_attributes
from aragog.fetch_record.outcome import Outcome
from aragog.observability.tracing.context import is_sampled, log_ids, read
from aragog.observability.tracing.tracer import Attributes, Span, SpanPart, Tracer, Value

MAX_URLS_IN_CALLERS_TRACE = 25
"""Maximum number of a call's URLs that join the caller's trace. A larger trace would be unreadable.
"""
MIN_WAIT_NS = 5_000_000
"""A shorter wait for a slot (the reserved time of a request) gets no span."""

delivery: ContextVar[int] = ContextVar("delivery", default=1)
"""How often the message has been delivered (above 1 after a failed or killed run)."""


def now_ms() -> int:
    """Return the time by this machine's clock, in ms since the epoch."""
    return time.time_ns() // NS_PER_MS


class CallSpans:
    """
    The `enqueue` spans of one call that enqueues URLs.

    Args:
        tracer: creates the spans; None if tracing is off.
        caller: the context of the span in which the call is made; "" for the program's current
            span, if any.
        found_on: the context of the page that links to the URLs. Their traces are linked to that
            page's trace.
        rng: like `random.random`; used to sample URLs.
    """

    def __init__(
        self, tracer: Tracer | None, caller: str, found_on: str, rng: Callable[[], float]
    ) -> None:
        self._tracer = tracer
        self._rng = rng
        self._link = found_on
        self._caller = caller or (tracer.active() if tracer and not found_on else "")
        self._remaining_count = MAX_URLS_IN_CALLERS_TRACE
        self._spans: dict[str, Span] = {}

    @contextmanager
    def trace_sending(self, urls: Sequence[str], attributes: Attributes) -> Iterator[None]:
        """Start the spans of the traced URLs, and end them when the block has sent the URLs."""
        if self._tracer is None:
            yield
            return
        self._spans = self._start_spans(self._tracer, urls, attributes)
        problem = ""
        try:
            yield
        except Exception as error:
            problem = _error_text(error)
            raise
        finally:
            for span in self._spans.values():
                span.end(error=problem)

    def _start_spans(
        self, tracer: Tracer, urls: Sequence[str], attributes: Attributes
    ) -> dict[str, Span]:
        context = read(self._caller) if self._caller else None
        if context is not None and not context.sampled:
            return {}
        spans: dict[str, Span | None] = {}
        if context is not None:
            for url in urls[: self._remaining_count]:
                span_attributes = {"url.full": url, **attributes}
                spans[url] = tracer.child(
                    "enqueue", self._caller, SpanPart.PRODUCER, span_attributes
                )
            self._remaining_count -= len(spans)
        for url in urls[len(spans) :]:
            if self._rng() < tracer.ratio:
                span_attributes, link = {"url.full": url, **attributes}, self._link or self._caller
                spans[url] = tracer.root("enqueue", SpanPart.PRODUCER, span_attributes, link)
        return {url: span for url, span in spans.items() if span is not None}

    def job(self, url: str) -> dict[str, Any]:
        """Return the trace context and the time for a URL's job; empty if the URL is not traced."""
        span = self._spans.get(url)
        return {} if span is None else {"traceparent": span.traceparent, "left_at_ms": now_ms()}

    def ids(self, url: str) -> dict[str, str]:
        span = self._spans.get(url)
        return {} if span is None else log_ids(span.traceparent)


class StageSpans:
    """
    The spans of one run of a stage, one for each traced URL.

    Methods do nothing for jobs whose URL is not traced.
    """

    def __init__(self, tracer: Tracer | None, stage: str, jobs: Sequence[UrlJob]) -> None:
        self._tracer = tracer
        self._spans: dict[str, Span] = {}
        self._started_ns = 0
        if tracer is None:
            return
        self._started_ns = time.time_ns()
        for job in jobs:
            if job.traceparent and job.traceparent not in self._spans:
                self._start_span(tracer, stage, job, len(jobs))

    def _start_span(self, tracer: Tracer, stage: str, job: UrlJob, urls: int) -> None:
        if not is_sampled(job.traceparent):
            return
        if job.left_at_ms is not None:
            record_wait(tracer, job, "wait in queue", self._started_ns)
        attributes: dict[str, Value] = {"url.full": job.url, "aragog.request_id": job.request_id}
        attributes |= {"aragog.attempt": job.attempt + 1, "aragog.delivery": delivery.get()}
        attributes["messaging.batch.message_count"] = urls
        span = tracer.child(stage, job.traceparent, SpanPart.CONSUMER, attributes, self._started_ns)
        if span is not None:
            self._spans[job.traceparent] = span

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        error_class: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for span in self._spans.values():
            span.end(error="" if error is None else _error_text(error))

    def __bool__(self) -> bool:
        return bool(self._spans)

    def span_for(self, job: UrlJob) -> Span | None:
        return self._spans.get(job.traceparent) if self._spans else None

    def ids(self, job: UrlJob) -> dict[str, str]:
        """
        Return `trace_id` and `span_id` for a log line. If tracing is off, they come from the
        `enqueue` span.
        """
        if not job.traceparent:
            return {}
        span = self.span_for(job)
        return log_ids(span.traceparent if span else job.traceparent)

    def event(self, job: UrlJob, name: str, **attributes: Value | None) -> None:
        """Add an event to a URL's span. Attributes that are None are left out."""
        if span := self.span_for(job):
            present_attributes = {
                f"aragog.{key}": v for key, v in attributes.items() if v is not None
            }
            span.event(name, present_attributes)

    def set(self, job: UrlJob, **attributes: Value | None) -> None:
        """Set attributes of a URL's span. Attributes that are None are left out."""
        if span := self.span_for(job):
            span.set({f"aragog.{key}": v for key, v in attributes.items() if v is not None})

    @contextmanager
    def subspan(
        self, job: UrlJob, name: str, attributes: Attributes | None = None
    ) -> Iterator[None]:
        span = self._child_span(job, name, SpanPart.INTERNAL, attributes or {})
        problem = ""
        try:
            yield
        except BaseException as error:
            problem = _error_text(error)
            raise
        finally:
            if span is not None:
                span.end(error=problem)

    def _child_span(
        self,
        job: UrlJob,
        name: str,
        span_part: SpanPart,
        attributes: Attributes,
        started_ns: int | None = None,
    ) -> Span | None:
        parent = self.span_for(job)
        if parent is None or self._tracer is None:
            return None
        return self._tracer.child(name, parent.traceparent, span_part, attributes, started_ns)

    def requests(self, job: UrlJob, gate: Gate) -> TimedGate | None:
        """Return a gate that records a fetch's requests; None if its URL is not traced."""
        return TimedGate(gate, job.next_url) if self.span_for(job) else None

    def record_requests(self, job: UrlJob, requests: TimedGate, outcome: Outcome) -> None:
        """After a fetch, add spans for the wait for its slot and for each request."""
        spans, ended_ns = requests.end(), time.time_ns()
        if spans[0].started_ns - self._started_ns > MIN_WAIT_NS:
            self._record_span(job, "wait for slot", self._started_ns, spans[0].started_ns)
        statuses: list[int | None] = []
        statuses += [hop.status for hop in outcome.hops[len(job.hops) :]][: len(spans) - 1]
        statuses += [None] * (len(spans) - 1 - len(statuses))
        for request, status in zip(spans, [*statuses, outcome.status], strict=True):
            is_last = request is spans[-1]
            attributes = exchange_attributes(request.url, status, outcome if is_last else None)
            span = self._child_span(job, "GET", SpanPart.CLIENT, attributes, request.started_ns)
            if span is None:
                return
            for name, at_ns in request.events:
                span.event(name, {}, at_ns)
            has_failed = is_last and (status is None or status >= 400)
            problem = (
                (getattr(outcome, "reason", "") or outcome.outcome.value) if has_failed else ""
            )
            span.end(at_ns=request.ended_ns or ended_ns, error=problem)

    def record_shared_fetch(self, job: UrlJob, url: str, outcome: Outcome) -> None:
        """Add a span for a fetch shared with other URLs, with the outcome's times."""
        started_ns = outcome.fetched_at_ms * NS_PER_MS
        attributes = exchange_attributes(url, outcome.status, outcome)
        span = self._child_span(job, "GET", SpanPart.CLIENT, attributes, started_ns)
        if span is not None:
            duration_ns = int((outcome.total_ms or 0) * NS_PER_MS)
            span.end(at_ns=started_ns + duration_ns)

    def _record_span(self, job: UrlJob, name: str, started_ns: int, ended_ns: int) -> None:
        span = self._child_span(job, name, SpanPart.INTERNAL, {}, started_ns)
        if span is not None:
            span.end(at_ns=ended_ns)

    def with_departure_time(self, job: UrlJob) -> UrlJob:
        """Return the job with the current time, so the next stage can report its wait."""
        return replace(job, left_at_ms=now_ms()) if self._spans and job.traceparent else job

    def with_departure_times(self, outgoing: list[OutgoingMessage]) -> list[OutgoingMessage]:
        """Return the stage's messages with the current time in traced URLs' jobs."""
        return (
            [self._with_departure_times(message) for message in outgoing]
            if self._spans
            else outgoing
        )

    def _with_departure_times(self, outgoing: OutgoingMessage) -> OutgoingMessage:
        match outgoing.message:
            case FetchBatch() | RobotsBatch() | PageBatch() as batch:
                jobs = tuple(map(self.with_departure_time, batch.jobs))
                return replace(outgoing, message=replace(batch, jobs=jobs))
            case ResultBatch() as batch:
                results = tuple(
                    replace(r, job=self.with_departure_time(r.job)) for r in batch.results
                )
                return replace(outgoing, message=replace(batch, results=results))
            case _:
                return outgoing


UNTRACED = StageSpans(None, "", ())


class UrlTraces:
    """
    Creates a process's spans.

    Args:
        tracer: None if tracing is off.
        rng: like `random.random`; used to sample URLs.
    """

    def __init__(
        self, tracer: Tracer | None = None, rng: Callable[[], float] = random.random
    ) -> None:
        self.tracer = tracer
        self._rng = rng

    def call(self, caller: str, found_on: str) -> CallSpans:
        return CallSpans(self.tracer, caller, found_on, self._rng)

    def with_caller_trace(self, batch: FetchBatch, caller: str) -> FetchBatch:
        """
        Add the trace of another program's message to the message's URLs.

        Args:
            batch: the message's URLs.
            caller: the message's `traceparent`. Without a sampled trace, nothing is added.
        """
        if self.tracer is None or not is_sampled(caller):
            return batch
        call = self.call(caller, "")
        with call.trace_sending([job.url for job in batch.jobs], {}):
            return FetchBatch(tuple(replace(job, **call.job(job.url)) for job in batch.jobs))

    def stage(self, name: str, jobs: Iterable[UrlJob]) -> StageSpans:
        """Return the spans of one run of a stage. They end with the `with` block."""
        return UNTRACED if self.tracer is None else StageSpans(self.tracer, name, tuple(jobs))

    def start_delivery(self, first_traceparent: str, url: str, change_count: int) -> Span | None:
        """
        Return a span for one attempt of a webhook delivery, or None.

        Args:
            first_traceparent: the first attempt's span context; "" for the first attempt.
            url: the receiver's URL.
            change_count: the number of changes.
        """
        if self.tracer is None:
            return None
        attributes: dict[str, Value] = {"http.request.method": "POST", "url.full": url}
        attributes["messaging.batch.message_count"] = change_count
        if first_traceparent:
            return self.tracer.child("webhook", first_traceparent, SpanPart.CLIENT, attributes)
        if self._rng() >= self.tracer.ratio:
            return None
        return self.tracer.root("webhook", SpanPart.CLIENT, attributes)

    def end_line_wait(self, job: UrlJob) -> UrlJob:
        """Add a span for the wait in the domain's queue. Returns the job with the current time."""
        if self.tracer is None or job.left_at_ms is None or not is_sampled(job.traceparent):
            return job
        record_wait(self.tracer, job, "wait in line", time.time_ns())
        return replace(job, left_at_ms=now_ms())


TRACING_OFF = UrlTraces()


def record_wait(tracer: Tracer, job: UrlJob, name: str, ended_ns: int) -> None:
    """Add a span that began when the job left a stage. Inaccurate if the clocks differ."""
    started_ns = min((job.left_at_ms or 0) * NS_PER_MS, ended_ns)
    span = tracer.child(name, job.traceparent, SpanPart.INTERNAL, {}, started_ns)
    if span is not None:
        span.end(at_ns=ended_ns)


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"
