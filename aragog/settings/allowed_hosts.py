"""
Which Host headers a server on this machine accepts. Pure.

A page in a browser can point a name of its own at a loopback address (DNS rebinding) and then read
an API that trusts loopback. Its requests carry that name in their Host header, so only names that
the operator gave are accepted. An IP address in the header is harmless: no name was rebound.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache

_PORT = re.compile(r":[0-9]{0,5}$", re.ASCII)


def host_of(header: str) -> str:
    """The host of a Host header without its port: lower case, no brackets, no final dot."""
    return _PORT.sub("", header.strip()).lower().strip("[]").rstrip(".")


@lru_cache(maxsize=256)
def is_allowed_host(header: str, allowed: tuple[str, ...]) -> bool:
    """
    Whether a request with this Host header may be answered.

    Args:
        header: the header's value; with or without a port.
        allowed: names of the settings; `.example.com` stands for the domain and its subdomains.
    """
    host = host_of(header)
    if is_ip(host) or host == "localhost" or host.endswith(".localhost"):
        return True
    for name in (one.lower() for one in allowed):
        if host == name.removeprefix(".") or (name.startswith(".") and host.endswith(name)):
            return True
    return False


def is_ip(host: str) -> bool:
    """Whether `host` is an IP address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def is_loopback(host: str) -> bool:
    """Whether a server bound to `host` is reached from this machine alone."""
    return host == "localhost" or (is_ip(host) and ipaddress.ip_address(host).is_loopback)
