"""Metrics of the Thrift server, for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aragog.serving.hedging import HedgedReads
from aragog.serving.thrift.server import ThriftServer


class ThriftMetrics(Collector):
    """
    Reads the server's own counts when it is asked: a call pays nothing for them.

    Args:
        server: the server of this process.
        hedged: its hedged reads; None: there is no standby.
    """

    def __init__(self, server: ThriftServer, hedged: HedgedReads | None = None) -> None:
        self._server = server
        self._hedged = hedged

    def collect(self) -> Iterator[Metric]:
        """The metrics now."""
        server = self._server
        calls = CounterMetricFamily(
            "aragog_thrift_calls",
            "Calls by method and outcome: ok, refused, malformed, or the exception.",
            labels=["method", "outcome"],
        )
        for (method, outcome), count in list(server.calls.items()):
            calls.add_metric([method, outcome], count)
        yield calls
        yield GaugeMetricFamily(
            "aragog_thrift_calls_in_flight",
            "Calls that run or wait, abandoned ones included.",
            server.running_calls,
        )
        yield GaugeMetricFamily(
            "aragog_thrift_connections", "Connected clients.", server.connections
        )
        if self._hedged is not None:
            yield from self._hedging(self._hedged)

    def _hedging(self, hedged: HedgedReads) -> Iterator[Metric]:
        policy = hedged.policy
        reads = CounterMetricFamily(
            "aragog_hedged_reads", "Reads at the primary and at the standby.", labels=["sent_to"]
        )
        reads.add_metric(["primary"], policy.reads)
        reads.add_metric(["standby, late"], policy.hedged)
        reads.add_metric(["standby, mirrored"], policy.mirrored)
        yield reads
        yield GaugeMetricFamily(
            "aragog_hedge_delay_seconds", "After which a read is late.", policy.delay_s
        )
