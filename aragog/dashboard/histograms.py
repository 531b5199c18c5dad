"""Histograms for Prometheus: what all processes measured, and the lateness of jobs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric

from aragog.dashboard.components import Components
from aragog.instruments import INSTRUMENTS, SUM, Counter, Histogram, Measurement
from aragog.pinlater.models import LATENESS_BOUNDS_MS, QueueStatus


def totals(components: Components) -> Iterator[Metric]:
    """The measurements of all processes (`aragog.instruments`)."""
    sums = components.totals.read()
    for instrument in INSTRUMENTS:
        yield _family(instrument, sums)


def _family(instrument: Histogram | Counter, sums: Mapping[Measurement, float]) -> Metric:
    labels = [instrument.label] if instrument.label else []
    text, name = instrument.description, instrument.name
    values = sorted({cell.label for cell in sums if cell.instrument == name})
    if isinstance(instrument, Counter):
        counter = CounterMetricFamily(name, text, labels=labels)
        for value in sorted({*values, *instrument.values}):
            count = sums.get(Measurement(name, value, ""), 0)
            counter.add_metric([value][: len(labels)], count)
        return counter
    histogram = HistogramMetricFamily(name, text, labels=labels)
    for value in values:
        buckets, reached = [], 0.0
        for number, bound in enumerate((*instrument.bounds, float("inf"))):
            reached += sums.get(Measurement(name, value, str(number)), 0)
            buckets.append((_bound(bound), reached))
        total = sums.get(Measurement(name, value, SUM), 0)
        histogram.add_metric([value][: len(labels)], buckets, total)
    return histogram


def lateness_buckets(status: QueueStatus) -> list[tuple[str, float]]:
    """The buckets of a queue's lateness."""
    buckets = [(_bound(ms / 1000), status.claimed_within(ms)) for ms in LATENESS_BOUNDS_MS]
    return [*buckets, ("+Inf", status.stats.get("claimed", 0))]


def _bound(value: float) -> str:
    return "+Inf" if value == float("inf") else str(float(value))
