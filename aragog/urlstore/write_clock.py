"""The timestamps of writes, shared by all parts of one UrlStore."""

from __future__ import annotations

import logging

from aragog.errors import BadInput
from aragog.runtime.clock import Clock, SystemClock

MAX_AHEAD_MS = 60_000
"""How far ahead of the store's clock an instant may be: clocks that NTP keeps differ by less."""

MAX_AT_MS = 253_402_300_800_000
"""The year 10,000: a larger number is seconds or microseconds mistaken for milliseconds."""

log = logging.getLogger(__name__)


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

    def instant(self, at_ms: int | None, name: str = "at_ms") -> int:
        """
        The instant that a caller gave for a value; None: now.

        A value never replaces one of a later time, so one of the future would stay for good.

        Raises:
            BadInput: it is negative, or more than a minute ahead of this clock.
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
        The instant at which another machine says that `what` happened; now if it is ahead.

        An instant more than a minute ahead of this clock is logged: that machine's clock is wrong.
        """
        now_ms = self.now_ms()
        if at_ms <= now_ms + MAX_AHEAD_MS:
            return at_ms
        log.warning(
            "%s: its time is %.0f s ahead of the store's clock; now is stored instead. "
            "Synchronize the clocks of the machines (NTP)",
            what, (at_ms - now_ms) / 1000,
        )  # fmt: skip
        return now_ms
