"""Redirect targets: read Location headers and resolve them. Pure."""

from __future__ import annotations

import can_ada

from aragog.errors import InvalidUrl
from aragog.fetcher.faults import TransportError
from aragog.fetcher.http1.head import ResponseHead
from aragog.fetcher.outcome import UnreachableKind
from aragog.urls import normalize

# 304 answers a conditional request; 305 and 306 are deprecated (RFC 9110 section 15.4).
FOLLOWED = frozenset({300, 301, 302, 303, 307, 308})


def location_of(head: ResponseHead) -> str | None:
    """
    Return the Location as sent; None for a response that does not redirect.

    Raises:
        TransportError: several Location headers differ, so the target is ambiguous.
    """
    locations = {value for value in head.values("location") if value}
    if len(locations) > 1:
        raise TransportError(UnreachableKind.REDIRECT, "several Location headers that differ")
    return locations.pop() if locations and head.status in FOLLOWED else None


def target_of(location: str, base: str) -> str:
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


def as_sent(location: str, base: str) -> str:
    """Resolve `location` as the origin spelled it; drop the fragment and credentials."""
    try:
        url = can_ada.parse(base) + location
    except ValueError as error:
        raise TransportError(
            UnreachableKind.REDIRECT, f"the redirect target is not a URL: {location[:200]!r}"
        ) from error
    url.hash = url.username = url.password = ""
    href: str = url.href
    return href
