"""The `Clock` interface, through which code reads the time, so that tests need not wait."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time, monotonic time, and sleep."""

    def now_ms(self) -> int:
        """Return the wall clock's time in milliseconds since the epoch; it may jump."""

    def monotonic_s(self) -> float:
        """Return a monotonic clock's time in seconds; only differences are meaningful."""

    def sleep_s(self, seconds: float) -> None:
        """Return after `seconds`; immediately if it is zero or less."""


class SystemClock:
    """The system's clocks."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep_s(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)
