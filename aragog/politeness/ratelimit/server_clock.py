"""
What time it is on a Redis server, between two bounds, without asking it each time.

Every answer that carries the server's time bounds the difference between its clock and our
stopwatch: the server looked at its clock after we asked and before we had the answer. Recent
bounds are intersected, so the error is about half the quickest round trip of late.
"""

from __future__ import annotations

import threading

# Two machines' clocks drift apart by less than this (NTP slews at up to 500 ppm, usually 50).
DRIFT = 0.0005


class ServerClock:
    """
    Bounds on a server's clock. Instants are microseconds, our stopwatch's as well. Thread-safe.

    A step of the server's clock makes the bounds contradict each other: then only the newest count.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._low_us = float("-inf")
        self._high_us = float("inf")
        self._at_us = 0.0

    @property
    def known(self) -> bool:
        """False until the first answer."""
        return self._high_us != float("inf")

    def observe(self, asked_us: float, server_us: float, answered_us: float) -> None:
        """Take in an answer: our stopwatch before and after, and the server's clock between."""
        low, high = server_us - answered_us, server_us - asked_us
        with self._lock:
            drift = max(0.0, answered_us - self._at_us) * DRIFT
            both = max(low, self._low_us - drift), min(high, self._high_us + drift)
            self._low_us, self._high_us = both if both[0] <= both[1] else (low, high)
            self._at_us = answered_us

    def earliest_us(self, stopwatch_us: float) -> float:
        """The server's clock shows this at least."""
        return stopwatch_us + self._low_us - self._drift(stopwatch_us)

    def latest_us(self, stopwatch_us: float) -> float:
        """The server's clock shows this at most."""
        return stopwatch_us + self._high_us + self._drift(stopwatch_us)

    def _drift(self, stopwatch_us: float) -> float:
        return max(0.0, stopwatch_us - self._at_us) * DRIFT
