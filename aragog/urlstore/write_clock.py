"""The timestamps of writes, shared by all parts of a UrlStore."""

from __future__ import annotations

import logging

from aragog.errors import BadInput
from aragog.runtime.clock import Clock, SystemClock

MAX_AHEAD_MS = 60_000
"""How far a given time may be ahead of the store's clock; clocks that use NTP differ by less."""

MAX_AT_MS = 253_402_300_800_000
"""The year 10,000. A larger number is probably in microseconds."""

log = logging.getLogger(__name__)


class WriteClock:
    """
    A clock whose time is always later than the last delete reported to it.

    HBase hides a put that is not newer than a delete of the same cell. Threads may share the clock.
    """

    def __init__(self, clock: Clock | None = None) -> None:
        self.clock = clock or SystemClock()
        self._floor_ms = 0

    def now_ms(self) -> int:
        """Return the time in ms since the epoch."""
        return max(self.clock.now_ms(), self._floor_ms)

    def record_deletion(self, at_ms: int) -> None:
        """Report a delete with this timestamp, so that later writes get a later timestamp."""
        self._floor_ms = max(self._floor_ms, at_ms + 1)

    def instant(self, at_ms: int | None, name: str = "at_ms") -> int:
        """
        Return the time that a caller gave for a value, or now if None.

        A value never replaces a later one, so a value dated in the future would block others.

        Raises:
            BadInput: the time is negative, or more than a minute ahead of this clock.
        """
        now_ms = self.now_ms()
        if at_ms is None:
            return now_ms
        if not 0 <= at_ms <= now_ms + MAX_AHEAD_MS:
            problem = "is negative" if at_ms < 0 else "is more than a minute ahead of the store's"
            raise BadInput(
                f"{name}: {at_ms} {problem}{'' if at_ms < 0 else f' clock ({now_ms})'}; "
                "give milliseconds since 1970, not later than now"
            )
        return at_ms

    def capped(self, at_ms: int, what: str) -> int:
        """
        Return when `what` happened according to another machine, but at most the current time.

        Logs a time more than a minute ahead, because the other machine's clock is probably wrong.
        """
        now_ms = self.now_ms()
        if at_ms <= now_ms + MAX_AHEAD_MS:
            return at_ms
        log.warning(
            "%s: its time is %.0f s ahead of the store's clock; storing the current time instead. "
            "Synchronize the machines' clocks (NTP)",
            what, (at_ms - now_ms) / 1000,
        )  # fmt: skip
        return now_ms
