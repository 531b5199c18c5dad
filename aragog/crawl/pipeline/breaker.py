"""
A circuit breaker: takes a server out of rotation after errors and probes it after a while.

Times are in seconds, by the caller's monotonic clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_CONSECUTIVE_ERRORS = 3
"""This many consecutive failures take a server out of rotation."""
MAX_RESPONSE_S = 1.0
"""A single response slower than this takes a server out of rotation."""
PROBE_INTERVAL_S = 5.0


@dataclass(slots=True)
class Breaker:
    """
    One server's breaker.

    Args:
        max_errors: how many consecutive errors take the server out.
        first_wait_s: the wait before the first probe. It doubles with each further error.
        max_wait_s: the longest wait before a probe.
        max_response_s: a slower response takes the server out. `math.inf` turns this off.
    """

    max_errors: int = MAX_CONSECUTIVE_ERRORS
    first_wait_s: float = PROBE_INTERVAL_S
    max_wait_s: float = PROBE_INTERVAL_S
    max_response_s: float = MAX_RESPONSE_S
    consecutive_errors: int = 0
    """Errors since the most recent success."""
    out_since_s: float | None = None
    """When the server left the rotation; None while it is in rotation."""
    probe_at_s: float = 0.0
    """When to probe the server; 0 while it is in rotation."""

    @property
    def is_healthy(self) -> bool:
        return self.out_since_s is None

    def can_call(self, now_s: float) -> bool:
        """Return True if the server is in rotation or is due for a probe."""
        return now_s >= self.probe_at_s

    def record_success(self, duration_s: float, now_s: float) -> None:
        if duration_s > self.max_response_s:
            self.record_failure(now_s, is_fatal=True)
            return
        self.consecutive_errors, self.out_since_s, self.probe_at_s = 0, None, 0.0

    def record_failure(self, now_s: float, *, is_fatal: bool = False) -> None:
        """
        Record an error.

        Pass `is_fatal` after a timeout or a refused connection. The server then leaves the rotation
        immediately.
        """
        self.consecutive_errors += self.max_errors if is_fatal else 1
        doublings = self.consecutive_errors - self.max_errors
        if doublings >= 0:
            self.probe_at_s = now_s + min(
                math.ldexp(self.first_wait_s, min(doublings, 32)), self.max_wait_s
            )
            if self.out_since_s is None:
                self.out_since_s = now_s
