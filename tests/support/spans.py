"""Spans in tests: a tracer that keeps them in memory, and a collector that receives OTLP."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from aragog.observability.tracing.open_telemetry import OtelTracer


class MemoryTracer(OtelTracer):
    """A tracer whose spans stay in memory."""

    def __init__(self, ratio: float = 1.0) -> None:
        self.exporter = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.provider = provider
        super().__init__(provider, ratio)

    @property
    def spans(self) -> tuple[ReadableSpan, ...]:
        """Return the spans that have ended, in that order."""
        return self.exporter.get_finished_spans()

    def names(self) -> list[str]:
        """Return the names of the spans."""
        return [span.name for span in self.spans]

    def named(self, name: str) -> list[ReadableSpan]:
        """Return the spans with that name."""
        return [span for span in self.spans if span.name == name]


@dataclass(frozen=True)
class Received:
    """One span as received by a collector."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    attributes: dict[str, str | int | float | bool]
    events: tuple[str, ...]
    started_ns: int
    links: tuple[str, ...] = ()
    resource: dict[str, str | int | float | bool] = field(default_factory=dict)


class SpanCollector:
    """The spans that an OpenTelemetry collector has received. Processes send to `endpoint`."""

    def __init__(self) -> None:
        self.spans: list[Received] = []
        self.endpoint = ""

    def named(self, name: str) -> list[Received]:
        """Return the spans with that name."""
        return [span for span in list(self.spans) if span.name == name]

    def take(self, body: bytes) -> None:
        """Keep the spans of one request."""
        request = ExportTraceServiceRequest.FromString(body)
        for part in request.resource_spans:
            resource = _values(part.resource.attributes)
            for scope in part.scope_spans:
                self.spans += [_received(span, resource) for span in scope.spans]


def _values(attributes):
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in attributes}


def _received(span, resource):
    return Received(
        service=str(resource["service.name"]),
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        attributes=_values(span.attributes),
        events=tuple(event.name for event in span.events),
        started_ns=span.start_time_unix_nano,
        links=tuple(link.trace_id.hex() for link in span.links),
        resource=resource,
    )


@contextmanager
def span_collector() -> Iterator[SpanCollector]:
    """Run a collector on a free port of loopback."""
    collector = SpanCollector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            collector.take(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    collector.endpoint = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
