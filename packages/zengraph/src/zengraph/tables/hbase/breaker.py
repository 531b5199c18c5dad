"""
A circuit breaker for a gateway.

The caller passes the time, in seconds of a monotonic clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Breaker:
    """
    Takes a gateway out of rotation after errors, until a call succeeds.

    Args:
        max_errors: how many consecutive errors take it out.
        first_wait_s: the wait before the first probe; doubles with each further error.
        max_wait_s: the maximum wait between probes.
    """

    max_errors: int
    first_wait_s: float
    max_wait_s: float
    in_a_row: int = 0
    probe_at_s: float = 0.0
    """When the gateway may be probed; 0 while it is in rotation."""

    @property
    def is_healthy(self) -> bool:
        return self.in_a_row < self.max_errors

    def may_call(self, now_s: float) -> bool:
        """Return True if the gateway is in rotation or a probe is due."""
        return now_s >= self.probe_at_s

    def record_answer(self) -> None:
        self.in_a_row, self.probe_at_s = 0, 0.0

    def record_failure(self, now_s: float) -> None:
        self.in_a_row += 1
        doublings = self.in_a_row - self.max_errors
        if doublings >= 0:
            self.probe_at_s = now_s + min(
                math.ldexp(self.first_wait_s, min(doublings, 32)), self.max_wait_s
            )
