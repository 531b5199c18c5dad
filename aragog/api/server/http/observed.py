"""
Request metrics and the access log.

Metrics have the route as a label instead of the requested path, because there are few routes. All
responses with status 5xx are logged, and a sample of the others (`serving.access_log_share`).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator

from prometheus_client import REGISTRY, Gauge
from prometheus_client.core import CounterMetricFamily, Metric
from prometheus_client.registry import Collector

from aragog.api.problems import Problem
from aragog.api.server.access_log import AccessLog
from aragog.observability.instruments import REQUEST_BOUNDS_S, Histogram
from aragog.observability.prometheus_export import family
from aragog.settings import ServingSettings

log = logging.getLogger(__name__)

IN_FLIGHT = Gauge("aragog_http_requests_in_flight", "Requests in progress.")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class RequestCounts(Collector):
    """
    Counts the process's requests in dictionaries, because updating those is cheap.

    Attributes:
        requests: number of requests by (method, route, status).
        durations: seconds until the response began, by route.
    """

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, str, int]] = Counter()
        self.durations = Histogram(
            "aragog_http_request_seconds",
            "Time until the response begins.",
            REQUEST_BOUNDS_S,
            "route",
        )

    def collect(self) -> Iterator[Metric]:
        metric = CounterMetricFamily(
            "aragog_http_requests",
            "Requests by route and status.",
            labels=["method", "route", "status"],
        )
        for (method, route, status), count in list(self.requests.items()):
            metric.add_metric([method, route, str(status)], count)
        yield metric
        yield family(self.durations)


COUNTS = RequestCounts()
REGISTRY.register(COUNTS)


class Observer:
    """Records one server's requests. It must be used on the server's event loop."""

    def __init__(self, settings: ServingSettings) -> None:
        self._log = AccessLog(settings.access_log_share)
        self.in_flight = 0
        """The number of requests that are being handled."""
        IN_FLIGHT.set_function(lambda: self.in_flight)

    def record_response(
        self,
        method: str,
        route: str,
        status: int,
        duration_s: float,
        target: bytes = b"",
        token: str | None = None,
    ) -> None:
        """
        Count a response and log it if it is sampled.

        Args:
            method: the request's method.
            route: the path with placeholders, or "none" if the path is unknown.
            status: the response's status.
            duration_s: time until the response began.
            target: path and query as requested.
            token: the name of the request's token.
        """
        COUNTS.requests[method if method in _METHODS else "other", route, status] += 1
        COUNTS.durations.labels(route).observe(duration_s)
        if self._log.should_log(failed=status >= 500):
            call = {"method": method[:20], "route": route}
            self._log.write(call, target, status, duration_s * 1000, token)

    def log_failure(
        self, problem: Problem, method: str, route: str, error: Exception | None
    ) -> None:
        if problem.status == 500:
            log.error("%s %s failed", method, route, exc_info=error)
