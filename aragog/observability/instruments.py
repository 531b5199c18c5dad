"""
Durations and counts that this process's hot paths record.

Labels are names from the code or the settings, never data from a website or a client, so the number
of series is bounded. `aragog.crawl.pipeline.metric_totals` adds up all processes, and
`aragog.observability.prometheus_export` exports the sums. Values that are read on request, such as
the number of waiting URLs, are in `aragog.dashboard.scraped_metrics`.

The types of prometheus_client take twice as long to record a value, and importing them loads an
HTTP server that workers do not need (docs/adr/0053).
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

SUM = "sum"


class Measurement(NamedTuple):
    """Identifies one number of an instrument."""

    instrument: str
    label: str
    """The label's value, or "" if the instrument has no label."""
    part: str
    """For a histogram, a bucket's index, starting at 0, or `SUM`. For a counter, ""."""


class Observations:
    """A histogram's numbers for one label value. Thread-safe."""

    __slots__ = ("_bounds", "_counts", "_lock", "_sum")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self._bounds = bounds
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, value: float) -> None:
        """Add a value, such as a duration in seconds."""
        bucket = bisect_left(self._bounds, value)
        with self._lock:
            self._counts[bucket] += 1
            self._sum += value

    def read(self) -> dict[str, float]:
        """Return the numbers that are not 0, by `Measurement.part`."""
        with self._lock:
            counts: dict[str, float] = {str(n): c for n, c in enumerate(self._counts) if c}
            return counts | {SUM: self._sum} if counts else {}


class Count:
    """A counter's number for one label value. Thread-safe."""

    __slots__ = ("_lock", "_total")

    def __init__(self) -> None:
        self._total = 0
        self._lock = threading.Lock()

    def add(self, amount: int = 1) -> None:
        with self._lock:
            self._total += amount

    def read(self) -> dict[str, float]:
        """See `Observations.read`."""
        return {"": self._total} if self._total else {}


class Histogram:
    """
    Counts values by bucket, with one label or none.

    Args:
        name: the metric's name in Prometheus.
        description: one sentence on what is measured.
        bounds: the upper bounds of the buckets, ascending.
        label: the name of the label.
    """

    def __init__(
        self, name: str, description: str, bounds: tuple[float, ...], label: str = ""
    ) -> None:
        self.name, self.description, self.bounds, self.label = name, description, bounds, label
        self.children: dict[str, Observations] = {}

    def labels(self, label: str = "") -> Observations:
        """Return the label value's observations, always as the same object."""
        child = self.children.get(label)
        return child or self.children.setdefault(label, Observations(self.bounds))


class Counter:
    """
    Counts events, with one label or none.

    Args:
        name, description, label: see `Histogram`.
        values: label values that Prometheus shows as 0 before their first event.
    """

    def __init__(
        self, name: str, description: str, label: str = "", values: tuple[str, ...] = ()
    ) -> None:
        self.name, self.description, self.label = name, description, label
        self.values = values
        self.children: dict[str, Count] = {}

    def labels(self, label: str = "") -> Count:
        """Return the label value's count, always as the same object."""
        child = self.children.get(label)
        return child or self.children.setdefault(label, Count())


REQUEST_BOUNDS_S = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0,
)  # fmt: skip
"""The buckets for HTTP requests and Thrift calls. The servers export these metrics themselves."""

