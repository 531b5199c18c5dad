"""The tracer based on OpenTelemetry's SDK."""

import pytest
from opentelemetry import trace

from aragog.errors import ConfigError
from aragog.observability.tracing.context import read
from aragog.observability.tracing.open_telemetry import _create_processor, resource
from aragog.observability.tracing.tracer import SpanPart
from tests.support.spans import MemoryTracer

PARENT = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


def test_child_continues_the_trace_of_another_process():
    tracer = MemoryTracer()
    span = tracer.child("fetch", PARENT, SpanPart.CONSUMER, {"url.full": "http://a.test/"}, 1)
    span.event("in line", {"aragog.wait_ms": 3})
    span.end(at_ns=5, error="broken")

    (recorded,) = tracer.spans
    assert read(span.traceparent).trace_id == read(PARENT).trace_id
    assert format(recorded.parent.span_id, "016x") == read(PARENT).span_id
    assert (recorded.start_time, recorded.end_time) == (1, 5)
    assert recorded.attributes["url.full"] == "http://a.test/"
    assert [event.name for event in recorded.events] == ["in line"]
    assert (recorded.status.is_ok, recorded.status.description) == (False, "broken")


def test_root_is_linked_to_the_page_that_contained_it():
    tracer = MemoryTracer()
    tracer.root("enqueue", SpanPart.PRODUCER, {}, PARENT).end()

    (recorded,) = tracer.spans
    assert recorded.parent is None
    assert format(recorded.links[0].context.trace_id, "032x") == read(PARENT).trace_id


def test_current_span_of_the_program_is_active():
    tracer = MemoryTracer()
    assert tracer.active() == ""
    with tracer.provider.get_tracer("program").start_as_current_span("outer") as outer:
        assert read(tracer.active()).span_id == format(outer.get_span_context().span_id, "016x")
    assert trace.get_current_span().get_span_context().is_valid is False


def test_environment_overrides_the_service_name(monkeypatch):
    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    assert resource("aragog-fetch").attributes["service.name"] == "aragog-fetch"

    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "crawler")
    attributes = resource("aragog-fetch").attributes
    assert attributes["service.name"] == "crawler"
    assert attributes["deployment.environment.name"] == "test"
    assert attributes["service.version"]
    assert attributes["process.pid"]


def test_unknown_exporter_is_a_config_error():
    assert _create_processor("none") is None
    with pytest.raises(ConfigError, match="OTEL_TRACES_EXPORTER: must be otlp, console or none"):
        _create_processor("zipkin")
