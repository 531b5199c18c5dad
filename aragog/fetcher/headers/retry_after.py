"""The Retry-After header, in seconds or as a date (RFC 9110 section 10.2.3). Pure."""

from __future__ import annotations

from aragog.fetcher.headers.http_date import http_date_ms

# 30 days. Larger values are mistakes or attacks.
MAX_RETRY_AFTER_S = 30 * 86_400


def retry_at_ms(value: str | None, now_ms: int, date: str | None = None) -> int | None:
    """
    Return the instant at which `value` allows the next request; None if it is not usable.

    Seconds count from `now_ms`, a past date means now, and the maximum is 30 days. A date refers to
    the origin's clock. `date`, its Date header (RFC 9110 section 6.6.1), shows that clock, so only
    the difference between the two counts.
    """
    text = (value or "").strip()
    if text.isascii() and text.replace(".", "", 1).isdigit():
        seconds = min(float(text[:20]), MAX_RETRY_AFTER_S)
        return now_ms + int(seconds * 1000)
    at_ms = http_date_ms(text)
    if at_ms is None:
        return None
    origin_now_ms = http_date_ms((date or "").strip())
    if origin_now_ms is not None:
        at_ms += now_ms - origin_now_ms
    return min(max(at_ms, now_ms), now_ms + MAX_RETRY_AFTER_S * 1000)
