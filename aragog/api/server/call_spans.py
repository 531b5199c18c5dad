"""
The span of a call that continues its caller's trace.

A call without a sampled `traceparent` has no span: reads are too frequent to begin traces here, and
whether an enqueued URL is traced is decided for each URL (aragog.crawl.pipeline.url_traces).
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
    A span for the block below that of the caller; yields the context that the block continues.

    Args:
        tracer: None: tracing is off.
        caller: a `traceparent`; "" or one that is not sampled: the call has no span.
        name: of the span.
        attributes: of the span.
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
