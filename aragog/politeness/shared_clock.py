"""
The offset between a server's clock and the local one, for instants that several workers share.

Wall clocks of workers may differ by hours. An instant that one worker writes and another one reads
is therefore converted to the server's clock when written, and back when read.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from aragog.clock import Clock

# A larger step of the local wall clock (set by hand, suspend) makes the offset be measured again.
STEP_MS = 1000


class SharedClock:
    """
    The offset of a server's clock. Thread-safe.

    Args:
        clock: the local clock.
        server_ms: queries the server's time in ms since the epoch; its exceptions propagate.
    """

    def __init__(self, clock: Clock, server_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._server_ms = server_ms
        self._lock = threading.Lock()
        self._ahead_ms: int | None = None
        self._boot_ms = 0.0

    def ahead_ms(self) -> int:
        """Return how far the server's clock is ahead, in ms. Only the first call queries it."""
        boot_ms = self._clock.now_ms() - self._clock.monotonic_s() * 1000
        with self._lock:
            if self._ahead_ms is None or abs(boot_ms - self._boot_ms) > STEP_MS:
                self._ahead_ms = self._server_ms() - self._clock.now_ms()
                self._boot_ms = boot_ms
            return self._ahead_ms

    def server_now_ms(self) -> int:
        """Return the server's time, in ms since the epoch. Only the first call queries it."""
        return self._clock.now_ms() + self.ahead_ms()


class ServerTime:
    """A clock that shows a server's time: the same on all machines, however wrong theirs is."""

    def __init__(self, clock: Clock, server_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._shared = SharedClock(clock, server_ms)

    def ahead_ms(self) -> int:
        """Return how far it is ahead of this machine's clock, in ms; see `SharedClock`."""
        return self._shared.ahead_ms()

    def now_ms(self) -> int:
        return self._shared.server_now_ms()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    def sleep_s(self, seconds: float) -> None:
        self._clock.sleep_s(seconds)
