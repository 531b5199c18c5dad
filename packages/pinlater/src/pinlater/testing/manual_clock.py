"""A clock that tests advance."""

from __future__ import annotations


class ManualClock:
    """A clock moved only by `advance_ms` and `sleep_s`, which returns immediately."""

    def __init__(self, at_ms: int = 1_700_000_000_000) -> None:
        self._ms = float(at_ms)

    def now_ms(self) -> int:
        return int(self._ms)

    def monotonic_s(self) -> float:
        return self._ms / 1000

    def sleep_s(self, seconds: float) -> None:
        self._ms += max(0.0, seconds) * 1000

    def advance_ms(self, ms: float) -> None:
        self._ms += ms
