"""One trace of a URL through all stages over ports in memory, in its logs and messages."""

import logging

import pytest

from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.pipeline.messages import ResultBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, UserTask
from aragog.crawl.pipeline.spool_room import SpoolSpace
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.crawl.rendering.models import PlainPage, RenderedPage, Resource, ResourceRequest
from aragog.crawl.stages.access import Access
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.fetch import FetchStage
from aragog.crawl.stages.render import RenderStage
from aragog.crawl.stages.requester import Requester
from aragog.crawl.stages.revalidation import JobSelection
from aragog.crawl.stages.robots import RobotsStage
from aragog.crawl.stages.store import StoreStage
from aragog.crawl.stages.webhooks import Delivery, WebhookStage
from aragog.fetch_record.outcome import Busy
from aragog.observability.tracing.context import read
from aragog.urlstore.feed import SETTLE_MS
from tests.support.memory_ports import fetched
from tests.support.spans import MemoryTracer

URL = "http://shop.example/"
READY = UserTask("ready", "ready")


class Browser:
    """Requests one script."""

    def render(self, page: PlainPage, fetch):
        fetch(ResourceRequest(page.url + "app.js", "*/*", None, 0.0))
        return RenderedPage(page.body, 1)


class Pipeline:
    """Runs every message sent by a stage until none is left."""

    def __init__(self, ports, tracer):
        self.ports, self.sent = ports, ports.sent
        traces = UrlTraces(tracer)
        self.enqueuer = Enqueuer(
            ports.in_flight, ports.sent, ports.counters, batch_size=25, traces=traces
        )
        requester = Requester(
            ports.web, ports.web, ports.web, ports.pool, Access(ports.access_rules(), ports.line),
            ports.clock,
        )  # fmt: skip
        self.stages = {
            Destination.FETCH: FetchStage(
                JobSelection(ports.store, ports.in_flight, ports.counters), requester,
                SpoolSpace(ports.spool, ports.clock), ports.returning_jobs, ports.counters,
                ports.outcomes, traces=traces,
            ),
            Destination.ROBOTS: RobotsStage(
                ports.robots, ports.limiter, ports.web, ports.pool, ports.counters, ports.clock,
                ports.settings, ports.forbidden, ports.line, traces=traces,
            ),
            Destination.RENDER: RenderStage(
                ports.spool, Browser(), lambda _: Resource(URL, 200), ports.store.takedowns,
                ports.marks, ports.returning_jobs, ports.counters, traces=traces,
            ),
            Destination.CANONICALIZE: CanonicalizeStage(
                ports.spool, ports.store, ports.in_flight, ports.marks,
                Discovery(self.enqueuer, ports.store, ports.settings, ports.walks, ports.clock),
                ports.returning_jobs,
                ports.settings, traces=traces,
            ),
            Destination.STORE: StoreStage(
                ports.spool, ports.store, ports.in_flight, ports.counters, ports.returning_jobs,
                page_ready_task=READY, traces=traces,
            ),
        }  # fmt: skip
        self.ready = []

    def enqueue(self, **options):
        list(self.enqueuer.enqueue([URL], EnqueueOptions(**options)))

    def run(self):
        while self.sent.messages:
            outgoing = self.sent.messages.pop(0)
            if outgoing.destination is READY:
                self.ready += outgoing.message.pages
                continue
            stage = self.stages[outgoing.destination]
            # As in transit: only the JSON reaches the next stage.
            message = type(outgoing.message).read(outgoing.message.wire())
            self.sent.messages += stage.run(message)


@pytest.fixture
def tracer():
    return MemoryTracer()


@pytest.fixture
def pipeline(ports, tracer):
    return Pipeline(ports, tracer)


def trace_ids(spans):
    return {span.context.trace_id for span in spans}


def test_all_stages_of_a_url_are_one_trace_with_its_robots_txt_and_its_retry(
    ports, pipeline, tracer
):
    answers = iter([Busy(url=URL, final_url=URL, status=503, reason="503"), fetched(URL, "<p>x")])
    ports.web.outcomes[URL] = lambda _: next(answers)
    pipeline.enqueue()
    pipeline.run()

    assert len(trace_ids(tracer.spans)) == 1
    stages = [name for name in tracer.names() if not name.startswith(("wait", "read"))]
    assert stages == [
        "enqueue", "fetch", "GET", "robots", "GET", "fetch", "GET", "fetch", "canonicalize", "store",
    ]  # fmt: skip
    robots, busy, page = tracer.named("GET")
    assert robots.attributes["url.full"] == URL + "robots.txt"
    assert (busy.attributes["http.response.status_code"], busy.status.is_ok) == (503, False)
    assert page.attributes["http.response.status_code"] == 200
    events = [event.name for span in tracer.named("fetch") for event in span.events]
    assert events == ["robots first", "rescheduled", "Fetched"]
    attempts = [span.attributes["aragog.attempt"] for span in tracer.named("fetch")]
    assert attempts == [1, 1, 2]
    assert tracer.named("store")[0].events[0].name == "stored"
    assert tracer.named("canonicalize")[0].attributes["aragog.canonical_url"] == URL


