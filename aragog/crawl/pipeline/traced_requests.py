"""
The requests of one traced fetch: attributes, and the times at which each starts, gets its permit
and ends.

The fetcher does not know about traces. It calls a gate (`aragog.crawl.fetcher.gate`) before each
request and at each redirect, and the gate records the times.
"""

from __future__ import annotations

import time
from urllib.parse import urlsplit

from aragog.crawl.fetcher.gate import Admission, Gate, Go, Later
from aragog.fetch_record.outcome import Outcome
from aragog.observability.tracing.tracer import Value

NS_PER_MS = 1_000_000


class RequestTimes:
    """One request of a fetch. Times are in ns since the epoch."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.started_ns = time.time_ns()
        self.ended_ns: int | None = None
        self.events: list[tuple[str, int]] = []

    def add_event(self, name: str) -> None:
        self.events.append((name, time.time_ns()))


class TimedGate:
    """
    A gate that records the times of one fetch's requests.

    Args:
        gate: makes the decisions.
        url: the first request's URL.
    """

    def __init__(self, gate: Gate, url: str) -> None:
        self._gate = gate
        self._requests = [RequestTimes(url)]

    def end(self) -> list[RequestTimes]:
        """End the last request, and return all requests."""
        self._requests[-1].ended_ns = time.time_ns()
        return self._requests

    def admit(self, url: str, target_as_sent: str) -> Admission:
        self._requests[-1].ended_ns = time.time_ns()
        admission = self._gate.admit(url, target_as_sent)
        if isinstance(admission, Go):
            self._requests.append(RequestTimes(url))
        return admission

    def acquire_permit(self, url: str) -> Later | None:
        self._requests[-1].add_event("connected")
        later = self._gate.acquire_permit(url)
        self._requests[-1].add_event("send permit" if later is None else "no send permit")
        return later

    def release_permit(self, url: str) -> None:
        self._requests[-1].add_event("request sent")
        self._gate.release_permit(url)

    def report_busy(self, url: str, wait_s: float | None) -> None:
        self._gate.report_busy(url, wait_s)


def exchange_attributes(url: str, status: int | None, outcome: Outcome | None) -> dict[str, Value]:
    """Return the attributes of a request and its response, named as in OpenTelemetry."""
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    attributes: dict[str, Value | None] = {
        "http.request.method": "GET",
        "url.full": url,
        "server.address": parts.hostname,
        "server.port": port,
        "http.response.status_code": status,
    }
    if outcome is not None:
        attributes |= {
            "aragog.outcome": outcome.outcome.value,
            "network.peer.address": outcome.address,
            "network.protocol.version": outcome.http_version,
            "aragog.dns_ms": outcome.dns_ms,
            "aragog.connect_ms": outcome.connect_ms,
            "aragog.first_byte_ms": outcome.first_byte_ms,
        }
    return {name: value for name, value in attributes.items() if value is not None}
