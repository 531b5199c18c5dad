"""
One spelling per representation: `normalize`, versioned, idempotent, pure.

The parser is the URL Standard's (`parser`): what it accepts and how it reads hosts, ports, dot
segments and white space is the standard's. What comes after it is in `steps` and `query`;
docs/urls.md gives an example and a reason for each step. Cost grows with the length of the URL,
never faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from aragog.errors import InvalidUrl
from aragog.urls import steps
from aragog.urls.domain import host
from aragog.urls.parser import parse
from aragog.urls.query import QueryRules, SiteRule, packaged_rules

NORMALIZATION_VERSION = 1
"""Stored with what was keyed by a normalized URL; grows when any URL may come out differently."""

_HAS_SCHEME = re.compile(r"[\x00-\x20]*[A-Za-z][A-Za-z0-9+.\-]*:")

_CACHED_PLACES = 16_384
_MAX_CACHED_CHARS = 255
"""Longer hosts are read anew each time: hostile ones must not fill the memory."""

_rules = packaged_rules()


def normalize(url: str, base: str | None = None) -> str:
    """
    The one spelling of an http(s) URL, ASCII, without fragment and userinfo.

    `base` is what a relative `url` is relative to; it need not be normalized. 1 to 3 µs.

    Raises:
        InvalidUrl: no URL, no http(s) URL, or relative to nothing.
    """
    try:
        href = parse(url, base)
    except ValueError:
        raise InvalidUrl(url, _why_not(url, base)) from None
    return _finish(href, url)


def normalize_many(urls: Iterable[str], base: str | None = None) -> list[str | None]:
    """Each URL normalized, in order; None for those that are no http(s) URLs."""
    found: list[str | None] = []
    for url in urls:
        try:
            found.append(normalize(url, base))
        except InvalidUrl:
            found.append(None)
    return found


def use_site_rules(rules: Iterable[SiteRule]) -> None:
    """
    Add an operator's rules for single sites to the packaged ones, for the whole process.

    Called once at start, before anything is normalized, and with the same rules in every process of
    a cluster: two processes with different rules would store one page under two keys.
    """
    global _rules  # noqa: PLW0603 - the signature of `normalize` is fixed; set once at start
    _rules = packaged_rules().with_sites(rules)
    _place.cache_clear()


def current_rules() -> QueryRules:
    """The rules in use, for `explain`."""
    return _rules


def _finish(href: str, url: str) -> str:
    """The parser's spelling to ours. The common URL, already normal, costs a few searches."""
    slash = href.find("/", 8)
    front = href[:slash]
    place = _place(front) if slash <= _MAX_CACHED_CHARS else _read_place(front)
    if place is None:
        raise InvalidUrl(url, "not an http(s) URL")
    if place.front != front:
        href = place.front + href[slash:]
        slash = len(place.front)
    fragment = href.find("#", slash)
    if fragment > 0:
        href = href[:fragment]
    path_end = href.find("?", slash)
    if steps.TO_DO.search(href, slash) is not None:
        href, path_end = _respelled(href, slash, path_end)
    if path_end < 0:
        return href
    query = href[path_end + 1 :]
    tidy = _rules.tidy(query, place.site)
    if tidy == query and tidy:
        return href
    return f"{href[:path_end]}?{tidy}" if tidy else href[:path_end]


class _Place(NamedTuple):
    """What can be known of a URL by its beginning, so that it is found out once for a site."""

    front: str
    """Scheme and authority, normal."""
    site: SiteRule | None


def _read_place(front: str) -> _Place | None:
    """What `front` stands for, as the parser spells it, without the slash; None: not http(s)."""
    scheme, colon, authority = front.partition("://")
    if scheme not in {"http", "https"} or not colon:
        return None
    authority = steps.no_trailing_dot(steps.no_userinfo(authority))
    return _Place(f"{scheme}://{authority}", _rules.site(host(f"{scheme}://{authority}")))


_place = lru_cache(_CACHED_PLACES)(_read_place)


def _respelled(href: str, slash: int, path_end: int) -> tuple[str, int]:
    """`href` with its escapes normal and no session in the path, and where its path now ends."""
    rest = steps.escapes(href[slash:])
    path, question, query = rest.partition("?")
    front = href[:slash] + steps.no_session(path)
    return front + question + query, len(front) if path_end > 0 else -1


def _why_not(url: str, base: str | None) -> str:
    if base is None and _HAS_SCHEME.match(url) is None:
        return "relative, and no base to resolve it against"
    return "not a URL"
