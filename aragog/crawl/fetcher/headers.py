"""Parses dates, Retry-After, ranges, Location and freshness in response headers."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

import can_ada

from aragog.crawl.fetcher.faults import TransportError
from aragog.crawl.fetcher.http1.head import ResponseHead
from aragog.errors import InvalidUrl
from aragog.fetch_record.outcome import UnreachableKind
from urlspelling import normalize


def http_date_ms(text: str | None) -> int | None:
    """Return a date in ms since the epoch, or None if it is invalid. The default zone is UTC."""
    if not text:
        return None
    try:
        moment = parsedate_to_datetime(text)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=dt.UTC)
        return int(moment.timestamp() * 1000)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None


# 30 days. Higher values are mistakes or attacks.
MAX_RETRY_AFTER_S = 30 * 86_400


def retry_at_ms(value: str | None, now_ms: int, date: str | None = None) -> int | None:
    """
    Return when the Retry-After header `value` allows the next request, at most 30 days from now.

    Returns None if the value is unusable. Seconds count from `now_ms`. A date in the past means
    now. The origin's clock may be wrong, so the wait until a date is counted from `date`, the Date
    header (RFC 9110 section 6.6.1).
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


_CONTENT_RANGE = re.compile(r"bytes[ \t]+(\d{1,18})-(\d{1,18})/(\d{1,18}|\*)", re.IGNORECASE)


class PartOfPage(NamedTuple):
    """Which part of a page a 206 response contains."""

    is_start: bool
    """True if the part starts at the beginning of the page."""
    missing: str | None
    """What is missing; None if the page is complete."""


def parse_content_range(head: ResponseHead) -> PartOfPage:
    """Parse the Content-Range of a 206 response (RFC 9110 sections 14.4 and 15.3.7)."""
    if any(value.lower().startswith("multipart/") for value in head.values("content-type")):
        return PartOfPage(is_start=False, missing="several parts of the page")
    values = head.values("content-range")
    match = _CONTENT_RANGE.fullmatch(values[-1]) if values else None
    if match is None:
        return PartOfPage(is_start=True, missing="206 without Content-Range")
    first, last = int(match[1]), int(match[2])
    if first:
        return PartOfPage(is_start=False, missing=f"bytes {values[-1][5:].strip()}")
    if match[3] != "*" and last + 1 >= int(match[3]):
        return PartOfPage(is_start=True, missing=None)
    return PartOfPage(is_start=True, missing=f"206 with the first {last + 1} of {match[3]} bytes")


# 304 is the response to a conditional request; 305 and 306 are deprecated (RFC 9110 section 15.4).
REDIRECT_STATUSES = frozenset({300, 301, 302, 303, 307, 308})


def redirect_location(head: ResponseHead) -> str | None:
    """
    Return the Location header as sent, or None if the response is not a redirect.

    Raises:
        TransportError: several Location headers differ.
    """
    locations = {value for value in head.values("location") if value}
    if len(locations) > 1:
        raise TransportError(UnreachableKind.REDIRECT, "several Location headers that differ")
    return locations.pop() if locations and head.status in REDIRECT_STATUSES else None


def redirect_target(location: str, base: str) -> str:
    """
    Resolve `location` against `base` and normalize it.

    Raises:
        TransportError: the result is not an http(s) URL.
    """
    try:
        return normalize(location, base)
    except InvalidUrl as error:
        raise TransportError(
            UnreachableKind.REDIRECT, f"the redirect target is not an http(s) URL: {error}"
        ) from error


def resolve_as_sent(location: str, base: str) -> str:
    """Resolve `location` as sent, but without fragment and credentials."""
    try:
        url = can_ada.parse(base) + location
    except ValueError as error:
        raise TransportError(
            UnreachableKind.REDIRECT, f"the redirect target is not a URL: {location[:200]!r}"
        ) from error
    url.hash = url.username = url.password = ""
    href: str = url.href
    return href


_MAX_AGE = re.compile(r"(?:^|[,\s])max-age\s*=\s*\"?(\d{1,10})", re.IGNORECASE)
_NO_CACHING = re.compile(r"(?:^|[,\s])no-(?:store|cache)\b", re.IGNORECASE)


def freshness_s(headers: Mapping[str, str], now_ms: int) -> float | None:
    """
    Return how many seconds the response stays fresh, or None if that is zero or unknown.

    Args:
        headers: the headers by lower-case name.
        now_ms: when the response arrived.
    """
    control = headers.get("cache-control", "")
    if _NO_CACHING.search(control):
        return None
    max_age = _MAX_AGE.search(control)
    if max_age:
        age = headers.get("age", "").strip()
        remaining_s = float(max_age[1]) - (float(age) if age.isdigit() and len(age) <= 10 else 0.0)
    else:
        # Without max-age, Expires applies, relative to Date (RFC 9111 section 5.3).
        expires_ms = http_date_ms(headers.get("expires"))
        if expires_ms is None:
            return None
        sent_ms = http_date_ms(headers.get("date"))
        remaining_s = (expires_ms - (now_ms if sent_ms is None else sent_ms)) / 1000
    return remaining_s if remaining_s > 0 else None
