"""
The tracer based on OpenTelemetry's SDK.

If the program has its own TracerProvider, that provider exports aragog's spans. Otherwise they are
exported with OTLP over HTTP. `OTEL_` variables set the endpoint and the resource
(https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/).
"""

from __future__ import annotations

import logging
import os
import socket
from importlib.metadata import version

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.environment_variables import (
    OTEL_BSP_SCHEDULE_DELAY,
    OTEL_EXPORTER_OTLP_TIMEOUT,
    OTEL_EXPORTER_OTLP_TRACES_TIMEOUT,
    OTEL_TRACES_SAMPLER,
)
from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.trace import SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import (
    BatchSpanProcessor,
    ConsoleSpanExporter,
    SimpleSpanProcessor,
)
from opentelemetry.trace import NonRecordingSpan, SpanKind, Status, StatusCode, TraceFlags

from aragog.errors import ConfigError
from aragog.observability.tracing.context import SpanContext, read
from aragog.observability.tracing.tracer import Attributes, Span, SpanPart
from aragog.runtime.clock import Clock, SystemClock
from aragog.runtime.extras import DISTRIBUTION

LOG_INTERVAL_S = 60.0
MAX_CHARS = 300


class ExportErrors(logging.Filter):
    """Limits OpenTelemetry's exporter to one short log line per minute."""

    def __init__(self, clock: Clock | None = None) -> None:
        super().__init__()
        self._clock = clock or SystemClock()
        self._logged_s: float | None = None
        self._dropped = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Shorten a record to one line, and return True if it should be logged."""
        now_s = self._clock.monotonic_s()
        if self._logged_s is not None and now_s < self._logged_s + LOG_INTERVAL_S:
            self._dropped += 1
            return False
        self._logged_s, dropped, self._dropped = now_s, self._dropped, 0
        text = record.getMessage().partition("\n")[0][:MAX_CHARS]
        record.msg = "spans are not exported: %s (%d more since the last such line)"
        record.args = (text, dropped)
        record.exc_info = record.exc_text = None
        return True


EXPORTER_VARIABLE = "OTEL_TRACES_EXPORTER"
DELAY_MS = 1000
"""
How long finished spans are collected before an export. With the default of the SDK (5 s), a killed
process would lose more spans.
"""
TIMEOUT_VARIABLES = (OTEL_EXPORTER_OTLP_TIMEOUT, OTEL_EXPORTER_OTLP_TRACES_TIMEOUT)
TIMEOUT_S = 3
"""Time limit for an export, including its retries. The default of the SDK is 10 s."""
FLUSH_MS = 5000
NO_CONTEXT = Context()
_KINDS = {kind: SpanKind[kind.name] for kind in SpanPart}


def connect(service: str, ratio: float) -> OtelTracer:
    """
    Create this process's tracer, with a thread that exports spans.

    Args:
        service: the service's name, unless `OTEL_SERVICE_NAME` is set.
        ratio: the fraction of URLs that start a trace, unless `OTEL_TRACES_SAMPLER` is set.

    Raises:
        ConfigError: `OTEL_TRACES_EXPORTER` names an exporter that is not supported.
    """
    current = trace.get_tracer_provider()
    if not isinstance(current, trace.ProxyTracerProvider):
        return OtelTracer(current, ratio)
    provider = TracerProvider(resource=resource(service))
    processor = _create_processor(os.environ.get(EXPORTER_VARIABLE, "otlp"))
    if processor is not None:
        provider.add_span_processor(processor)
    # If the environment sets a sampler, the SDK applies it to each URL.
    return OtelTracer(provider, 1.0 if os.environ.get(OTEL_TRACES_SAMPLER) else ratio)


def resource(service: str) -> Resource:
    """
    Return the process's attributes.

    `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` override them.
    """
    attributes: dict[str, str | int] = {
        "service.name": service,
        "service.namespace": "aragog",
        "service.version": version(DISTRIBUTION),
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
        "host.name": socket.gethostname(),
        "process.pid": os.getpid(),
    }
    return Resource.create(attributes).merge(OTELResourceDetector().detect())


def _create_processor(exporter: str) -> SpanProcessor | None:
    match exporter.strip():
        case "otlp":
            from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
                OTLPSpanExporter,  # imported here, because it imports requests and protobuf
            )

            errors = ExportErrors()
            for name in (OTLPSpanExporter.__module__, "opentelemetry.sdk._shared_internal"):
                logging.getLogger(name).addFilter(errors)
            # If the collector does not respond, the process waits this long when it exits.
            timeout_s = None if any(map(os.environ.get, TIMEOUT_VARIABLES)) else TIMEOUT_S
            delay_ms = None if os.environ.get(OTEL_BSP_SCHEDULE_DELAY) else DELAY_MS
            return BatchSpanProcessor(
                OTLPSpanExporter(timeout=timeout_s), schedule_delay_millis=delay_ms
            )
        case "console":
            return SimpleSpanProcessor(ConsoleSpanExporter())
        case "none":
            return None
        case other:
            raise ConfigError(f"{EXPORTER_VARIABLE}: must be otlp, console or none, got {other!r}")


class OtelTracer:
    """
    Creates spans with OpenTelemetry's SDK.

    Args:
        provider: records and exports the spans.
        ratio: the fraction of URLs that start a trace, unless the provider's sampler drops them.
    """

    def __init__(self, provider: trace.TracerProvider, ratio: float) -> None:
        self.ratio = ratio
        self._provider = provider
        self._tracer = provider.get_tracer("aragog", version(DISTRIBUTION))

    def active(self) -> str:
        context = trace.get_current_span().get_span_context()
        return _to_traceparent(context) if context.is_valid else ""

    def root(
        self, name: str, kind: SpanPart, attributes: Attributes, link: str = ""
    ) -> Span | None:
        links = [trace.Link(context)] if (context := _to_context(link)) else None
        span = self._tracer.start_span(
            name, NO_CONTEXT, kind=_KINDS[kind], attributes=attributes, links=links
        )
        return OtelSpan(span) if span.is_recording() else None

    def child(
        self,
        name: str,
        parent: str,
        kind: SpanPart,
        attributes: Attributes,
        started_ns: int | None = None,
    ) -> Span | None:
        context = _to_context(parent)
        if context is None:
            return None
        parent_context = trace.set_span_in_context(NonRecordingSpan(context), NO_CONTEXT)
        span = self._tracer.start_span(
            name, parent_context, kind=_KINDS[kind], attributes=attributes, start_time=started_ns
        )
        return OtelSpan(span) if span.is_recording() else None

    def flush(self) -> None:
        flush = getattr(self._provider, "force_flush", None)
        if flush is not None:
            flush(FLUSH_MS)


class OtelSpan:
    """A recorded span in the SDK."""

    __slots__ = ("_span", "traceparent")

    def __init__(self, span: trace.Span) -> None:
        self._span = span
        self.traceparent = _to_traceparent(span.get_span_context())

    def set(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def event(self, name: str, attributes: Attributes, at_ns: int | None = None) -> None:
        self._span.add_event(name, attributes, at_ns)

    def end(self, *, at_ns: int | None = None, error: str = "") -> None:
        if error:
            self._span.set_status(Status(StatusCode.ERROR, error))
        self._span.end(at_ns)


def _to_traceparent(context: trace.SpanContext) -> str:
    trace_id, span_id = format(context.trace_id, "032x"), format(context.span_id, "016x")
    return SpanContext(trace_id, span_id, context.trace_flags.sampled).traceparent


def _to_context(traceparent: str) -> trace.SpanContext | None:
    """Parse a parent's or a link's context from another process."""
    context = read(traceparent) if traceparent else None
    if context is None:
        return None
    return trace.SpanContext(
        trace_id=int(context.trace_id, 16),
        span_id=int(context.span_id, 16),
        is_remote=True,
        trace_flags=TraceFlags(TraceFlags.SAMPLED if context.sampled else TraceFlags.DEFAULT),
    )
