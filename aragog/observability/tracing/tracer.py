"""
The port through which spans are made, and the tracer of this process.

Nothing here imports OpenTelemetry: a process whose settings have no tracing does without it.
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
    """The part of a span in its trace: OpenTelemetry's SpanKind."""

    INTERNAL = auto()
    SERVER = auto()
    CLIENT = auto()
    PRODUCER = auto()
    CONSUMER = auto()


class Span(Protocol):
    """A span that is recorded. Thread-safe."""

    @property
    def traceparent(self) -> str:
        """Its context, for its children."""

    def set(self, attributes: Attributes) -> None:
        """Add attributes."""

    def event(self, name: str, attributes: Attributes, at_ns: int | None = None) -> None:
        """Add an event; `at_ns` is since the epoch, None means now."""

    def end(self, *, at_ns: int | None = None, error: str = "") -> None:
        """End it; an `error` marks it as failed, and says why."""


class Tracer(Protocol):
    """Makes spans and exports those that have ended. Thread-safe, and never waits for a network."""

    ratio: float
    """The share of URLs without a traced caller that begin a trace."""

    def active(self) -> str:
        """The `traceparent` of the span in which this program calls aragog, or ""."""

    def root(
        self, name: str, kind: SpanPart, attributes: Attributes, link: str = ""
    ) -> Span | None:
        """A span that begins a trace, linked to `link`; None if the sampler does not want it."""

    def child(
        self,
        name: str,
        parent: str,
        kind: SpanPart,
        attributes: Attributes,
        started_ns: int | None = None,
    ) -> Span | None:
        """
        A span below `parent`, a sampled `traceparent`; None if a sampler of one's own refuses it.

        `started_ns` is since the epoch; None means now.
        """

    def flush(self) -> None:
        """Export all spans that have ended; blocks for seconds at most."""


_lock = threading.Lock()
_services: list[str] = ["aragog"]
_tracers: dict[int, Tracer] = {}


def name_service(role: str) -> None:
    """Call this process `aragog-ROLE` in its traces, unless `OTEL_SERVICE_NAME` names it."""
    _services[:] = [f"aragog-{role}"]


def tracer_of(settings: Settings) -> Tracer | None:
    """
    The tracer of this process; None if `tracing.enabled` is false. Call it after a fork.

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

            _tracers.clear()  # the parent's, whose exporting thread this process does not have
            tracer = connect(_services[0], settings.tracing.sample_ratio)
            _tracers[os.getpid()] = tracer
        return tracer


def flush_spans() -> None:
    """Export the spans of this process that have ended, if it has a tracer."""
    if tracer := _tracers.get(os.getpid()):
        tracer.flush()
