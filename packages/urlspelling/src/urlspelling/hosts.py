"""Parse hosts in URLs, settings and headers, and match them against names."""

from __future__ import annotations

from collections.abc import Container, Iterator


def split_port(text: str) -> tuple[str, str]:
    """
    Return the host, and the port's digits or an empty string.

    >>> split_port("[::1]:80")
    ('[::1]', '80')

    `example.com:80`, `[::1]:80` and `example.com:` have a port (the last one's is empty); `::1` and
    `[::1]` have none. An IPv6 address keeps its brackets.
    """
    host, colon, port = text.rpartition(":")
    is_port = colon and (not port or (port.isascii() and port.isdigit()))
    if is_port and (":" not in host or host.endswith("]")):
        return host, port
    return text, ""


def and_parents(host: str) -> Iterator[str]:
    """Yield `host` and its parent domains, the longest first: `a.b.c`, `b.c`, `c`."""
    while host:
        yield host
        host = host.partition(".")[2]


def longest_match(host: str, names: Container[str]) -> str | None:
    """
    Return the longest of `names` that is `host` or its parent, or None.

    >>> longest_match("a.b.example.com", {"example.com", "b.example.com"})
    'b.example.com'

    Use it for every rule about "a host and its subdomains". Costs one lookup per label.
    """
    while host:
        if host in names:
            return host
        host = host.partition(".")[2]
    return None
