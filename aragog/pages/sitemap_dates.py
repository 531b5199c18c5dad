"""Parses the dates in sitemaps and feeds into time spans."""

from __future__ import annotations

import datetime as dt
import re
from email.utils import parsedate_to_datetime
from typing import NamedTuple

_W3C_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?$",
    re.IGNORECASE,
)

_END_OF_DAY = (24, 0, 0)
"""ISO 8601 allows 24:00 as the end of a day. It is the start of the next day."""


class DateSpan(NamedTuple):
    """The time span of a date, in milliseconds since the epoch."""

    start_ms: int
    end_ms: int
    """The last millisecond of the day, month or year, or the instant itself."""


def parse_date_span(text: str) -> DateSpan | None:
    """
    Parse a W3C date (`2024`, `2024-05`, `2024-05-01T12:00+02:00`) or an RFC 5322 date.

    A date without a time zone is in UTC. Returns None for other text.
    """
    text = text.strip()[:100]
    try:
        match = _W3C_DATE.match(text)
        if match is None:
            time = parsedate_to_datetime(text)
            time = time if time.tzinfo else time.replace(tzinfo=dt.UTC)
            return DateSpan(_to_ms(time), _to_ms(time))
        *numbers, zone = match.groups()
        year, month, day, hour, minute, second = (
            int(n or default) for n, default in zip(numbers, (1, 1, 1, 0, 0, 0), strict=True)
        )
        is_end = (hour, minute, second) == _END_OF_DAY
        hour = 0 if is_end else hour
        time = dt.datetime(
            year, month, day, hour, minute, min(second, 59), tzinfo=_parse_time_zone(zone)
        )
        time += dt.timedelta(days=is_end)
        return DateSpan(_to_ms(time), _end_ms(time, part_count=sum(n is not None for n in numbers)))
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def instant_ms(text: str) -> int | None:
    """Return a date's start in ms since the epoch, or None for other text."""
    span = parse_date_span(text)
    return None if span is None else span.start_ms


def _end_ms(time: dt.datetime, *, part_count: int) -> int:
    """
    Return the last millisecond of a date. `part_count` is 1 for a year, 2 for a month, 3 for a day,
    and higher for a time.
    """
    if part_count > 3:
        return _to_ms(time)
    if part_count == 3:
        next_start = time + dt.timedelta(days=1)
    elif part_count == 2:
        next_start = (time + dt.timedelta(days=31)).replace(day=1)
    else:
        next_start = time.replace(year=time.year + 1)
    return _to_ms(next_start) - 1


def _to_ms(time: dt.datetime) -> int:
    return int(time.timestamp() * 1000)


def _parse_time_zone(text: str | None) -> dt.tzinfo:
    if not text or text in "Zz":
        return dt.UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return dt.timezone(dt.timedelta(minutes=-minutes if text[0] == "-" else minutes))
