"""
URL normalization. `normalize` returns the same string for equivalent URLs; it is idempotent.

The parser (`_parser`) follows the URL Standard. `_steps` and `_query` contain the further steps;
the README has an example and a reason for each. The time is linear in the URL's length.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple

from urlspelling import _steps as steps
from urlspelling._parser import resolve
from urlspelling._query import QueryRules, SiteRule, packaged_rules
from urlspelling.domain import host
from urlspelling.errors import InvalidUrl

NORMALIZATION_VERSION = 2
"""
Incremented when the result for any URL changes, because stored URLs then get other keys.

Version 2 keeps JavaScript escapes (`%u011f`), which version 1 changed to `%25u011f`.
"""

MAX_URL_CHARS = 8_192
"""
Longer URLs are rejected. RFC 9110 section 4.1 recommends that servers support 8,000 octets, and a
page could create megabytes of URLs from a long base and short links.
"""

_SCHEME_PREFIX = re.compile(r"[\x00-\x20]*[A-Za-z][A-Za-z0-9+.\-]*:")

_CACHED_ORIGINS = 16_384
_MAX_CACHED_CHARS = 255
"""Longer hosts are not cached, so that hostile ones cannot fill memory."""

_PLAIN_NORMAL_URL = re.compile(
    r"(https?://[^/]{1,247})(?=/)(?:/[A-Za-z0-9_~!$&'*+,:=@-][A-Za-z0-9._~!$&'*+,:=@-]*)*/?"
)
"""A scheme, an authority, and a path that no step changes."""

_rules = packaged_rules()


def normalize(url: str, base: str | None = None) -> str:
    """
    Return the normalized http(s) URL: ASCII, without fragment and userinfo.

    A relative `url` is resolved against `base`, which need not be normalized. Takes 0.7 to 3 µs.

    >>> normalize("HTTP://Example.com:80/a?utm_source=mail&b=2&a=1#top")
    'http://example.com/a?a=1&b=2'
    >>> normalize("../hats", "http://example.com/shoes/red")
    'http://example.com/hats'

    Raises:
        InvalidUrl: not a URL, not http(s), relative without a base, or too long when normalized.
    """
    if base is None and _is_normal(url):
        return url
    try:
        href = resolve(url, base)
    except ValueError:
        raise InvalidUrl(url, _why_invalid(url, base)) from None
    normalized = _apply_steps(href, url)
    if len(normalized) > MAX_URL_CHARS:
        raise InvalidUrl(url, f"longer than {MAX_URL_CHARS} characters")
    return normalized


def _is_normal(url: str) -> bool:
    """Return True for most normalized URLs without a query."""
    match = _PLAIN_NORMAL_URL.fullmatch(url) if len(url) <= MAX_URL_CHARS else None
    return match is not None and _is_normal_origin(match[1])


@lru_cache(_CACHED_ORIGINS)
def _is_normal_origin(origin: str) -> bool:
    try:
        return _apply_steps(resolve(f"{origin}/"), origin) == f"{origin}/"
    except ValueError:
        return False


def use_site_rules(rules: Iterable[SiteRule]) -> None:
    """
    Add the operator's rules for individual sites to the packaged rules of this process.

    Call it once before normalizing any URL, with the same rules in every process of a cluster.
    Otherwise, one page would be stored under two keys.
    """
    global _rules  # noqa: PLW0603 - the signature of `normalize` is fixed; set once at start
    _rules = packaged_rules().with_sites(rules)
    _cached_origin.cache_clear()


def current_rules() -> QueryRules:
    """Return the current rules, for `explain`."""
    return _rules


def _apply_steps(href: str, url: str) -> str:
    path_start = href.find("/", 8)
    origin = href[:path_start]
    parsed = _cached_origin(origin) if path_start <= _MAX_CACHED_CHARS else _parse_origin(origin)
    if parsed is None:
        raise InvalidUrl(url, "not an http(s) URL")
    if parsed.text != origin:
        href = parsed.text + href[path_start:]
        path_start = len(parsed.text)
    fragment = href.find("#", path_start)
    if fragment > 0:
        href = href[:fragment]
    path_end = href.find("?", path_start)
    if steps.MAY_CHANGE.search(href, path_start) is not None:
        href, path_end = _normalize_escapes(href, path_start, path_end)
    if path_end < 0:
        return href
    query = href[path_end + 1 :]
    normalized_query = _rules.normalize_query(query, parsed.site)
    if normalized_query == query and normalized_query:
        return href
    return f"{href[:path_end]}?{normalized_query}" if normalized_query else href[:path_end]


def with_query(url: str, query: str) -> str:
    """
    Append a query to a normalized URL that has none, and normalize the query.

    `query` may contain only what the parser and `_steps` leave unchanged: normalized escapes, but
    no quotes, brackets, braces, backslashes, carets, bars, semicolons, spaces or control
    characters.
    """
    origin = url[: url.find("/", 8)]
    parsed = _cached_origin(origin) if len(origin) <= _MAX_CACHED_CHARS else _parse_origin(origin)
    normalized_query = _rules.normalize_query(query, None if parsed is None else parsed.site)
    return f"{url}?{normalized_query}" if normalized_query else url


class _Origin(NamedTuple):
    """A URL's scheme and authority, with its site's rule."""

    text: str
    """Scheme and authority, normalized."""
    site: SiteRule | None


def _parse_origin(origin: str) -> _Origin | None:
    """Normalize a scheme and authority without a slash; None if it is not http(s)."""
    scheme, colon, authority = origin.partition("://")
    if scheme not in {"http", "https"} or not colon:
        return None
    authority = steps.remove_trailing_dot(steps.remove_userinfo(authority))
    return _Origin(f"{scheme}://{authority}", _rules.site(host(f"{scheme}://{authority}")))


_cached_origin = lru_cache(_CACHED_ORIGINS)(_parse_origin)


def _normalize_escapes(href: str, path_start: int, path_end: int) -> tuple[str, int]:
    """Normalize escapes and remove a session; returns the URL and the end of its path."""
    escaped = steps.normalize_escapes(href[path_start:])
    path, question_mark, query = escaped.partition("?")
    url_start = href[:path_start] + steps.remove_session(path)
    return url_start + question_mark + query, len(url_start) if path_end > 0 else -1


def _why_invalid(url: str, base: str | None) -> str:
    if base is None and _SCHEME_PREFIX.match(url) is None:
        return "relative URL without a base"
    return "not a URL"


KEY_BYTES = 16


def url_key(normalized: str) -> bytes:
    """
    Return a normalized URL's key: the first 16 bytes of the URL's SHA-256.

    Keys are uniformly distributed. The probability of a collision among 10^10 URLs is 10^-19, and
    a store should compare the URLs, too. Takes 0.5 µs.

    >>> url_key("http://example.com/").hex()
    '2a1b402420ef46577471cdc7409b0fa2'
    """
    return sha256(normalized.encode("utf-8", "surrogatepass")).digest()[:KEY_BYTES]
