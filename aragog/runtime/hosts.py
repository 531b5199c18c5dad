"""
Names under which a local server is reached. Pure.

A web page can resolve its own name to a loopback address (DNS rebinding) and then read an API that
trusts loopback. Its requests carry that name in the Host header, so a local server accepts only
names in the settings. An IP address in the header is harmless, because no name was resolved.
"""

from __future__ import annotations

import ipaddress
from functools import lru_cache

from urlspelling.hosts import split_port


def is_ip(host: str) -> bool:
    """Report whether `host` is an IP address, without brackets."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Report whether `host` is `localhost` or a loopback address: only this machine reaches it."""
    return host == "localhost" or (is_ip(host) and ipaddress.ip_address(host).is_loopback)


def host_of(header: str) -> str:
    """Return the host of a Host header in lower case, without port, brackets and trailing dot."""
    return split_port(header.strip())[0].lower().strip("[]").rstrip(".")


@lru_cache(maxsize=256)
def is_allowed_host(header: str, allowed: tuple[str, ...]) -> bool:
    """
    Report whether a request with this Host header is accepted.

    Args:
        header: the header's value; with or without a port.
        allowed: names from the settings; `.example.com` includes the domain and its subdomains.
    """
    host = host_of(header)
    if is_ip(host) or host == "localhost" or host.endswith(".localhost"):
        return True
    for name in map(str.lower, allowed):
        if host == name.removeprefix(".") or (name.startswith(".") and host.endswith(name)):
            return True
    return False
