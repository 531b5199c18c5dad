"""
The limiter's rules for one domain in Python: the next slot, and the backoff after errors.

Equivalent to `aragog/crawl/politeness/lua/reserve.lua` and `report.lua` without permits, missed
slots, urgent slots and latency; `tests/contract/test_simulated_limiter.py` runs both with the same
requests.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from aragog.crawl.politeness.limiter import ERRORS_BEFORE_BACKOFF, MAX_BACKOFF_PERCENT
from aragog.crawl.politeness.slots import lengthen_interval_us


@dataclass(slots=True)
class DomainLimit:
    """The state of one domain. Times and intervals are in µs."""

    interval_us: float
    planned_us: float = -math.inf
    """The time of the last slot."""
    factor: int = 100
    """Percent."""
    errors_in_a_row: int = 0

    @property
    def step_us(self) -> float:
        """Return the current interval."""
        return lengthen_interval_us(self.interval_us, self.factor / 100, 1.0)

    def reserve(self, now_us: float, within_us: float) -> float | None:
        """Reserve the next slot, or return None if it is further away than `within_us`."""
        slot_us = self.next_slot_us(now_us)
        if slot_us - now_us > within_us:
            return None
        self.planned_us = slot_us
        return slot_us

    def next_slot_us(self, now_us: float) -> float:
        """Return when the next slot would be."""
        return max(now_us, self.planned_us + self.step_us)

    def report(self, *, succeeded: bool) -> None:
        """Count a response."""
        if succeeded:
            self.factor, self.errors_in_a_row = max(100, self.factor * 3 // 4), 0
        else:
            self.errors_in_a_row = min(255, self.errors_in_a_row + 1)
            if self.errors_in_a_row >= ERRORS_BEFORE_BACKOFF:
                self.factor = min(MAX_BACKOFF_PERCENT, self.factor * 2)
