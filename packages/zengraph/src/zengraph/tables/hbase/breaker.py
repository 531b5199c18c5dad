"""
The circuit breaker of a gateway: leaves it out after errors, and asks it again after a while. Pure.

The caller passes the time, in seconds of a monotonic clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(slots=True)
class Breaker:
    """
    Leaves one server out of rotation after errors, and brings it back.

    Args:
        errors: how many in a row take it out.
        first_wait_s: until it is asked for the first time; doubles with each further error.
        most_wait_s: the longest such wait.
    """

    errors: int
    first_wait_s: float
    most_wait_s: float
    in_a_row: int = 0
    probe_at_s: float = 0.0
    """When to ask it again; 0 while it is in rotation."""

    @property
    def healthy(self) -> bool:
        """Return whether the server is in rotation."""
        return self.in_a_row < self.errors

    def worth_asking(self, now_s: float) -> bool:
        """Return whether the server is in rotation, or has been out long enough for a probe."""
        return now_s >= self.probe_at_s

    def answered(self) -> None:
        """Record a successful call."""
        self.in_a_row, self.probe_at_s = 0, 0.0

    def failed(self, now_s: float) -> None:
        """Record a failed call."""
        self.in_a_row += 1
        doublings = self.in_a_row - self.errors
        if doublings >= 0:
            self.probe_at_s = now_s + min(
                math.ldexp(self.first_wait_s, min(doublings, 32)), self.most_wait_s
            )
