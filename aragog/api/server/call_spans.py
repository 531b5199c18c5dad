"""
Spans for calls that continue their callers' traces.

A call without a sampled `traceparent` gets no span. Reads are too frequent to start traces, and
`aragog.crawl.pipeline.url_traces` decides which enqueued URLs are traced.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from aragog.observability.tracing.context import is_sampled
from aragog.observability.tracing.tracer import Attributes, SpanPart, Tracer


@contextmanager
def call_span(
    tracer: Tracer | None, caller: str, name: str, attributes: Attributes
) -> Iterator[str]:
    """
    Open a span for the block, as a child of the caller's span, and yield its context.

    Args:
        tracer: the process's tracer, or None if tracing is off.
        caller: the caller's `traceparent`, or "".
        name: the span's name.
        attributes: the span's attributes.
    """
    span = None
    if tracer is not None and is_sampled(caller):
        span = tracer.child(name, caller, SpanPart.SERVER, attributes)
    problem = ""
    try:
        yield span.traceparent if span else caller
    except Exception as error:
        problem = f"{type(error).__name__}: {error}"
        raise
    finally:
        if span is not None:
            span.end(error=problem)
