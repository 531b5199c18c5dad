"""Dates in HTTP headers (RFC 9110, 5.6.7). Pure."""

from __future__ import annotations

import datetime as dt
from email.utils import parsedate_to_datetime


def http_date_ms(text: str | None) -> int | None:
    """Milliseconds since the epoch, or None for an invalid date; without a zone it is UTC."""
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
