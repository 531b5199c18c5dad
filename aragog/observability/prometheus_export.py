"""Converts `aragog.observability.instruments` to prometheus_client's metric families."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.utils import floatToGoString

from aragog.observability.instruments import SUM, Counter, Histogram, Measurement, read_measurements


def family(
    instrument: Histogram | Counter, numbers: Mapping[Measurement, float] | None = None
) -> Metric:
    """
    Return an instrument as a metric family.

    Args:
        instrument: defines the family's name, label and buckets.
        numbers: the numbers to export; None means those of this process.
    """
    measurements = read_measurements([instrument]) if numbers is None else numbers
    labels = [instrument.label] if instrument.label else []
    description, name = instrument.description, instrument.name
    values = sorted(
        {measurement.label for measurement in measurements if measurement.instrument == name}
    )
    if isinstance(instrument, Counter):
        counter = CounterMetricFamily(name, description, labels=labels)
        for value in sorted({*values, *instrument.values}):
            counter.add_metric(
                [value][: len(labels)], measurements.get(Measurement(name, value, ""), 0)
            )
        return counter
    histogram = HistogramMetricFamily(name, description, labels=labels)
    for value in values:
        counts = [
            measurements.get(Measurement(name, value, str(number)), 0)
            for number in range(len(instrument.bounds) + 1)
        ]
        total = measurements.get(Measurement(name, value, SUM), 0)
        histogram.add_metric(
            [value][: len(labels)], buckets(instrument.bounds, accumulate(counts)), total
        )
    return histogram


def buckets(bounds: Iterable[float], cumulative_counts: Iterable[float]) -> list[tuple[str, float]]:
    """Return cumulative buckets: how many values are at or below each bound, and the total."""
    names = [floatToGoString(bound) for bound in (*bounds, float("inf"))]  # type: ignore[no-untyped-call]
    return list(zip(names, cumulative_counts, strict=True))
