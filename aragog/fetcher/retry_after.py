"""Retry-After, in both its forms. Pure."""

from __future__ import annotations

import datetime as dt
from email.utils import parsedate_to_datetime

# Nobody means more; beyond it a number is a mistake or malice.
MAX_RETRY_AFTER_S = 30 * 86_400


def retry_at_ms(value: str | None, now_ms: int, date: str | None = None) -> int | None:
    """
    The instant `value` asks to come back at; None when it says nothing usable.

    Seconds count from `now_ms`; a date that has passed means now; a month is the most that counts.
    A date is by the origin's clock; `date`, its Date header (RFC 9110 section 6.6.1), says what
    that clock shows, so that only the wait between the two counts.
    """
    text = (value or "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = min(float(text[:20]), MAX_RETRY_AFTER_S)
        return now_ms + int(seconds * 1000)
    at_ms = _moment_ms(text)
    if at_ms is None:
        return None
    their_now_ms = _moment_ms((date or "").strip())
    if their_now_ms is not None:
        at_ms += now_ms - their_now_ms
    return min(max(at_ms, now_ms), now_ms + MAX_RETRY_AFTER_S * 1000)


def _moment_ms(text: str) -> int | None:
    try:
        when = parsedate_to_datetime(text)
        if when.tzinfo is None:
            when = when.replace(tzinfo=dt.UTC)
        return int(when.timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
