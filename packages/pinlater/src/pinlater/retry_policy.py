"""
Retry delays of failed jobs.

Delays first grow by a fixed step, for short outages, and then by a factor, for long ones. They have
jitter, so that jobs that failed together are not all retried at the same moment.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import ClassVar

TYPE_SEPARATOR = "@"
"""Separates a setting from its job type: `max_attempts@thumbnail`."""


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """
    The retry policy of a queue or of one job type in it.

    Queue settings have the same names.
    """

    max_attempts: int = 10
    """Total deliveries before a job is FAILED."""
    linear_attempts: int = 5
    """After this many failures, delays no longer grow by `retry_step_ms` but by a factor."""
    retry_step_ms: int = 10_000
    """Milliseconds before the second attempt."""
    retry_growth: float = 2.0
    """Growth factor of later delays, 1 to 10."""
    retry_cap_ms: int = 3_600_000
    """Maximum delay in milliseconds, before jitter."""
    retry_jitter: float = 0.1
    """Maximum jitter in either direction, as a fraction of the delay, 0 to 1."""
    max_age_ms: int = 0
    """
    Maximum milliseconds from when a job was enqueued to its next attempt. A failing job is FAILED
    if its retry would come later, even with attempts left; 0 means no limit.
    """

    PRESETS: ClassVar[Mapping[str, Mapping[str, float]]]
    """Named policies, as changes to the default settings."""

    def delay_ms(self, attempt: int, random_fraction: float = 0.5) -> int:
        """
        Return the delay in milliseconds before the next attempt.

        Args:
            attempt: the number of the failed attempt, from 1.
            random_fraction: a uniform random number, 0 to 1; 0.5 means no jitter.
        """
        linear = min(attempt, self.linear_attempts) * self.retry_step_ms
        # 10**40 exceeds any cap; the bound avoids an overflow.
        grown = linear * self.retry_growth ** min(40, max(0, attempt - self.linear_attempts))
        capped = min(max(grown, self.retry_step_ms), self.retry_cap_ms)
        return max(0, round(capped * (1 + self.retry_jitter * (2 * random_fraction - 1))))

    @classmethod
    def fields(cls) -> tuple[str, ...]:
        return tuple(field.name for field in fields(cls))

    @staticmethod
    def settings(changes: Mapping[str, float | None], job_type: str) -> dict[str, float | None]:
        """Return policy changes as queue settings; an empty `job_type` means all job types."""
        suffix = f"{TYPE_SEPARATOR}{job_type}" if job_type else ""
        return {f"{name}{suffix}": value for name, value in changes.items()}

    @classmethod
    def of(cls, settings: Mapping[str, float], job_type: str = "") -> RetryPolicy:
        """Build the policy of a job type from its queue's settings."""
        default = asdict(cls())
        values = {
            name: type(default[name])(value)
            for name in default
            if (value := settings.get(f"{name}{TYPE_SEPARATOR}{job_type}", settings.get(name)))
            is not None
        }
        return cls(**values)


RetryPolicy.PRESETS = {
    # Ten retries, five of them linear.
    "pinlater": {"max_attempts": 11, "linear_attempts": 5, "retry_growth": 2},
    "once": {"max_attempts": 1},
}
