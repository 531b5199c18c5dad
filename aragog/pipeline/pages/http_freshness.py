"""
How long a response stays fresh, by its headers (RFC 9111, section 4.2). Pure.

What servers write there is often wrong, so nothing here is more than a hint: what cannot be read
says nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from aragog.fetcher.headers import http_date_ms

_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NEVER = re.compile(r"(?:^|[,\s])no-(?:store|cache)\b", re.IGNORECASE)


def fresh_s(headers: Mapping[str, str], now_ms: int) -> float | None:
    """
    Seconds for which the response remains fresh; None if its headers do not specify it.

    Args:
        headers: by name in lower case.
        now_ms: when the answer came.
    """
    control = headers.get("cache-control", "")
    if _NEVER.search(control):
        return None
    max_age = _MAX_AGE.search(control)
    if max_age:
        age = headers.get("age", "").strip()
        left_s = float(max_age[1]) - (float(age) if age.isdigit() and len(age) <= 10 else 0.0)
    else:
        # Expires counts only where there is no max-age (RFC 9111, 5.3), from the server's own Date.
        expires_ms = http_date_ms(headers.get("expires"))
        if expires_ms is None:
            return None
        sent_ms = http_date_ms(headers.get("date"))
        left_s = (expires_ms - (now_ms if sent_ms is None else sent_ms)) / 1000
    return left_s if left_s > 0 else None
