"""Metrics of hedged reads, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aragog.api.server.hedging import HedgedReads


class HedgingMetrics(Collector):
    """Reads the counts of one process when it is asked."""

    def __init__(self, hedged: HedgedReads) -> None:
        self._policy = hedged.policy

    def collect(self) -> Iterator[Metric]:
        """The metrics now."""
        policy = self._policy
        reads = CounterMetricFamily(
            "aragog_hedged_reads", "Reads at the primary and at the standby.", labels=["sent_to"]
        )
        reads.add_metric(["primary"], policy.reads)
        reads.add_metric(["standby, late"], policy.hedged)
        reads.add_metric(["standby, failed"], policy.repeated)
        reads.add_metric(["standby, mirrored"], policy.mirrored)
        yield reads
        yield CounterMetricFamily(
            "aragog_hedged_reads_won", "Reads that the standby answered.", policy.won
        )
        yield GaugeMetricFamily(
            "aragog_hedge_delay_seconds", "After which a read is late.", policy.delay_s
        )