STAGE_SECONDS = Histogram(
    "aragog_stage_seconds",
    "Duration of one run of a task; a run has up to pipeline.batch_size URLs.",
    (0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60),
    "stage",
)
STORE_SECONDS = Histogram(
    "aragog_store_seconds",
    "Duration of one operation on the store's tables; a batch is one operation.",
    (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 1, 5),
    "operation",
)
CONTENT_SECONDS = Histogram(
    "aragog_content_seconds",
    "Duration of one operation on the content store; a batch is one operation.",
    (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5, 20),
    "operation",
)
SLOT_LATENESS_SECONDS = Histogram(
    "aragog_slot_lateness_seconds",
    "Time from a slot to its request, by the limiter's clock.",
    (0.001, 0.005, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2, 5),
)
SLOTS = Counter(
    "aragog_slots",
    "Slots of domains by event: reserved (what the rates allowed), used (its request was sent), "
    "missed (its window had passed when the request was ready).",
    "event",
    ("reserved", "used", "missed"),
)
TLS_HANDSHAKES = Counter(
    "aragog_tls_handshakes",
    "Successful TLS handshakes with origins: full, or resumed, which does not check the "
    "certificate again and takes a fraction of the CPU.",
    "kind",
    ("full", "resumed"),
)
TLS_FAILURES = Counter(
    "aragog_tls_failures",
    "Failed TLS handshakes with origins, by reason: a problem with the certificate, an old "
    "protocol, or another reason.",
    "reason",
    (
        "expired", "not yet valid", "for another name", "self-signed", "from an unknown issuer",
        "too weak", "old protocol", "other",
    ),
)  # fmt: skip
EGRESS_REQUESTS = Counter(
    "aragog_egress_requests",
    "Requests that were sent, by egress route (egress.ways; direct; proxy: fetch.proxy).",
    "way",
    ("direct",),
)
EGRESS_FAILURES = Counter(
    "aragog_egress_failures",
    "Connections that failed because of the egress route itself: the proxy does not respond or "
    "rejects the login, or the machine does not have the address.",
    "way",
)
REFRESH_URLS = Counter(
    "aragog_refresh_urls",
    "URLs that were due for a refresh: enqueued, or postponed by their domain's crawl budget.",
    "decision",
    ("enqueued", "postponed"),
)
CHANGE_SIGNALS = Counter(
    "aragog_change_signals",
    "Changes to stored pages that sitemaps and feeds report: named (the page's refresh was brought "
    "forward), ignored (the host's reports are not reliable), confirmed and refuted (by the next "
    "fetch), and unnamed (a scheduled fetch found an unreported change to a listed page).",
    "event",
    ("named", "ignored", "confirmed", "refuted", "unnamed"),
)
SOURCE_READINGS = Counter(
    "aragog_source_readings",
    "Requests for sitemaps and feeds, by what they reported: brought (changes to stored pages), "
    "nothing (no such changes), unchanged (a 304, or the same bytes).",
    "result",
    ("brought", "nothing", "unchanged"),
)
READ_CACHE_READS = Counter(
    "aragog_read_cache_reads",
    "Records that plain API reads looked up in their process's cache (serving.read_cache_s), by "
    "whether the cache had them.",
    "result",
    ("hit", "miss"),
)
INSTRUMENTS: tuple[Histogram | Counter, ...] = (
    STAGE_SECONDS,
    STORE_SECONDS,
    CONTENT_SECONDS,
    SLOT_LATENESS_SECONDS,
    SLOTS,
    TLS_HANDSHAKES,
    TLS_FAILURES,
    EGRESS_REQUESTS,
    EGRESS_FAILURES,
    REFRESH_URLS,
    CHANGE_SIGNALS,
    SOURCE_READINGS,
    READ_CACHE_READS,
)


def read_measurements(
    instruments: Iterable[Histogram | Counter] = INSTRUMENTS,
) -> dict[Measurement, float]:
    """Return these instruments' numbers since this process started, except those that are 0."""
    result: dict[Measurement, float] = {}
    for instrument in instruments:
        children: Mapping[str, Observations | Count] = instrument.children
        for label, child in list(children.items()):
            result |= {
                Measurement(instrument.name, label, part): n for part, n in child.read().items()
            }
    return result


@contextmanager
def timed(observer: Observations) -> Iterator[None]:
    """Record the duration of the block, even if it raises."""
    started_s = time.perf_counter()
    try:
        yield
    finally:
        observer.observe(time.perf_counter() - started_s)


def timed_calls(call: Callable[P, R], observer: Observations) -> Callable[P, R]:
    """Wrap `call` to record the duration of each call."""

    @wraps(call)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        started_s = time.perf_counter()
        try:
            return call(*args, **kwargs)
        finally:
            observer.observe(time.perf_counter() - started_s)

    return run
