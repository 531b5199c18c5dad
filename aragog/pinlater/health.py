"""
Is a shard to be used? A circuit breaker per shard and process, and when to reap. Pure.

Time is a stopwatch in seconds, given by the caller.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Breaker:
    """
    Takes a shard out of rotation after errors or slow answers, and brings it back.

    Out after `errors` in a row (a timeout or a slow answer weighs as many), then asked for a sign
    of life after `rest_s`, twice as long each time it gives none, up to `rest_cap_s`.
    """

    errors: int = 3
    slow_s: float = 1.0
    rest_s: float = 5.0
    rest_cap_s: float = 60.0
    in_a_row: int = 0
    out_until_s: float | None = None
    resting_s: float = 0.0

    @property
    def healthy(self) -> bool:
        """In rotation."""
        return self.out_until_s is None

    def worth_asking(self, now_s: float) -> bool:
        """Out of rotation for long enough that a sign of life may be asked for."""
        return self.out_until_s is not None and now_s >= self.out_until_s

    def answered(self, took_s: float, now_s: float) -> None:
        """A call succeeded."""
        if took_s > self.slow_s:
            self.failed(now_s, at_once=True)
            return
        self.in_a_row, self.out_until_s, self.resting_s = 0, None, 0.0

    def failed(self, now_s: float, *, at_once: bool = False) -> None:
        """A call failed; `at_once` when it cost a timeout, or when nobody listens."""
        self.in_a_row += self.errors if at_once else 1
        if self.in_a_row >= self.errors:
            self.resting_s = min(self.resting_s * 2 or self.rest_s, self.rest_cap_s)
            self.out_until_s = now_s + self.resting_s


@dataclass(slots=True)
class ReapGuard:
    """
    Up to when claims that ran out may be given to others.

    Claims age while their server is away or its clock leaps, and live workers could not extend
    them. So nothing is reaped for one claim timeout after a server came up, after this process
    lost it, or after its clock left the stopwatch's pace by more than `slack_ms`.
    """

    claim_timeout_ms: int
    slack_ms: int = 2000
    hold_until_ms: float = 0.0
    seen_server_ms: int | None = None
    seen_at_ms: float = 0.0
    lost_before: bool = False

    def connected(self, server_ms: int, uptime_ms: int, at_ms: float) -> None:
        """The server answers, (again) after `lost` or for the first time."""
        wait = self.claim_timeout_ms - (0 if self.lost_before else uptime_ms)
        self.hold_until_ms = at_ms + max(0, wait)
        self.seen_server_ms, self.seen_at_ms = server_ms, at_ms

    def lost(self) -> None:
        """The server does not answer."""
        self.seen_server_ms, self.lost_before = None, True

    @property
    def needs_connecting(self) -> bool:
        """`connected` must be called before anything is reaped."""
        return self.seen_server_ms is None

    def reap_before_ms(self, at_ms: float) -> int:
        """Claims with an older deadline, by the server's clock, may be given back. 0: none."""
        if self.seen_server_ms is None or at_ms < self.hold_until_ms:
            return 0
        return int(self.seen_server_ms + (at_ms - self.seen_at_ms)) + self.slack_ms

    def observe_clock(self, server_ms: int, at_ms: float) -> None:
        """The server reported its time."""
        if self.seen_server_ms is not None:
            expected = self.seen_server_ms + (at_ms - self.seen_at_ms)
            if server_ms > expected + self.slack_ms:
                self.hold_until_ms = at_ms + self.claim_timeout_ms
        self.seen_server_ms, self.seen_at_ms = server_ms, at_ms
