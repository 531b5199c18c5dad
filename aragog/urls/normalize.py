"""
One spelling per representation: `normalize`, versioned, idempotent, pure.

The parser is WHATWG's (can_ada): what it accepts and how it reads hosts, ports, dot segments and
white space is the URL Standard. The steps after it are in `steps`; docs/urls.md gives an example
and a reason for each. Cost grows with the length of the URL, never faster.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import can_ada

from aragog.errors import InvalidUrl
from aragog.urls import steps
from aragog.urls.query import QueryRules, SiteRule, packaged_rules

NORMALIZATION_VERSION = 1
"""Stored with what was keyed by a normalized URL; grows when any URL may come out differently."""

_MAX_HOST_CHARS = 4_096
"""Names end at 253. The parser takes 30 µs for each character of a hostile label, so a megabyte of
them is refused before it."""
_LONG_CHARS = 2_048
_CACHED_BASES = 64

_HOST_AS_WRITTEN = re.compile(
    r"[\x00-\x20]*(?:[A-Za-z][A-Za-z0-9+.\-]*:[\\/]*|[\\/]{2,})([^/\\?#]*)"
)
_HAS_SCHEME = re.compile(r"[\x00-\x20]*[A-Za-z][A-Za-z0-9+.\-]*:")
_TO_DO = re.compile(r"[%?;(\[\]\\^`{|}]")
"""What in a parsed path or query may need a step."""
_TAB_OR_NEWLINE = {9: None, 10: None, 13: None}

_parse = can_ada.parse
_rules = packaged_rules()


def normalize(url: str, base: str | None = None) -> str:
    """
    The one spelling of an http(s) URL, ASCII, without fragment and userinfo.

    `base` is what a relative `url` is relative to; it need not be normalized. 1 to 3 µs.

    Raises:
        InvalidUrl: no URL, no http(s) URL, or relative to nothing.
    """
    try:
        if len(url) > _LONG_CHARS:
            _refuse_absurd_host(url)
        href: str = _parse(url).href if base is None else (_base(base) + url).href
    except (ValueError, TypeError) as error:
        href = _parse_again(url, base, error)
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


def current_rules() -> QueryRules:
    """The rules in use, for `explain`."""
    return _rules


def _finish(href: str, url: str) -> str:
    """The parser's spelling to ours. The common URL, already normal, costs a few searches."""
    start = 8 if href.startswith("https://") else 7 if href.startswith("http://") else 0
    if not start:
        raise InvalidUrl(url, "not an http(s) URL")
    slash = href.index("/", start)
    if href[slash - 1] == "." or href.find("@", start, slash) > 0 or href.find(".:", 0, slash) > 0:
        href = _plain_authority(href, start, slash)
        slash = href.index("/", start)
    fragment = href.find("#", slash)
    if fragment > 0:
        href = href[:fragment]
    if _TO_DO.search(href, slash) is None:
        return href
    path, question, query = href[slash:].partition("?")
    front = href[:slash] + steps.no_session(steps.escapes(path))
    if not question:
        return front
    query = _rules.tidy(steps.escapes(query), _host(href[start:slash]))
    return f"{front}?{query}" if query else front


def _plain_authority(href: str, start: int, slash: int) -> str:
    authority = steps.no_trailing_dot(steps.no_userinfo(href[start:slash]))
    try:
        again: str = _parse(href[:start] + authority + href[slash:]).href
    except ValueError as error:
        raise InvalidUrl(href, "the host is no name and no address") from error
    return again


def _host(authority: str) -> str:
    host, colon, port = authority.rpartition(":")
    return host if colon and not port.endswith("]") else authority


def _parse_again(url: str, base: str | None, error: ValueError | TypeError) -> str:
    """
    Once more with each lone surrogate replaced by U+FFFD, as the standard's USVString has it.

    A reference that is not text at all is the caller's mistake and stays a TypeError.
    """
    if isinstance(error, InvalidUrl) or not isinstance(url, str):
        raise error
    clean, clean_base = _scalar(url), None if base is None else _scalar(base)
    try:
        parsed = _parse(clean) if clean_base is None else _base(clean_base) + clean
    except ValueError:
        relative = base is None and _HAS_SCHEME.match(clean) is None
        why = "relative, and no base to resolve it against" if relative else "not a URL"
        raise InvalidUrl(url, why) from None
    return str(parsed.href)


def _scalar(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@lru_cache(_CACHED_BASES)
def _parsed_base(base: str) -> can_ada.URL:
    return _parse(base)


def _base(base: str) -> can_ada.URL:
    """The parsed base; a page has one for all its links."""
    if len(base) <= _LONG_CHARS:
        return _parsed_base(base)
    _refuse_absurd_host(base)
    return _parse(base)


def _refuse_absurd_host(url: str) -> None:
    found = _HOST_AS_WRITTEN.match(url.translate(_TAB_OR_NEWLINE))
    if found and len(found[1].rpartition("@")[2]) > _MAX_HOST_CHARS:
        raise InvalidUrl(url, f"a host of more than {_MAX_HOST_CHARS} characters")
