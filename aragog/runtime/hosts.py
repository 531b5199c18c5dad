"""
Checks of Host headers, which protect local servers from DNS rebinding.

A web page can make its host name resolve to a loopback address, and then read an API that trusts
local clients. Such requests have the page's host name in their Host header, so local servers accept
only `localhost` and the names in the settings. IP addresses are accepted, too, because no name was
resolved.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from urlspelling.hosts import split_port


def is_ip(host: str) -> bool:
    """Return True if `host` is an IP address, without brackets."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Return True if `host` is `localhost` or a loopback address."""
    return host == "localhost" or (is_ip(host) and ipaddress.ip_address(host).is_loopback)


def parse_host_header(header: str) -> str:
    """Return a Host header's host in lower case, without port, brackets or trailing dot."""
    return split_port(header.strip())[0].lower().strip("[]").rstrip(".")


@lru_cache(maxsize=256)
def is_allowed_host(header: str, allowed: tuple[str, ...]) -> bool:
    """
    Return True if a server should accept requests with this Host header.

    Args:
        header: the header's value, with or without a port.
        allowed: names from the settings; `.example.com` matches the domain and its subdomains.
    """
    host = parse_host_header(header)
    if is_ip(host) or host == "localhost" or host.endswith(".localhost"):
        return True
    for name in map(str.lower, allowed):
        if host == name.removeprefix(".") or (name.startswith(".") and host.endswith(name)):
            return True
    return False
