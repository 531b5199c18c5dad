"""Which URLs are traced, and the spans of a stage."""

from opentelemetry.trace import SpanKind

from aragog.crawl.fetcher.gate import OpenGate
from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.pipeline.url_traces import MAX_URLS_IN_CALLERS_TRACE, UrlTraces, delivery, now_ms
from aragog.observability.tracing.context import read
from aragog.observability.tracing.tracer import SpanPart
from tests.support.spans import MemoryTracer

A, B = "http://a.test/", "http://b.test/"
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0"


def traced_jobs(tracer, urls, caller="", found_on="", rng=lambda: 0.5):
    """The jobs of an enqueue call; untraced URLs have no context."""
    call = UrlTraces(tracer, rng).call(caller, found_on)
    with call.trace_sending(urls, {"aragog.depth": 0}):
        return [UrlJob(url=url, **call.job(url)) for url in urls]


def trace_ids(jobs):
    return [read(job.traceparent).trace_id for job in jobs if job.traceparent]


def test_jobs_have_no_context_without_a_tracer():
    assert traced_jobs(None, [A]) == [UrlJob(url=A)]


def test_every_sampled_url_starts_a_separate_trace():
    draws = iter([0.2, 0.1, 0.3])
    jobs = traced_jobs(MemoryTracer(0.15), [A, B, A + "x"], rng=lambda: next(draws))

    assert [bool(job.traceparent) for job in jobs] == [False, True, False]
    assert jobs[1].left_at_ms is not None
    assert len(set(trace_ids(traced_jobs(MemoryTracer(), [A, B])))) == 2


def test_urls_of_a_traced_call_continue_its_trace():
    tracer = MemoryTracer(ratio=0)
    jobs = traced_jobs(tracer, [A, B], caller=CALLER + "1")

    assert set(trace_ids(jobs)) == {read(CALLER + "1").trace_id}
    assert {span.kind for span in tracer.spans} == {SpanKind.PRODUCER}
    assert tracer.spans[0].attributes["url.full"] == A


def test_only_the_first_urls_of_a_long_list_continue_the_trace():
    tracer = MemoryTracer()
    urls = [f"http://h{n}.test/" for n in range(MAX_URLS_IN_CALLERS_TRACE + 2)]
    ids = trace_ids(traced_jobs(tracer, urls, caller=CALLER + "1"))

    assert ids.count(read(CALLER + "1").trace_id) == MAX_URLS_IN_CALLERS_TRACE
    assert len(set(ids)) == 3
    linked = [span.links[0].context.trace_id for span in tracer.spans if span.links]
    assert linked == [int(read(CALLER + "1").trace_id, 16)] * 2


def test_urls_of_an_unsampled_call_are_not_traced():
    assert trace_ids(traced_jobs(MemoryTracer(), [A], caller=CALLER + "0")) == []


def test_current_span_of_the_program_is_continued():
    tracer = MemoryTracer(ratio=0)
    with tracer.provider.get_tracer("program").start_as_current_span("import") as outer:
        (found,) = trace_ids(traced_jobs(tracer, [A]))

    assert found == format(outer.get_span_context().trace_id, "032x")


def test_links_of_a_page_have_separate_linked_traces():
    tracer = MemoryTracer()
    (found,) = trace_ids(traced_jobs(tracer, [A], found_on=CALLER + "1"))

    assert found != read(CALLER + "1").trace_id
    assert tracer.spans[0].links[0].context.trace_id == int(read(CALLER + "1").trace_id, 16)


def test_urls_of_another_program_continue_the_trace_of_its_message():
    tracer, batch = MemoryTracer(ratio=0), FetchBatch((UrlJob(url=A), UrlJob(url=B)))
    adopted = UrlTraces(tracer).with_caller_trace(batch, CALLER + "1")

    assert set(trace_ids(adopted.jobs)) == {read(CALLER + "1").trace_id}
    assert tracer.names() == ["enqueue", "enqueue"]
    for traces in (UrlTraces(tracer), UrlTraces()):
        for caller in ("", "junk", CALLER + "0"):
            assert traces.with_caller_trace(batch, caller) is batch


def test_stage_has_a_span_and_a_wait_for_every_traced_url():
    tracer = MemoryTracer()
    (job,) = traced_jobs(tracer, [A])
    token = delivery.set(2)
    try:
        with UrlTraces(tracer).stage("fetch", [job, UrlJob(url=B)]) as spans:
            assert spans.ids(UrlJob(url=B)) == {}
            assert spans.ids(job)["trace_id"] == read(job.traceparent).trace_id
            spans.event(job, "in line", wait_ms=3, reason=None)
            message = OutgoingMessage(Destination.FETCH, FetchBatch((job, UrlJob(url=B))))
            (sent,) = spans.with_departure_times([message])
    finally:
        delivery.reset(token)

    assert tracer.names() == ["enqueue", "wait in queue", "fetch"]
    fetch = tracer.spans[-1]
    assert fetch.attributes["aragog.delivery"] == 2
    assert fetch.attributes["messaging.batch.message_count"] == 2
    assert dict(fetch.events[0].attributes) == {"aragog.wait_ms": 3}
    assert {span.parent and span.parent.span_id for span in tracer.spans[1:]} == {
        tracer.spans[0].context.span_id
    }
    assert sent.message.jobs[0].left_at_ms >= job.left_at_ms
    assert sent.message.jobs[1] == UrlJob(url=B)


def test_failed_stage_is_recorded_in_its_spans():
    tracer = MemoryTracer()
    (job,) = traced_jobs(tracer, [A])
    try:
        with UrlTraces(tracer).stage("store", [job]):
            raise OSError("no room")
    except OSError:
        pass

    assert tracer.spans[-1].status.description == "OSError: no room"


def test_wait_in_line_ends_when_the_url_is_released():
    tracer = MemoryTracer()
    (job,) = traced_jobs(tracer, [A])
    released = UrlTraces(tracer).end_line_wait(job)

    assert tracer.names()[-1] == "wait in line"
    assert released.left_at_ms >= job.left_at_ms
    assert UrlTraces(tracer).end_line_wait(UrlJob(url=A)) == UrlJob(url=A)


def test_wait_never_ends_before_it_started_despite_clock_skew():
    tracer = MemoryTracer()
    job = UrlJob(url=A, traceparent=CALLER + "1", left_at_ms=now_ms() + 60_000)
    with UrlTraces(tracer).stage("fetch", [job]):
        pass

    wait = tracer.named("wait in queue")[0]
    assert wait.start_time <= wait.end_time


def test_untraced_url_records_no_requests():
    with UrlTraces(MemoryTracer()).stage("fetch", [UrlJob(url=A)]) as spans:
        assert spans.requests(UrlJob(url=A), OpenGate()) is None
        assert not spans


def test_unreadable_context_is_ignored():
    tracer = MemoryTracer()
    with UrlTraces(tracer).stage("fetch", [UrlJob(url=A, traceparent="junk")]) as spans:
        assert not spans
    assert tracer.spans == ()
    assert tracer.child("x", "junk", SpanPart.INTERNAL, {}) is None
