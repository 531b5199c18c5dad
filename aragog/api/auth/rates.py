"""Rate limits of bearer tokens: one bucket a token, in the memory of each process. Pure."""

from __future__ import annotations

BURST_S = 1.0
"""After a pause, this many seconds' worth of requests may arrive at once."""


class Bucket:
    """
    A token bucket.

    Args:
        rate: requests per second; at least one request is always allowed at first.
    """

    __slots__ = ("_left", "_most", "_rate", "_updated_s")

    def __init__(self, rate: float) -> None:
        self._rate = rate
        self._most = max(1.0, rate * BURST_S)
        self._left = self._most
        self._updated_s: float | None = None

    def take(self, now_s: float) -> float:
        """0.0 if a request is allowed at this monotonic time; else the seconds until one is."""
        if self._updated_s is not None:
            gained = max(0.0, now_s - self._updated_s) * self._rate
            self._left = min(self._most, self._left + gained)
        self._updated_s = now_s
        if self._left < 1:
            return (1 - self._left) / self._rate
        self._left -= 1
        return 0.0
