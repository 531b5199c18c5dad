"""API calls that continue their caller's trace."""

from contextlib import closing
from http.client import HTTPConnection

import pytest

from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.api.operations.fetching import Fetching
from aragog.api.server.http.services import Services
from aragog.crawl.pipeline.completions import Completions
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.observability.tracing.context import read
from tests.support.api_server import running
from tests.support.spans import MemoryTracer
from tests.support.stores import page

pytestmark = pytest.mark.redis

URL = "http://a.test/p"
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = CALLER[:-1] + "0"


@pytest.fixture
def tracer():
    return MemoryTracer(ratio=0)


@pytest.fixture
def services(pipeline_harness, redis_client, tracer):
    harness = pipeline_harness
    enqueuer = Enqueuer(
        harness.in_flight, harness.sent, harness.counters, batch_size=25, traces=UrlTraces(tracer)
    )

    def enqueue(urls, **options):
        return list(enqueuer.enqueue(urls, EnqueueArguments(**options).options()))

    fetching = Fetching(
        harness.store, enqueue, Completions(redis_client, prefix="t:"), max_waiting=50
    )
    yield Services(enqueue=enqueue, fetching=fetching, tracer=tracer)
    fetching.close()


def sent_jobs(harness):
    return [job for message in harness.sent.messages for job in message.message.wire()["urls"]]


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/v1/enqueue", {"urls": [URL]}),
        ("POST", "/v1/fetch", {"url": URL, "max_wait_ms": 0}),
        ("GET", f"/v1/urls?url={URL}&max_age=1", None),
    ],
)
def test_urls_enqueued_by_a_call_are_in_its_callers_trace(
    pipeline_harness, services, tracer, method, target, body
):
    with running(pipeline_harness.store, services) as api:
        api.ask(method, target, body, traceparent=CALLER)

    enqueue, call = tracer.spans
    assert (enqueue.name, call.name) == ("enqueue", f"{method} {target.partition('?')[0]}")
    assert format(call.parent.span_id, "016x") == read(CALLER).span_id
    assert enqueue.parent.span_id == call.context.span_id
    (job,) = sent_jobs(pipeline_harness)
    assert read(job["traceparent"]).trace_id == read(CALLER).trace_id


def test_option_of_a_call_overrides_its_header(pipeline_harness, services, tracer):
    other = CALLER.replace("4bf92f", "5bf92f")
    body = {"urls": [URL], "traceparent": other}
    with running(pipeline_harness.store, services) as api:
        api.ask("POST", "/v1/enqueue", body, traceparent=CALLER)
        refused = api.ask("POST", "/v1/enqueue", {"urls": [URL], "traceparent": "junk"})

    (job,) = sent_jobs(pipeline_harness)
    assert read(job["traceparent"]).trace_id == read(other).trace_id
    assert refused.status == 400
    assert "traceparent: must be a traceparent of W3C" in refused.json["detail"]


@pytest.mark.parametrize("header", [UNSAMPLED, "junk", ""])
def test_caller_without_a_sampled_trace_causes_no_span(pipeline_harness, services, tracer, header):
    with running(pipeline_harness.store, services) as api:
        response = api.ask("POST", "/v1/enqueue", {"urls": [URL]}, traceparent=header)

    assert response.status == 202
    assert tracer.spans == ()
    assert "traceparent" not in sent_jobs(pipeline_harness)[0]


def test_plain_read_of_a_traced_caller_has_a_span(pipeline_harness, services, tracer):
    pipeline_harness.store.write_pages([page(URL, fields={"page.title": b'"T"'})])
    # Without `Connection: close`, a plain read takes the fast path.
    with (
        running(pipeline_harness.store, services) as api,
        closing(HTTPConnection("localhost", api.port, timeout=60)) as client,
    ):
        bodies = []
        for headers in ({}, {"traceparent": CALLER}):
            client.request("GET", f"/v1/urls?url={URL}&include=", headers=headers)
            bodies.append(client.getresponse().read())

    assert bodies[0] == bodies[1]
    assert tracer.names() == ["GET /v1/urls"]
