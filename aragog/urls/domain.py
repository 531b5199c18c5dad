"""
Where a URL lives: origin, host, registered domain. All of normalized URLs, by cutting strings.

The registered domain is the public suffix and one label more (publicsuffix.org, the private part of
the list included: two blogs on one hosting service are two sites).
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

from aragog.errors import InvalidUrl

_CACHED_HOSTS = 65_536
_MAX_HOST_CHARS = 253
_URL = re.compile(r"(https?)://([^/?#\\@]+)(?=[/?#]|\Z)")
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def origin(url: str) -> str:
    """
    Scheme, host and port of a normalized URL, as in `https://example.com:8443`: the unit of
    robots.txt. No slash at the end, no default port.

    Raises:
        InvalidUrl: `url` does not begin with an http(s) origin.
    """
    return _match(url)[0]


def host(url: str) -> str:
    """
    The host of a normalized URL without its port; an IPv6 address keeps its brackets.

    Raises:
        InvalidUrl: `url` does not begin with an http(s) origin.
    """
    authority = _match(url)[2]
    if authority.endswith("]"):
        return authority
    return authority.rpartition(":")[0] or authority


def registered_domain(url_or_host: str) -> str:
    """
    Public suffix and one label of a normalized URL or host: the unit of rate limits.

    IP addresses, single labels and public suffixes themselves stand for themselves. 0.1 µs when the
    host was seen lately, 4 µs otherwise; the first call reads the list (50 ms).

    Raises:
        InvalidUrl: a URL that does not begin with an http(s) origin.
    """
    name = host(url_or_host) if "://" in url_or_host else url_or_host
    return _registered(name) if len(name) <= _MAX_HOST_CHARS else name


def is_ip(name: str) -> bool:
    """Is the host of a normalized URL an address and no name?"""
    return name.startswith("[") or _IPV4.fullmatch(name) is not None


def reversed_host(name: str) -> str:
    """
    Labels back to front, so that hosts of one site sort together: `com.example.www`.

    Addresses stay as they are. Its own inverse.
    """
    return name if is_ip(name) else ".".join(reversed(name.split(".")))


def _match(url: str) -> re.Match[str]:
    found = _URL.match(url)
    if found is None:
        raise InvalidUrl(url, "not a normalized http(s) URL")
    return found


@lru_cache(_CACHED_HOSTS)
def _registered(name: str) -> str:
    if is_ip(name):
        return name
    found: str | None = _list().privatesuffix(name.lower().rstrip("."))
    return found or name


@cache
def _list() -> PublicSuffixList:
    return PublicSuffixList()
