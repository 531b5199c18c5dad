"""The timestamps of writes, shared by all parts of one UrlStore."""

from __future__ import annotations

from aragog.clock import Clock, SystemClock


class WriteClock:
    """
    A clock whose writes are never hidden by a delete of the same process.

    HBase masks a put that is not newer than an earlier delete of the same cell, so the clock
    returns instants later than the last delete that was reported to it. Threads may share it.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self._floor_ms = 0

    def now_ms(self) -> int:
        """Now in ms since the epoch, but later than the last reported delete."""
        return max(self.clock.now_ms(), self._floor_ms)

    def deleted_at(self, at_ms: int) -> None:
        """Report a delete stamped `at_ms`: later writes get a later timestamp."""
        self._floor_ms = max(self._floor_ms, at_ms + 1)