def test_stages_are_children_of_the_span_that_enqueued_the_url(ports, pipeline, tracer):
    pipeline.enqueue()
    pipeline.run()

    (root,) = tracer.named("enqueue")
    assert root.parent is None
    for name in ("fetch", "robots", "canonicalize", "store", "wait in queue"):
        assert {span.parent.span_id for span in tracer.named(name)} == {root.context.span_id}
    (page,) = tracer.named("read page")
    assert page.parent.span_id == tracer.named("canonicalize")[0].context.span_id


def test_rendered_page_has_a_span_for_the_browser_and_for_every_script(ports, pipeline, tracer):
    ports.robots.know("http://shop.example")
    pipeline.enqueue()
    fetch = ports.sent.messages.pop()
    (results,) = pipeline.stages[Destination.FETCH].run(fetch.message)
    pipeline.stages[Destination.RENDER].run(ResultBatch(results.message.results))

    (render,), (script,) = tracer.named("render"), tracer.named("fetch resource")
    assert script.parent.span_id == render.context.span_id
    assert script.attributes["url.full"] == URL + "app.js"
    assert [event.name for event in render.events] == ["rendered"]
    assert len(trace_ids(tracer.spans)) == 1


def test_log_lines_have_the_trace_and_span_of_their_stage(ports, pipeline, tracer, caplog):
    with caplog.at_level(logging.INFO):
        pipeline.enqueue()
        pipeline.run()

    events = ("enqueued", "robots first", "Fetched", "canonicalized", "stored")
    lines = {r.event: r for r in caplog.records if getattr(r, "event", "") in events}
    assert set(lines) == set(events)
    stages = ("enqueue", "fetch", "fetch", "canonicalize", "store")
    for event, stage in zip(events, stages, strict=True):
        spans = {format(span.context.span_id, "016x") for span in tracer.named(stage)}
        assert lines[event].span_id in spans
        assert {int(lines[event].trace_id, 16)} == trace_ids(tracer.spans)


def test_untraced_url_leaves_no_span_and_no_byte_in_its_messages(ports, caplog):
    tracer = MemoryTracer(ratio=0)
    pipeline = Pipeline(ports, tracer)
    with caplog.at_level(logging.INFO):
        pipeline.enqueue()
        job = ports.sent.messages[0].message.wire()["urls"][0]
        pipeline.run()

    assert tracer.spans == ()
    assert set(job) == {"url", "request_id"}
    assert not [r for r in caplog.records if hasattr(r, "trace_id")]
    assert "traceparent" not in pipeline.ready[0]


def test_traces_of_links_refer_to_the_trace_of_their_page(ports, pipeline, tracer):
    ports.web.outcomes[URL] = fetched(URL, '<a href="/next">next</a>')
    pipeline.enqueue(depth=1)
    pipeline.run()

    first, second = tracer.named("enqueue")
    assert first.context.trace_id != second.context.trace_id
    assert second.attributes["url.full"] == URL + "next"
    assert [link.context.trace_id for link in second.links] == [first.context.trace_id]


def test_custom_task_gets_the_trace_of_each_page(ports, pipeline, tracer):
    pipeline.enqueue()
    pipeline.run()

    context = read(pipeline.ready[0]["traceparent"])
    assert {int(context.trace_id, 16)} == trace_ids(tracer.spans)


def test_context_of_another_type_is_refused():
    with pytest.raises(Exception, match="traceparent is 7"):
        UrlJob.read({"url": URL, "traceparent": 7})


def test_every_attempt_of_a_delivery_has_a_span_in_one_trace(ports, tracer):
    stage = WebhookStage(
        ports.store, ports.sent, SsrfFilter(ports.settings.fetch), ports.clock, ports.settings,
        UrlTraces(tracer),
    )  # fmt: skip
    cursor = ports.store.feed.end()
    hook = ports.store.feed.webhooks.add(
        "http://127.0.0.1:1/hook", "secret", owner=None, host=None, cursor=cursor, now_ms=0
    )
    ports.clock.advance_ms(SETTLE_MS)
    (again,) = stage.deliver(Delivery(hook.name, cursor, ({"url": URL},)))
    stage.deliver(Delivery.read(again.message.wire()))

    first, second = tracer.named("webhook")
    assert len(trace_ids(tracer.spans)) == 1
    assert second.parent.span_id == first.context.span_id
    assert first.status.description.startswith("ConnectionError") or first.status.description
