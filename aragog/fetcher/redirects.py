"""Where an answer redirects to. Pure."""

from __future__ import annotations

import can_ada

from aragog.errors import InvalidUrl
from aragog.fetcher.faults import TransportError
from aragog.fetcher.http1.head import ResponseHead
from aragog.urls import normalize

# 304 is an answer to a condition, 305 and 306 are withdrawn (RFC 9110 section 15.4).
FOLLOWED = frozenset({300, 301, 302, 303, 307, 308})


def location_of(head: ResponseHead) -> str | None:
    """
    The Location as sent; None when the answer stands for itself: not a redirect, or one to nowhere.

    Raises:
        TransportError: several that differ, so that two readers could go two ways.
    """
    found = {value for value in head.values("location") if value}
    if len(found) > 1:
        raise TransportError("redirect", "several Location headers that differ")
    return found.pop() if found and head.status in FOLLOWED else None


def target_of(location: str, base: str) -> str:
    """
    `location`, relative to `base`, normalized.

    Raises:
        TransportError: it is no http(s) URL.
    """
    try:
        return normalize(location, base)
    except InvalidUrl as error:
        raise TransportError("redirect", f"redirects to what is no http(s) URL: {error}") from error


def as_sent(location: str, base: str) -> str:
    """`location`, relative to `base`, in the origin's own spelling; without fragment and login."""
    try:
        url = can_ada.parse(base) + location
    except ValueError as error:
        raise TransportError(
            "redirect", f"redirects to what is no URL: {location[:200]!r}"
        ) from error
    url.hash = url.username = url.password = ""
    href: str = url.href
    return href
