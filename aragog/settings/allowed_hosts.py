"""
The check of Host headers in requests to a local server. Pure.

A web page can resolve its own name to a loopback address (DNS rebinding) and then read an API that
trusts loopback. Its requests carry that name in the Host header, so only names in the settings are
accepted. An IP address in the header is harmless, because no name was resolved.
"""

from __future__ import annotations

from functools import lru_cache

from aragog.hosts import is_ip, split_port


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
