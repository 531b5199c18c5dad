"""
Lower and upper bounds on a Redis server's clock, without a query for each use.

Every response with the server's time bounds the offset between its clock and the local monotonic
clock: the server read its clock between the request and the response. Recent bounds are
intersected, so the error is about half the fastest recent round trip.
"""

from __future__ import annotations

import threading

# The clocks of two machines drift less than this (NTP slews at up to 500 ppm, usually 50).
DRIFT = 0.0005


class ServerClock:
    """
    Bounds on a server's clock. All instants are microseconds. Thread-safe.

    After a step of the server's clock the bounds have no intersection; the newest one then counts.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._low_us = float("-inf")
        self._high_us = float("inf")
        self._at_us = 0.0

    @property
    def known(self) -> bool:
        """False until the first response."""
        return self._high_us != float("inf")

    def observe(self, sent_us: float, server_us: float, received_us: float) -> None:
        """Record a response: the monotonic clock before and after, and the server's clock."""
        low, high = server_us - received_us, server_us - sent_us
        with self._lock:
            drift = max(0.0, received_us - self._at_us) * DRIFT
            both = max(low, self._low_us - drift), min(high, self._high_us + drift)
            self._low_us, self._high_us = both if both[0] <= both[1] else (low, high)
            self._at_us = received_us

    def earliest_us(self, stopwatch_us: float) -> float:
        """Return the lower bound of the server's clock."""
        return stopwatch_us + self._low_us - self._drift(stopwatch_us)

    def latest_us(self, stopwatch_us: float) -> float:
        """Return the upper bound of the server's clock."""
        return stopwatch_us + self._high_us + self._drift(stopwatch_us)

    def _drift(self, stopwatch_us: float) -> float:
        return max(0.0, stopwatch_us - self._at_us) * DRIFT
