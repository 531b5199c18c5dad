"""
Circuit breakers for shards, and a guard that delays reaping after an outage. Pure.

The caller passes the time, as a stopwatch in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

ERRORS_IN_A_ROW = 3
"""A shard leaves the rotation after so many."""
SLOW_S = 1.0
"""A single answer that took longer is enough."""
PROBE_EVERY_S = 5.0
"""A shard out of rotation is probed so often."""
CLOCK_SLACK_MS = 2000
"""How far a server's clock may run ahead of the stopwatch before nothing is reaped."""


@dataclass(slots=True)
class Breaker:
    """
    Takes a shard out of rotation after errors or slow answers, and brings it back.

    A shard leaves the rotation after `ERRORS_IN_A_ROW`, or after a single timeout or slow answer.
    """

    in_a_row: int = 0
    out_since_s: float | None = None
    """When it left the rotation; None: it is in rotation."""
    probe_at_s: float = 0.0

    @property
    def healthy(self) -> bool:
        """Return whether the shard is in rotation."""
        return self.out_since_s is None

    def worth_asking(self, now_s: float) -> bool:
        """Return whether the shard has been out of rotation long enough for a probe."""
        return not self.healthy and now_s >= self.probe_at_s

    def answered(self, took_s: float, now_s: float) -> None:
        """Record a successful call."""
        if took_s > SLOW_S:
            self.failed(now_s, at_once=True)
            return
        self.in_a_row, self.out_since_s = 0, None

    def failed(self, now_s: float, *, at_once: bool = False) -> None:
        """Record a failed call; `at_once` after a timeout or a refused connection."""
        self.in_a_row += ERRORS_IN_A_ROW if at_once else 1
        if self.in_a_row >= ERRORS_IN_A_ROW:
            self.probe_at_s = now_s + PROBE_EVERY_S
            if self.out_since_s is None:
                self.out_since_s = now_s


@dataclass(slots=True)
class ReapGuard:
    """
    Bounds the deadline before which expired claims may be reaped.

    Claims age while their server is unavailable or its clock jumps, and live workers cannot
    extend them. So nothing is reaped for one claim timeout after a server started, after this
    process lost it, or after its clock ran ahead of the stopwatch by more than `CLOCK_SLACK_MS`.
    """

    claim_timeout_ms: int
    hold_until_ms: float = 0.0
    seen_server_ms: int | None = None
    seen_at_ms: float = 0.0
    lost_before: bool = False

    def connected(self, server_ms: int, uptime_ms: int, at_ms: float) -> None:
        """Record that the server answers, for the first time or again after `lost`."""
        wait = self.claim_timeout_ms - (0 if self.lost_before else uptime_ms)
        self.hold_until_ms = at_ms + max(0, wait)
        self.seen_server_ms, self.seen_at_ms = server_ms, at_ms

    def lost(self) -> None:
        """Record that the server does not answer."""
        self.seen_server_ms, self.lost_before = None, True

    @property
    def needs_connecting(self) -> bool:
        """Return whether `connected` must be called before reaping."""
        return self.seen_server_ms is None

    def reap_before_ms(self, at_ms: float) -> int:
        """Return the deadline (server's clock) before which claims may be reaped; 0: none."""
        if self.seen_server_ms is None or at_ms < self.hold_until_ms:
            return 0
        return int(self.seen_server_ms + (at_ms - self.seen_at_ms)) + CLOCK_SLACK_MS

    def observe_clock(self, server_ms: int, at_ms: float) -> None:
        """Record the server's time."""
        if self.seen_server_ms is not None:
            expected = self.seen_server_ms + (at_ms - self.seen_at_ms)
            if server_ms > expected + CLOCK_SLACK_MS:
                self.hold_until_ms = at_ms + self.claim_timeout_ms
        self.seen_server_ms, self.seen_at_ms = server_ms, at_ms
