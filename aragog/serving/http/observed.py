"""
What is recorded of each request: metrics, and a sampled access log with one JSON object a line.

Metrics and log name the route, never what a client made up, so that they have few labels. The log
has all responses with status 5xx, and a share of the others (`serving.access_log_share`).
"""

from __future__ import annotations

import logging
from functools import lru_cache

from prometheus_client import Counter, Gauge, Histogram

from aragog.serving.access_log import AccessLog
from aragog.serving.http.problems import Problem
from aragog.settings import ServingSettings

log = logging.getLogger(__name__)

REQUESTS = Counter(
    "aragog_http_requests", "Requests by route and status.", ["method", "route", "status"]
)
SECONDS = Histogram(
    "aragog_http_request_seconds",
    "Until the response begins.",
    ["route"],
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10),
)
IN_FLIGHT = Gauge("aragog_http_requests_in_flight", "Requests that are being answered.")
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Observer:
    """Records the requests of one server; used on its event loop alone."""

    def __init__(self, settings: ServingSettings) -> None:
        self._log = AccessLog(settings.access_log_share)
        self.in_flight = 0
        """Requests that are being answered."""
        IN_FLIGHT.set_function(lambda: self.in_flight)

    def answered(
        self,
        method: str,
        route: str,
        status: int,
        seconds: float,
        target: bytes = b"",
        token: str | None = None,
    ) -> None:
        """
        Count a response, and perhaps log it.

        Args:
            method: of the request.
            route: its path, with placeholders; "none" if there is no such path.
            status: of the response.
            seconds: until the response began.
            target: path and query as requested.
            token: the name of the request's token.
        """
        _count(method if method in _METHODS else "other", route, status).inc()
        _seconds(route).observe(seconds)
        if self._log.takes(failed=status >= 500):
            what = {"method": method[:20], "route": route}
            self._log.write(what, target, status, seconds * 1000, token)

    def failed(self, problem: Problem, method: str, route: str, error: Exception | None) -> None:
        """Log the traceback of an error that nobody expected."""
        if problem.status == 500:
            log.error("%s %s failed", method, route, exc_info=error)


@lru_cache(maxsize=1024)
def _count(method: str, route: str, status: int) -> Counter:
    return REQUESTS.labels(method, route, str(status))


@lru_cache(maxsize=256)
def _seconds(route: str) -> Histogram:
    return SECONDS.labels(route)
