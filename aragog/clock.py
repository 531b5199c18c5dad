"""
Time as an argument: what decides takes `now_ms`; what acts asks a `Clock`.

Wall-clock instants are integer milliseconds since the epoch, named `…_at_ms`; durations carry
their unit. `ManualClock` is for tests: its `sleep_s` moves time instead of spending it.
"""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Now, a stopwatch, and a way to wait."""

    def now_ms(self) -> int:
        """Milliseconds since the epoch, by the wall clock (may jump)."""

    def monotonic_s(self) -> float:
        """Seconds on a stopwatch that never goes back; only differences mean something."""

    def sleep_s(self, seconds: float) -> None:
        """Return after `seconds`; at once when it is zero or less."""


class SystemClock:
    """The clock of this machine."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    def monotonic_s(self) -> float:
        return time.monotonic()

    def sleep_s(self, seconds: float) -> None:
        if seconds > 0:
            time.sleep(seconds)


class ManualClock:
    """A clock that stands still until told: `advance_ms`, or `sleep_s`, which returns at once."""

    def __init__(self, at_ms: int = 1_700_000_000_000) -> None:
        self._ms = float(at_ms)

    def now_ms(self) -> int:
        return int(self._ms)

    def monotonic_s(self) -> float:
        return self._ms / 1000

    def sleep_s(self, seconds: float) -> None:
        self._ms += max(0.0, seconds) * 1000

    def advance_ms(self, ms: float) -> None:
        """Move time ahead by `ms`."""
        self._ms += ms
