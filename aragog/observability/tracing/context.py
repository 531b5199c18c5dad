"""
The context of a span as it travels: `traceparent` of W3C Trace Context, level 1.

    00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01

A context that cannot be read counts as none, as the recommendation says (3.2.2.3).
"""

from __future__ import annotations

import re
from typing import NamedTuple

HEADER = "traceparent"
SAMPLED = 1
PATTERN = r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
"""Version 00; what a later version appends is not read."""
_CONTEXT = re.compile(PATTERN + r"(?:-.*)?", re.ASCII)


class SpanContext(NamedTuple):
    """Which span of which trace, in lower-case hex."""

    trace_id: str
    span_id: str
    sampled: bool
    """Whether the trace is recorded; decided where it began."""

    @property
    def traceparent(self) -> str:
        """The context as text."""
        return f"00-{self.trace_id}-{self.span_id}-{int(self.sampled):02x}"


def read(traceparent: str) -> SpanContext | None:
    """The context of a `traceparent`; None if it is not one."""
    if not _CONTEXT.fullmatch(traceparent):
        return None
    _, trace_id, span_id, flags = traceparent.split("-")[:4]
    return SpanContext(trace_id, span_id, bool(int(flags, 16) & SAMPLED))


def is_sampled(traceparent: str) -> bool:
    """Whether it is the context of a span whose trace is recorded."""
    context = read(traceparent) if traceparent else None
    return context is not None and context.sampled


def log_ids(traceparent: str) -> dict[str, str]:
    """`trace_id` and `span_id` of a sampled context, for a line of a log; else nothing."""
    context = read(traceparent) if traceparent else None
    if context is None or not context.sampled:
        return {}
    return {"trace_id": context.trace_id, "span_id": context.span_id}
