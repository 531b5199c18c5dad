"""
A span's context in messages, as a `traceparent` (W3C Trace Context, level 1).

    00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01

An invalid context is ignored, as the recommendation requires (3.2.2.3).
"""

from __future__ import annotations

import re
from typing import NamedTuple

HEADER = "traceparent"
SAMPLED = 1
PATTERN = r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
"""Matches the fields that version 00 defines. Anything that a later version appends is ignored."""
_CONTEXT = re.compile(PATTERN + r"(?:-.*)?", re.ASCII)


class SpanContext(NamedTuple):
    """The IDs of a trace and of a span in it, in lower-case hex."""

    trace_id: str
    span_id: str
    sampled: bool
    """True if the trace is recorded. This is decided when the trace starts."""

    @property
    def traceparent(self) -> str:
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"


def read(traceparent: str) -> SpanContext | None:
    """Parse a `traceparent`. Returns None if it is invalid."""
    if not _CONTEXT.fullmatch(traceparent):
        return None
    _, trace_id, span_id, flags = traceparent.split("-")[:4]
    return SpanContext(trace_id, span_id, bool(int(flags, 16) & SAMPLED))


def is_sampled(traceparent: str) -> bool:
    """Return True for a valid context whose trace is recorded."""
    context = read(traceparent) if traceparent else None
    return context is not None and context.sampled


def log_ids(traceparent: str) -> dict[str, str]:
    """Return a sampled context's `trace_id` and `span_id` for a log line, or an empty dict."""
    context = read(traceparent) if traceparent else None
    if context is None or not context.sampled:
        return {}
    return {"trace_id": context.trace_id, "span_id": context.span_id}
