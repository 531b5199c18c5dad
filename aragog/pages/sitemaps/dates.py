"""The dates of sitemaps and feeds."""

from __future__ import annotations

import datetime as dt
import re
from email.utils import parsedate_to_datetime

_W3C_DATE = re.compile(
    r"(\d{4})(?:-(\d\d)(?:-(\d\d)"
    r"(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?\s*(Z|[+-]\d\d:?\d\d)?)?)?)?$",
    re.IGNORECASE,
)


def instant_ms(text: str) -> int | None:
    """
    Parse a W3C date (`2024`, `2024-05`, `2024-05-01T12:00+02:00`) or an RFC 5322 date; None for
    others.
    """
    text = text.strip()[:100]
    try:
        if match := _W3C_DATE.match(text):
            *numbers, zone = match.groups()
            year, month, day, hour, minute, second = (
                int(n or default) for n, default in zip(numbers, (1, 1, 1, 0, 0, 0), strict=True)
            )
            when = dt.datetime(year, month, day, hour, minute, min(second, 59), tzinfo=_zone(zone))
        else:
            when = parsedate_to_datetime(text)
            when = when if when.tzinfo else when.replace(tzinfo=dt.UTC)
        return int(when.timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


def _zone(text: str | None) -> dt.tzinfo:
    if not text or text in "Zz":
        return dt.UTC
    minutes = int(text[1:3]) * 60 + int(text[-2:])
    return dt.timezone(dt.timedelta(minutes=-minutes if text[0] == "-" else minutes))
