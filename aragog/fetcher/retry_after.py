"""Retry-After, in both its forms. Pure."""

from __future__ import annotations

import datetime as dt
from email.utils import parsedate_to_datetime

# Nobody means more; beyond it a number is a mistake or malice.
MAX_RETRY_AFTER_S = 30 * 86_400


def retry_at_ms(value: str | None, now_ms: int) -> int | None:
    """
    The instant `value` asks to come back at; None when it says nothing usable.

    Seconds count from `now_ms`; a date that has passed means now; a month is the most that counts.
    """
    text = (value or "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = min(float(text[:20]), MAX_RETRY_AFTER_S)
        return now_ms + int(seconds * 1000)
    try:
        when = parsedate_to_datetime(text)
        if when.tzinfo is None:
            when = when.replace(tzinfo=dt.UTC)
        at_ms = int(when.timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(at_ms, now_ms), now_ms + MAX_RETRY_AFTER_S * 1000)
