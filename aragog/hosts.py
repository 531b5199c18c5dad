"""
Hosts as settings, headers and URLs write them, and the names that cover them. Pure.

A web page can resolve its own name to a loopback address (DNS rebinding) and then read an API that
trusts loopback. Its requests carry that name in the Host header, so a local server accepts only
names in the settings. An IP address in the header is harmless, because no name was resolved.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Container, Iterator
from functools import lru_cache


def split_port(text: str) -> tuple[str, str]:
    """
    Return the host and the digits of the port; "" without a port.

    `example.com:80`, `[::1]:80` and `example.com:` have a port or an empty one; `::1` and `[::1]`
    have none. An IPv6 address keeps its brackets.
    """
    host, colon, port = text.rpartition(":")
    is_port = colon and (not port or (port.isascii() and port.isdigit()))
    if is_port and (":" not in host or host.endswith("]")):
        return host, port
    return text, ""


def and_parents(host: str) -> Iterator[str]:
    """Yield `host` and the domains above it, the longest first: `a.b.c`, `b.c`, `c`."""
    while host:
        yield host
        host = host.partition(".")[2]


def longest_match(host: str, names: Container[str]) -> str | None:
    """
    Return the longest of `names` that is `host` or a parent of it; None if none is.

    Every rule for "a host and all hosts below it" is this one. Costs a lookup for each label.
    """
    while host:
        if host in names:
            return host
        host = host.partition(".")[2]
    return None


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
