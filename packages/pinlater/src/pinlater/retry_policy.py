"""
Retry delays of failed jobs. Pure.

The delay first grows by a fixed step, which covers short outages, and later doubles, which covers
long ones. All delays have jitter, so that jobs that failed together do not run again together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """The retry policy of a queue. The queue settings have the same names."""

    max_attempts: int = 10
    """Total deliveries before a job is FAILED."""
    linear_attempts: int = 5
    """Number of failures whose delay grows by `retry_step_ms`; later delays double."""
    retry_step_ms: int = 10_000
    """The delay before the second attempt."""
    retry_cap_ms: int = 3_600_000
    """The longest delay, before jitter."""
    retry_jitter: float = 0.1
    """Maximum jitter in either direction, as a fraction of the delay, 0 to 1."""

    def delay_ms(self, attempt: int, chance: float = 0.5) -> int:
        """
        Return the delay before the next attempt.

        Args:
            attempt: the number of the failed attempt, from 1.
            chance: a uniform random number, 0 to 1; 0.5 means no jitter.
        """
        linear = min(attempt, self.linear_attempts) * self.retry_step_ms
        # 2**40 exceeds any cap; the bound avoids huge integers for large attempt numbers.
        doubled = linear << min(40, max(0, attempt - self.linear_attempts))
        capped = min(max(doubled, self.retry_step_ms), self.retry_cap_ms)
        return max(0, round(capped * (1 + self.retry_jitter * (2 * chance - 1))))

    @classmethod
    def of(cls, settings: Mapping[str, float]) -> RetryPolicy:
        """Build the policy from a queue's settings."""
        default = cls()
        return cls(
            max_attempts=int(settings.get("max_attempts", default.max_attempts)),
            linear_attempts=int(settings.get("linear_attempts", default.linear_attempts)),
            retry_step_ms=int(settings.get("retry_step_ms", default.retry_step_ms)),
            retry_cap_ms=int(settings.get("retry_cap_ms", default.retry_cap_ms)),
            retry_jitter=settings.get("retry_jitter", default.retry_jitter),
        )
