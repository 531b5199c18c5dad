"""How long requests took, for Prometheus: a histogram for one thread, at a tenth of the cost."""

from __future__ import annotations

from bisect import bisect_left
from itertools import accumulate

from prometheus_client.core import HistogramMetricFamily
from prometheus_client.utils import floatToGoString

BOUNDS_S = (
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, float("inf"),
)  # fmt: skip


class Durations:
    """Durations by one label. One thread adds to it; it may be read from any."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}
        self._sums_s: dict[str, float] = {}

    def add(self, label: str, duration_s: float) -> None:
        """Count a duration."""
        counts = self._counts.get(label)
        if counts is None:
            self._sums_s[label] = 0.0
            counts = self._counts[label] = [0] * len(BOUNDS_S)
        counts[bisect_left(BOUNDS_S, duration_s)] += 1
        self._sums_s[label] += duration_s

    def metric(self, name: str, text: str, label_name: str) -> HistogramMetricFamily:
        """The histogram now."""
        family = HistogramMetricFamily(name, text, labels=[label_name])
        bounds = [floatToGoString(bound) for bound in BOUNDS_S]  # type: ignore[no-untyped-call]
        for label, counts in list(self._counts.items()):
            buckets = list(zip(bounds, accumulate(counts), strict=True))
            family.add_metric([label], buckets, self._sums_s[label])
        return family
