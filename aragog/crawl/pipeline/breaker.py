"""
The circuit breaker: leaves a server out after errors, and asks it again after a while. Pure.

Each shard of PinLater has one, and one for when it is full; so has each HBase gateway, and each
server whose memory is watched. The caller passes the time, in seconds of a monotonic clock.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

ERRORS_IN_A_ROW = 3
"""Failures in a row after which a server is left out."""
SLOW_S = 1.0
"""A single response that took longer is enough."""
PROBE_EVERY_S = 5.0
"""The time between two probes of a server that is left out."""


@dataclass(slots=True)
class Breaker:
    """
    Leaves one server out of rotation after errors or slow responses, and brings it back.

    Args:
        errors: how many in a row take it out.
        first_wait_s: until it is first tried again; doubles with each further error.
        most_wait_s: the longest such wait.
        slow_s: a response that took longer takes it out; `math.inf`: none does.
    """

    errors: int = ERRORS_IN_A_ROW
    first_wait_s: float = PROBE_EVERY_S
    most_wait_s: float = PROBE_EVERY_S
    slow_s: float = SLOW_S
    in_a_row: int = 0
    out_since_s: float | None = None
    """When it left the rotation; None: it is in rotation."""
    probe_at_s: float = 0.0
    """When to ask it again; 0 while it is in rotation."""

    @property
    def healthy(self) -> bool:
        """Return whether the server is in rotation."""
        return self.out_since_s is None

    def worth_asking(self, now_s: float) -> bool:
        """Return whether the server is in rotation, or has been out long enough for a probe."""
        return now_s >= self.probe_at_s

    def answered(self, took_s: float, now_s: float) -> None:
        """Record a successful call."""
        if took_s > self.slow_s:
            self.failed(now_s, at_once=True)
            return
        self.in_a_row, self.out_since_s, self.probe_at_s = 0, None, 0.0

    def failed(self, now_s: float, *, at_once: bool = False) -> None:
        """Record a failed call; `at_once` after a timeout or a refused connection."""
        self.in_a_row += self.errors if at_once else 1
        doublings = self.in_a_row - self.errors
        if doublings >= 0:
            self.probe_at_s = now_s + min(
                math.ldexp(self.first_wait_s, min(doublings, 32)), self.most_wait_s
            )
            if self.out_since_s is None:
                self.out_since_s = now_s
