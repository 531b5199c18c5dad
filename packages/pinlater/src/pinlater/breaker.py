"""
A circuit breaker.

Each shard has two breakers, one for errors and one for when it is full. The caller passes the time,
in seconds of a monotonic clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

MAX_ERRORS_IN_A_ROW = 3
SLOW_S = 1.0
PROBE_EVERY_S = 5.0


@dataclass(slots=True)
class Breaker:
    """
    Takes a server out of rotation after errors or slow responses, and probes it later.

    Args:
        max_errors: how many consecutive errors take it out.
        first_wait_s: seconds before the first probe; doubles with each further error.
        max_wait_s: maximum seconds between probes.
        slow_s: one slower response takes the server out; `math.inf` turns this off.
    """

    max_errors: int = MAX_ERRORS_IN_A_ROW
    first_wait_s: float = PROBE_EVERY_S
    max_wait_s: float = PROBE_EVERY_S
    slow_s: float = SLOW_S
    consecutive_errors: int = 0
    out_since_s: float | None = None
    """When the server left the rotation; None while it is in rotation."""
    probe_at_s: float = 0.0
    """When to probe; 0 while in rotation."""

    @property
    def is_healthy(self) -> bool:
        return self.out_since_s is None

    def may_call(self, now_s: float) -> bool:
        """Return True if the server is in rotation or a probe is due."""
        return now_s >= self.probe_at_s

    def record_answer(self, took_s: float, now_s: float) -> None:
        if took_s > self.slow_s:
            self.record_failure(now_s, at_once=True)
            return
        self.consecutive_errors, self.out_since_s, self.probe_at_s = 0, None, 0.0

    def record_failure(self, now_s: float, *, at_once: bool = False) -> None:
        """
        Record a failed call. With `at_once`, meant for timeouts and refused connections, one
        failure takes the server out.
        """
        self.consecutive_errors += self.max_errors if at_once else 1
        doublings = self.consecutive_errors - self.max_errors
        if doublings >= 0:
            self.probe_at_s = now_s + min(
                math.ldexp(self.first_wait_s, min(doublings, 32)), self.max_wait_s
            )
            if self.out_since_s is None:
                self.out_since_s = now_s
