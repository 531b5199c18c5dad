"""
The interface for creating spans, and this process's tracer.

This module does not import OpenTelemetry, so processes without tracing never load it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from enum import StrEnum, auto
from typing import Protocol

from aragog.runtime.extras import require
from aragog.settings import Settings

Value = str | int | float | bool
Attributes = Mapping[str, Value]


class SpanPart(StrEnum):
    """A span's role in its trace, like OpenTelemetry's SpanKind."""

    INTERNAL = auto()
    SERVER = auto()
    CLIENT = auto()
    PRODUCER = auto()
    CONSUMER = auto()


class Span(Protocol):
    """A recorded span. Thread-safe."""

    @property
    def traceparent(self) -> str:
        """The span's context as a `traceparent`, for its children."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes to the span."""

    def event(self, name: str, attributes: Attributes, at_ns: int | None = None) -> None:
        """Add an event to the span. `at_ns` counts from the epoch; None means now."""

    def end(self, *, at_ns: int | None = None, error: str = "") -> None:
        """End the span. A non-empty `error` marks it as failed and is its description."""


class Tracer(Protocol):
    """Creates and exports spans. Thread-safe. Only `flush` waits for the network."""

    ratio: float
    """The fraction of URLs from untraced callers that start a trace."""

    def active(self) -> str:
        """Return the program's current span as a `traceparent`, or "" outside a span."""

    def root(
        self, name: str, kind: SpanPart, attributes: Attributes, link: str = ""
    ) -> Span | None:
        """Return the first span of a trace, linked to `link`, or None if the sampler drops it."""

    def child(
        self,
        name: str,
        parent: str,
        kind: SpanPart,
        attributes: Attributes,
        started_ns: int | None = None,
    ) -> Span | None:
        """
        Return a child span of `parent` (a sampled `traceparent`), or None if a custom sampler drops
        it.

        `started_ns` counts from the epoch; None means now.
        """

    def flush(self) -> None:
        """Export all spans that have ended. Blocks for a few seconds at most."""


_lock = threading.Lock()
_service_names: list[str] = ["aragog"]
_tracers: dict[int, Tracer] = {}


def name_service(role: str) -> None:
    """Name this process `aragog-ROLE` in its traces, unless `OTEL_SERVICE_NAME` is set."""
    _service_names[:] = [f"aragog-{role}"]


def open_tracer(settings: Settings) -> Tracer | None:
    """
    Return this process's tracer, or None if `tracing.enabled` is false. Call this after a fork.

    Raises:
        ConfigError: the extra `otel` is not installed, or an `OTEL_` variable is not supported.
    """
    if not settings.tracing.enabled:
        return None
    require("otel", "tracing.enabled")
    with _lock:
        tracer = _tracers.get(os.getpid())
        if tracer is None:
            from aragog.observability.tracing.open_telemetry import connect  # noqa: PLC0415 - see above

            _tracers.clear()  # a fork has its parent's tracer, but not its exporting thread
            tracer = connect(_service_names[0], settings.tracing.sample_ratio)
            _tracers[os.getpid()] = tracer
        return tracer


def flush_spans() -> None:
    """Export this process's finished spans, if it has a tracer."""
    if tracer := _tracers.get(os.getpid()):
        tracer.flush()
