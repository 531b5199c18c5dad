"""The port through which code reads the time: a `Clock`, so that tests need not wait."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time, monotonic time, and sleep."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch by the wall clock, which may jump."""

    def monotonic_s(self) -> float:
        """Return seconds of a monotonic clock; only differences are meaningful."""

    def sleep_s(self, seconds: float) -> None:
        """Return after `seconds`; immediately if it is zero or less."""


class SystemClock:
    """The clocks of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep_s(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)
