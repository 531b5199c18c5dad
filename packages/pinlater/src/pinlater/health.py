"""
Delay the reaping of claims after an outage.

The caller passes the monotonic time in milliseconds.
"""

from __future__ import annotations

from dataclasses import dataclass

CLOCK_SLACK_MS = 2000
"""How far a server's clock may run ahead of the monotonic clock before reaping stops."""


@dataclass(slots=True)
class ReapGuard:
    """
    Limits which expired claims may be reaped.

    While a server is unavailable, live workers cannot extend their claims, and when its clock
    jumps, claims expire early. So nothing is reaped for one claim timeout after a server starts,
    after this process reconnects, or after the server's clock runs ahead of the monotonic
    clock by more than `CLOCK_SLACK_MS`.
    """

    claim_timeout_ms: int
    paused_until_ms: float = 0.0
    seen_server_ms: int | None = None
    seen_at_ms: float = 0.0
    was_lost: bool = False

    def record_connection(self, server_ms: int, uptime_ms: int, at_ms: float) -> None:
        """Record that the server answers for the first time or after `record_loss`."""
        wait_ms = self.claim_timeout_ms - (0 if self.was_lost else uptime_ms)
        self.paused_until_ms = at_ms + max(0, wait_ms)
        self.seen_server_ms, self.seen_at_ms = server_ms, at_ms

    def record_loss(self) -> None:
        self.seen_server_ms, self.was_lost = None, True

    @property
    def needs_connecting(self) -> bool:
        return self.seen_server_ms is None

    def reap_before_ms(self, at_ms: float) -> int:
        """Return the server time before which a claim must have expired to be reaped; 0: none."""
        if self.seen_server_ms is None or at_ms < self.paused_until_ms:
            return 0
        return int(self.seen_server_ms + (at_ms - self.seen_at_ms)) + CLOCK_SLACK_MS

    def observe_clock(self, server_ms: int, at_ms: float) -> None:
        if self.seen_server_ms is not None:
            expected_ms = self.seen_server_ms + (at_ms - self.seen_at_ms)
            if server_ms > expected_ms + CLOCK_SLACK_MS:
                self.paused_until_ms = at_ms + self.claim_timeout_ms
        self.seen_server_ms, self.seen_at_ms = server_ms, at_ms
