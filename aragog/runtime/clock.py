"""
Clocks for reading the time and sleeping.

Pure functions take `now_ms` as an argument; adapters use a `Clock`. Wall-clock times are
milliseconds since the epoch, named `…_at_ms`. Names of durations end with their unit.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock time, monotonic time, and sleep."""

    def now_ms(self) -> int:
        """Return milliseconds since the epoch. The wall clock may jump."""

    def monotonic_s(self) -> float:
        """Return monotonic seconds. Only differences are meaningful."""

    def sleep_s(self, seconds: float) -> None:
        """Sleep for `seconds`. Returns immediately if it is zero or less."""


class SystemClock:
    """The clocks of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep_s(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class ManualClock:
    """A clock for tests that only `advance_ms` and `sleep_s` move. `sleep_s` does not wait."""

    def __init__(self, at_ms: int = 1_700_000_000_000) -> None:
        self._ms = float(at_ms)

    def now_ms(self) -> int:
        return int(self._ms)

    def monotonic_s(self) -> float:
        return self._ms / 1000

    def sleep_s(self, seconds: float) -> None:
        self._ms += max(0.0, seconds) * 1000

    def advance_ms(self, ms: float) -> None:
        """Move the time forward by `ms`."""
        self._ms += ms
