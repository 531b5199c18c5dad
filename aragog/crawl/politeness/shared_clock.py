"""
A server's time, for machines whose clock may be wrong or adjusted.

Times that workers compare must come from one clock: a page that looks older than the stored one is
dropped. The server's time is this machine's monotonic clock, which is never adjusted, plus an
offset, which is measured every minute. Its error is at most half the round trip of the measurement
(Cristian 1989). Changes to the wall clock have no effect.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import NamedTuple

from aragog.errors import TRANSIENT
from aragog.runtime.clock import Clock

STEP_MS = 1000
"""If the wall clock jumps by this much relative to the monotonic clock, the offset is measured
again. The machine may have slept, which stops the monotonic clock."""
CHECK_INTERVAL_S = 60.0
"""How often the offset is measured. Quartz clocks drift by up to 100 ppm: 6 ms in this time."""
RECHECK_S = 1.0
"""How soon to measure again after a failed or inaccurate measurement."""
MAX_ACCURATE_ERROR_MS = 25.0
MAX_READINGS = 5
"""Readings per measurement. The most accurate one is used."""

log = logging.getLogger(__name__)


class Offset(NamedTuple):
    """How far a server's time is ahead of the local monotonic clock, in ms."""

    ms: float
    max_error_ms: float
    """The largest possible error of `ms`, in either direction."""


class SharedClock:
    """
    The time of a server. Thread-safe.

    Args:
        clock: the local clock.
        server_ms: returns the server's time in ms since the epoch. Its exceptions propagate from
            the first measurement, and are logged in later ones.
        name: the server's name in the log.
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
        Return the server's time, in ms since the epoch.

        Asks the server once per minute.
        """
        offset = self._current_offset()
        return int(self._clock.monotonic_s() * 1000 + offset.ms)

    def ahead_ms(self) -> int:
        """Return how many ms the server's time is ahead of the local clock; may be negative."""
        return self.server_now_ms() - self._clock.now_ms()

    def max_error_ms(self) -> float:
        """
        Return the time's largest possible error in ms, without the drift since the last
        measurement.
        """
        return self._current_offset().max_error_ms

    def _current_offset(self) -> Offset:
        offset = self._offset
        if offset is None:
            with self._lock:
                if self._offset is None:
                    self._measure()
                assert self._offset is not None  # noqa: S101 - for mypy
                return self._offset
        # One thread measures. The others use the known offset.
        if self._must_check() and self._lock.acquire(blocking=False):
            try:
                self._measure_again()
            finally:
                self._lock.release()
        return self._offset or offset

    def _must_check(self) -> bool:
        if self._clock.monotonic_s() >= self._check_at_s:
            return True
        return abs(self._estimate_boot_ms() - self._boot_ms) > STEP_MS

    def _estimate_boot_ms(self) -> float:
        return self._clock.now_ms() - self._clock.monotonic_s() * 1000

    def _measure_again(self) -> None:
        try:
            self._measure()
        except TRANSIENT as error:
            log.warning("cannot check the time of %s: %s", self._name, error)
            self._boot_ms = self._estimate_boot_ms()
            self._check_at_s = self._clock.monotonic_s() + RECHECK_S

    def _measure(self) -> None:
        new_offset = self._best_reading()
        self._boot_ms = self._estimate_boot_ms()
        is_accurate = new_offset.max_error_ms <= MAX_ACCURATE_ERROR_MS
        delay_s = CHECK_INTERVAL_S if is_accurate else RECHECK_S
        self._check_at_s = self._clock.monotonic_s() + delay_s
        current = self._offset
        if current is not None:
            difference_ms = new_offset.ms - current.ms
            if abs(difference_ms) <= current.max_error_ms + new_offset.max_error_ms:
                # Both may be correct, so keep the time continuous.
                if current.max_error_ms <= max(MAX_ACCURATE_ERROR_MS, new_offset.max_error_ms):
                    return
            elif abs(difference_ms) > STEP_MS:
                log.warning("the time of %s jumped by %+.1f s", self._name, difference_ms / 1000)
        elif not is_accurate:
            log.warning(
                "the time of %s is only known to %.0f ms: the server responds slowly, or this "
                "machine is overloaded", self._name, new_offset.max_error_ms,
            )  # fmt: skip
        self._offset = new_offset

    def _best_reading(self) -> Offset:
        readings: list[Offset] = []
        while len(readings) < MAX_READINGS:
            sent_ms = self._clock.monotonic_s() * 1000
            server_ms = self._server_ms()
            received_ms = self._clock.monotonic_s() * 1000
            # The server truncates its time to whole ms.
            max_error_ms = (received_ms - sent_ms) / 2 + 1
            readings.append(Offset(server_ms - (sent_ms + received_ms) / 2, max_error_ms))
            if max_error_ms <= MAX_ACCURATE_ERROR_MS:
                break
        return min(readings, key=lambda reading: reading.max_error_ms)


class ServerTime:
    """A clock that shows a server's time."""

    def __init__(self, clock: Clock, server_ms: Callable[[], int]) -> None:
        self._clock = clock
        self._shared = SharedClock(clock, server_ms)

    def now_ms(self) -> int:
        return self._shared.server_now_ms()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    def sleep_s(self, seconds: float) -> None:
        self._clock.sleep_s(seconds)
