"""The Thrift server's metrics for Prometheus."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from aragog.api.server.thrift.server import ThriftServer
from aragog.observability.prometheus_export import family


class ThriftMetrics(Collector):
    """
    Exports the server's own counters on request, at no cost to calls.

    Args:
        server: the server of this process.
    """

    def __init__(self, server: ThriftServer) -> None:
        self._server = server

    def collect(self) -> Iterator[Metric]:
        server = self._server
        calls = CounterMetricFamily(
            "aragog_thrift_calls",
            "Calls by method and outcome: ok, refused, malformed, or the exception.",
            labels=["method", "outcome"],
        )
        for (method, outcome), count in list(server.calls.items()):
            calls.add_metric([method, outcome], count)
        yield calls
        yield family(server.durations)
        yield GaugeMetricFamily(
            "aragog_thrift_calls_in_flight",
            "Calls that are running or waiting, including abandoned ones.",
            server.running_calls,
        )
        yield GaugeMetricFamily(
            "aragog_thrift_calls_waiting",
            "Calls that wait for a fetch or a job without occupying a thread.",
            server.waiting_calls,
        )
        yield GaugeMetricFamily(
            "aragog_thrift_connections", "Connected clients.", server.connections
        )
