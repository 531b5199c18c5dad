"""
Clocks. The graph reads the time and sleeps only through a clock.

Times are integer milliseconds since the epoch, named `…_at_ms`. `ManualClock` is for tests: its
`sleep_s` advances the time instead of waiting.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time, and sleep."""

    def now_ms(self) -> int:
        """Return the wall clock's time in milliseconds since the epoch; it may jump."""

    def sleep_s(self, seconds: float) -> None:
        """Return after `seconds`; immediately if it is zero or less."""


class SystemClock:
    """The system's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def sleep_s(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class ManualClock:
    """A clock for tests, moved only by `advance_ms` and `sleep_s`."""

    def __init__(self, at_ms: int = 1_700_000_000_000) -> None:
        self._ms = float(at_ms)

    def now_ms(self) -> int:
        return int(self._ms)

    def sleep_s(self, seconds: float) -> None:
        self._ms += max(0.0, seconds) * 1000

    def advance_ms(self, ms: float) -> None:
        self._ms += ms
