"""Quiet hours: daily hours in which a domain gets no requests. Operators set them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from typing import NamedTuple
from zoneinfo import ZoneInfo

from aragog.errors import BadInput

_PATTERN = re.compile(r"(\d\d):(\d\d)-(\d\d):(\d\d) (\S{1,64})", re.ASCII)
_UTC_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)", re.ASCII)
FORM = '"HH:MM-HH:MM ZONE", such as "08:00-18:00 Europe/Berlin" (ZONE: a name, UTC or +02:00)'


class QuietHours(NamedTuple):
    """A time span that repeats every day."""

    begin_min: int
    """The first minute, counted from midnight."""
    end_min: int
    """The minute after the last one. Not above `begin_min` if the span includes midnight."""
    zone: str
    """A name of the tz database, `UTC`, or an offset such as `+02:00`."""

    def __str__(self) -> str:
        return f"{_format_minute(self.begin_min)}-{_format_minute(self.end_min)} {self.zone}"

    def remaining_s(self, at_s: float) -> float:
        """
        Return how many seconds of the span are left; 0.0 outside it.

        Off by up to an hour on the days when daylight saving time starts or ends.
        """
        now = datetime.fromtimestamp(at_s, _get_zone(self.zone))
        minute = now.hour * 60 + now.minute + now.second / 60
        if self.begin_min < self.end_min:
            is_quiet = self.begin_min <= minute < self.end_min
        else:
            is_quiet = minute >= self.begin_min or minute < self.end_min
        return (self.end_min - minute) % 1440 * 60 if is_quiet else 0.0


def quiet_hours(text: str) -> QuietHours:
    """
    Parse quiet hours, written as in `FORM`.

    Raises:
        BadInput: the format is wrong, the span is empty, or this machine does not know the time
            zone.
    """
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise BadInput(f"quiet hours: must be {FORM}, got {text[:100]!r}")
    hours = [int(number) for number in match.groups()[:4]]
    begin_min, end_min = hours[0] * 60 + hours[1], hours[2] * 60 + hours[3]
    if hours[0] > 23 or hours[1] > 59 or hours[3] > 59 or end_min > 1440 or begin_min == end_min:
        raise BadInput(f"quiet hours: not a valid span of a day: {text[:100]!r}; write {FORM}")
    try:
        _get_zone(match[5])
    except (OSError, ValueError, KeyError) as error:
        raise BadInput(
            f"quiet hours: this machine does not know the time zone {match[5]!r}; install its "
            "tzdata, or write UTC or an offset such as +02:00"
        ) from error
    return QuietHours(begin_min, end_min, match[5])


@lru_cache(maxsize=256)
def _get_zone(name: str) -> tzinfo:
    if name == "UTC":
        return UTC
    if match := _UTC_OFFSET.fullmatch(name):
        offset = timedelta(hours=int(match[2]), minutes=int(match[3]))
        return timezone(-offset if match[1] == "-" else offset)
    return ZoneInfo(name)


def _format_minute(minute: int) -> str:
    return f"{minute // 60:02}:{minute % 60:02}"
