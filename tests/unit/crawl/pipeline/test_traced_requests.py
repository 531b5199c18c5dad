"""The requests of a traced fetch, one span each."""

from aragog.crawl.fetcher.gate import Deny, Go, OpenGate
from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.pipeline.traced_requests import exchange_attributes
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import Fetched, Hop, OutcomeKind, Refused
from tests.support.spans import MemoryTracer

A, B = "http://a.test/", "http://b.test/"
PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_every_request_of_a_fetch_has_a_span_with_its_status():
    tracer = MemoryTracer()
    job = UrlJob(url=A, traceparent=PARENT)
    with UrlTraces(tracer).stage("fetch", [job]) as spans:
        requests = spans.requests(job, OpenGate())
        requests.acquire_permit(A)
        requests.release_permit(A)
        assert requests.admit(B, B) == Go()
        requests.acquire_permit(B)
        hops = (Hop(A, 301, B),)
        outcome = Fetched(
            url=A, final_url=B, status=200, hops=hops, body=b"", address="192.0.2.1", dns_ms=1.5
        )
        spans.record_requests(job, requests, outcome)

    first, second = tracer.named("GET")
    assert first.attributes["http.response.status_code"] == 301
    assert [event.name for event in first.events] == ["connected", "send permit", "request sent"]
    assert second.attributes["url.full"] == B
    assert second.attributes["network.peer.address"] == "192.0.2.1"
    assert second.attributes["server.port"] == 80
    assert second.attributes["aragog.dns_ms"] == 1.5
    assert second.status.is_ok
    assert first.end_time <= second.start_time


def test_refused_redirect_ends_at_its_response():
    class Closed(OpenGate):
        def admit(self, url, given):
            return Deny("robots.txt", RefusalCause.ROBOTS)

    tracer = MemoryTracer()
    job = UrlJob(url=A, traceparent=PARENT)
    with UrlTraces(tracer).stage("fetch", [job]) as spans:
        requests = spans.requests(job, Closed())
        requests.admit(B, B)
        outcome = Refused(
            url=A,
            cause=RefusalCause.ROBOTS,
            status=302,
            hops=(Hop(A, 302, B),),
            reason="robots.txt",
        )
        spans.record_requests(job, requests, outcome)

    (only,) = tracer.named("GET")
    assert only.attributes["http.response.status_code"] == 302


def test_request_span_follows_the_opentelemetry_conventions():
    outcome = Fetched(url=A, status=200, body=b"", address="192.0.2.1", http_version="2")

    assert exchange_attributes("https://a.test:8443/x?y", 200, outcome) == {
        "http.request.method": "GET",
        "url.full": "https://a.test:8443/x?y",
        "server.address": "a.test",
        "server.port": 8443,
        "http.response.status_code": 200,
        "aragog.outcome": OutcomeKind.FETCHED.value,
        "network.peer.address": "192.0.2.1",
        "network.protocol.version": "2",
    }
    assert exchange_attributes("https://a.test/", None, None)["server.port"] == 443
