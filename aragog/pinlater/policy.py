"""
When a job that failed runs again. Pure.

The first attempts wait ever longer by the same step (they bridge a hiccup), the later ones by a
factor (they wait for a repair); both bear jitter, so that what failed together does not come back
together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """A queue's retries. Settings of a queue carry the same names."""

    max_attempts: int = 10
    """Deliveries in all before a job is FAILED."""
    linear_attempts: int = 5
    """So many failures wait `retry_step_ms` longer each; further ones double."""
    retry_step_ms: int = 10_000
    """Before the second attempt."""
    retry_cap_ms: int = 3_600_000
    """Never longer, jitter aside."""
    retry_jitter: float = 0.1
    """Share of the delay by which it varies either way, 0 to 1."""

    def delay_ms(self, attempt: int, chance: float = 0.5) -> int:
        """
        How long to wait before the next attempt.

        Args:
            attempt: the one that failed, from 1.
            chance: 0 to 1, evenly spread; 0.5 means no jitter.
        """
        linear = min(attempt, self.linear_attempts) * self.retry_step_ms
        # 2**40 is past any cap: a large attempt number must not build a huge integer.
        doubled = linear << min(40, max(0, attempt - self.linear_attempts))
        capped = min(max(doubled, self.retry_step_ms), self.retry_cap_ms)
        return max(0, round(capped * (1 + self.retry_jitter * (2 * chance - 1))))

    @classmethod
    def of(cls, settings: Mapping[str, float]) -> RetryPolicy:
        """The policy that a queue's settings ask for."""
        default = cls()
        return cls(
            max_attempts=int(settings.get("max_attempts", default.max_attempts)),
            linear_attempts=int(settings.get("linear_attempts", default.linear_attempts)),
            retry_step_ms=int(settings.get("retry_step_ms", default.retry_step_ms)),
            retry_cap_ms=int(settings.get("retry_cap_ms", default.retry_cap_ms)),
            retry_jitter=settings.get("retry_jitter", default.retry_jitter),
        )
