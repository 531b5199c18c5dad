"""
Origin, host and registered domain of normalized URLs.

The registered domain is the public suffix plus one label (publicsuffix.org). The private part of
the list is included, so two blogs on one hosting service are two sites.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache

from publicsuffixlist import PublicSuffixList

from urlspelling.errors import InvalidUrl
from urlspelling.hosts import split_port

_CACHED_HOSTS = 65_536
_MAX_HOST_CHARS = 253
_HTTP_ORIGIN = re.compile(r"(https?)://([^/?#\\@]+)(?=[/?#]|\Z)")
_IPV4 = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}")


def origin(url: str) -> str:
    """
    Return scheme, host and port of a normalized URL, such as `https://example.com:8443`.

    >>> origin("https://example.com:8443/a?b=1")
    'https://example.com:8443'

    The origin has no trailing slash and no default port. Each origin has its own robots.txt.

    Raises:
        InvalidUrl: `url` does not begin with an http(s) origin.
    """
    return _match_origin(url)[0]


def host(url: str) -> str:
    """
    Return the host of a normalized URL without its port. An IPv6 address keeps its brackets.

    Raises:
        InvalidUrl: `url` does not begin with an http(s) origin.
    """
    return split_port(_match_origin(url)[2])[0]


def registered_domain(url_or_host: str) -> str:
    """
    Return the registered domain of a normalized URL or host.

    Crawlers limit their request rate per registered domain.

    >>> registered_domain("https://news.bbc.co.uk/weather")
    'bbc.co.uk'

    IP addresses, single labels and public suffixes are returned unchanged. Takes 0.1 µs if the host
    is cached, else 4 µs. The first call reads the list (50 ms).

    Raises:
        InvalidUrl: a URL that does not begin with an http(s) origin.
    """
    name = host(url_or_host) if "://" in url_or_host else url_or_host
    return _find_registered_domain(name) if len(name) <= _MAX_HOST_CHARS else name


def is_public_suffix(name: str) -> bool:
    """Return True if a host is a public suffix (`co.uk`, `github.io`) or a single label."""
    return not is_ip(name) and _suffix_list().privatesuffix(name.lower().rstrip(".")) is None


def is_ip(name: str) -> bool:
    """Return True if the host of a normalized URL is an IP address."""
    return name.startswith("[") or _IPV4.fullmatch(name) is not None


def reversed_host(name: str) -> str:
    """
    Reverse the labels of a host, so that hosts of one site sort together: `com.example.www`.

    >>> reversed_host("www.example.com")
    'com.example.www'

    IP addresses are returned unchanged. The function is its own inverse.
    """
    return name if is_ip(name) else ".".join(reversed(name.split(".")))


def _match_origin(url: str) -> re.Match[str]:
    match = _HTTP_ORIGIN.match(url)
    if match is None:
        raise InvalidUrl(url, "not a normalized http(s) URL")
    return match


@lru_cache(_CACHED_HOSTS)
def _find_registered_domain(name: str) -> str:
    if is_ip(name):
        return name
    domain: str | None = _suffix_list().privatesuffix(name.lower().rstrip("."))
    return domain or name


@cache
def _suffix_list() -> PublicSuffixList:
    return PublicSuffixList()
