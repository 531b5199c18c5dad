"""
A server's time on a machine whose own clock may be wrong, or may be set while aragog runs.

Instants that one worker writes and another one compares need one clock: a page whose fetch looks
older than the stored one is dropped. A server's time here is the reading of this machine's
monotonic clock, which is never set, plus an offset. The offset is known within a bound, half of the
round trip of its measurement (Cristian 1989), and is checked again each minute. So a step of this
machine's clock changes nothing, wherever it falls between two readings.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from aragog.errors import TRANSIENT
from aragog.runtime.clock import Clock

STEP_MS = 1000
"""
A step of the local wall clock against the monotonic one triggers a measurement at once: the
monotonic clock stands still while a machine sleeps.
"""
CHECK_EVERY_S = 60.0
"""Quartz clocks drift up to 100 ppm: 6 ms in this time."""
CHECK_SOON_S = 1.0
"""The time to the next measurement after one that failed, or whose bound is too wide."""
GOOD_BOUND_MS = 25.0
TRIES = 5
"""The most readings of a server's time until one has a good bound; the best one counts."""

log = logging.getLogger(__name__)


class Offset(NamedTuple):
    """How far a server's time is ahead of the local monotonic clock, in ms."""

    ms: float
    bound_ms: float
    """How far `ms` may be off, either way."""


class SharedClock:
    """
    A server's time. Thread-safe.

    Args:
        clock: the local clock.
        server_ms: queries the server's time in ms since the epoch; its exceptions propagate from
            the first measurement, and are logged in later ones.
        name: of the server, for the log.
    """

    def __init__(self, clock: Clock, server_ms: Callable[[], int], name: str = "redis.url") -> None:
        self._clock = clock
        self._server_ms = server_ms
        self._name = name
        self._lock = threading.Lock()
        self._offset: Offset | None = None
        self._check_at_s = 0.0
        self._boot_ms = 0.0

    def server_now_ms(self) -> int:
        """
        The server's time, in ms since the epoch.

        The first call queries the server, and then one call a minute.
        """
        offset = self._checked()
        return int(self._clock.monotonic_s() * 1000 + offset.ms)

    def ahead_ms(self) -> int:
        """How far the server's time is ahead of the local clock now, in ms; negative: behind."""
        return self.server_now_ms() - self._clock.now_ms()

    def bound_ms(self) -> float:
        """How far the server's time may be off, in ms, but for its drift of a minute."""
        return self._checked().bound_ms

    def _checked(self) -> Offset:
        offset = self._offset
        if offset is None:
            with self._lock:
                if self._offset is None:
                    self._measure()
                assert self._offset is not None  # noqa: S101 - a type
                return self._offset
        # One thread checks; the others continue with the known offset.
        if self._must_check() and self._lock.acquire(blocking=False):
            try:
                self._measure_again()
            finally:
                self._lock.release()
        return self._offset or offset

    def _must_check(self) -> bool:
        if self._clock.monotonic_s() >= self._check_at_s:
            return True
        return abs(self._boot() - self._boot_ms) > STEP_MS

    def _boot(self) -> float:
        return self._clock.now_ms() - self._clock.monotonic_s() * 1000

    def _measure_again(self) -> None:
        try:
            self._measure()
        except TRANSIENT as error:
            log.warning("the time of %s is not checked: %s", self._name, error)
            self._boot_ms = self._boot()
            self._check_at_s = self._clock.monotonic_s() + CHECK_SOON_S

    def _measure(self) -> None:
        found = self._best()
        self._boot_ms = self._boot()
        is_good = found.bound_ms <= GOOD_BOUND_MS
        after_s = CHECK_EVERY_S if is_good else CHECK_SOON_S
        self._check_at_s = self._clock.monotonic_s() + after_s
        known = self._offset
        if known is not None:
            apart_ms = found.ms - known.ms
            if abs(apart_ms) <= known.bound_ms + found.bound_ms:
                # Both may be right, so the time continues without a step.
                if known.bound_ms <= max(GOOD_BOUND_MS, found.bound_ms):
                    return
            elif abs(apart_ms) > STEP_MS:
                log.warning("the time of %s moved by %+.1f s", self._name, apart_ms / 1000)
        elif not is_good:
            log.warning(
                "the time of %s is known to %.0f ms only: it answers slowly, or this machine is "
                "overloaded", self._name, found.bound_ms,
            )  # fmt: skip
        self._offset = found

    def _best(self) -> Offset:
        """The reading with the narrowest bound of up to `TRIES`."""
        found: list[Offset] = []
        while len(found) < TRIES:
            sent_ms = self._clock.monotonic_s() * 1000
            server_ms = self._server_ms()
            received_ms = self._clock.monotonic_s() * 1000
            # The server's time is cut to whole ms.
            bound_ms = (received_ms - sent_ms) / 2 + 1
            found.append(Offset(server_ms - (sent_ms + received_ms) / 2, bound_ms))
            if bound_ms <= GOOD_BOUND_MS:
                break
        return min(found, key=lambda each: each.bound_ms)


class ServerTime:
    """A clock that shows a server's time: the same on all machines, however wrong theirs is."""

    def __init__(self, clock: Clock, server_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._shared = SharedClock(clock, server_ms)

    def now_ms(self) -> int:
        return self._shared.server_now_ms()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    def sleep_s(self, seconds: float) -> None:
        self._clock.sleep_s(seconds)
