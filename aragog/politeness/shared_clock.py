"""
Instants that several workers share, by the clock of the server that keeps them.

Workers' wall clocks differ, by hours on a badly kept machine. What one writes and another compares
with "now" is therefore translated to the server's clock on the way in, and back on the way out.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from aragog.clock import Clock

# Our wall clock was set, or the machine slept: the difference is measured anew.
STEP_MS = 1000


class SharedClock:
    """
    The difference between a server's clock and ours. Thread-safe.

    Args:
        clock: ours.
        server_ms: asks the server's time, in ms since the epoch; raises what it raises.
    """

    def __init__(self, clock: Clock, server_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._server_ms = server_ms
        self._lock = threading.Lock()
        self._ahead_ms: int | None = None
        self._pace_ms = 0.0

    def ahead_ms(self) -> int:
        """By how much the server's clock is ahead of ours. One round trip at first, then none."""
        pace_ms = self._clock.now_ms() - self._clock.monotonic_s() * 1000
        with self._lock:
            if self._ahead_ms is None or abs(pace_ms - self._pace_ms) > STEP_MS:
                self._ahead_ms = self._server_ms() - self._clock.now_ms()
                self._pace_ms = pace_ms
            return self._ahead_ms
