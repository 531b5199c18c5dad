"""
What is recorded of each request: metrics, and a sampled access log with one JSON object a line.

Metrics and log name the route, never what a client made up, so that they have few labels. The log
has all responses with status 5xx, and a share of the others (`serving.access_log_share`).
"""

from __future__ import annotations

import logging
import random
import time
from functools import lru_cache

import orjson
from prometheus_client import Counter, Gauge, Histogram

from aragog.serving.http.problems import Problem
from aragog.settings import ServingSettings

log = logging.getLogger(__name__)
access_log = logging.getLogger("aragog.access")
"""INFO, one JSON object a line: at, method, route, target, status, ms, token."""

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
MOST_TARGET = 500
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})


class Observer:
    """Records the requests of one server; used on its event loop alone."""

    def __init__(self, settings: ServingSettings) -> None:
        self._share = settings.access_log_share
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
        if status >= 500 or (self._share and random.random() < self._share):
            line = {
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
                "method": method[:20],
                "route": route,
                "target": target[:MOST_TARGET].decode("latin-1"),
                "status": status,
                "ms": round(seconds * 1000, 2),
                "token": token,
            }
            access_log.info("%s", orjson.dumps(line).decode())

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
