"""robots.txt rules for certain hours of the day: Request-rate and Visit-time."""

from __future__ import annotations

from typing import NamedTuple

MIN_VISIT_MIN = 60
"""The minimum length of a Visit-time in minutes. Shorter times are extended."""
_DAY_MIN = 1440


class TimedRule(NamedTuple):
    """One Request-rate or Visit-time line."""

    delay_s: float
    """The time between two requests; 0 for Visit-time."""
    begin_min: int
    """The minute of the day (UTC) at which it starts."""
    end_min: int
    """The minute after the last one. Before `begin_min` if the span includes midnight."""
    line: int

    @property
    def is_visit(self) -> bool:
        """True for Visit-time."""
        return self.delay_s == 0

    def applies_at(self, minute: float) -> bool:
        """Return True if the rule applies at a minute of the day."""
        if self.begin_min <= self.end_min:
            return self.begin_min <= minute < self.end_min
        return minute >= self.begin_min or minute < self.end_min

    def with_min_length(self) -> TimedRule:
        """Return the rule, extended at its end to at least `MIN_VISIT_MIN`."""
        if (self.end_min - self.begin_min) % _DAY_MIN >= MIN_VISIT_MIN:
            return self
        if self.begin_min == 0:
            return self._replace(end_min=max(self.end_min, MIN_VISIT_MIN))
        return self._replace(end_min=(self.begin_min + MIN_VISIT_MIN) % _DAY_MIN)

    def __str__(self) -> str:
        last_min = (self.end_min - 1) % _DAY_MIN
        times = f"{_format_minute(self.begin_min)} to {_format_minute(last_min)} UTC"
        location = f"robots.txt line {self.line}"
        if self.is_visit:
            return f"visits from {times} ({location}, Visit-time)"
        return f"one request per {self.delay_s:g} s from {times} ({location}, Request-rate)"


def minute_of_day(at_s: float) -> float:
    """Return the minute of the day (UTC) of a time in seconds since the epoch."""
    return at_s % 86_400 / 60


def _format_minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
