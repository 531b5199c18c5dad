"""Hosts as URLs, settings and headers write them, and the names that cover them. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterator


def split_port(text: str) -> tuple[str, str]:
    """
    Return the host and the digits of the port; "" without a port.

    >>> split_port("[::1]:80")
    ('[::1]', '80')

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

    >>> longest_match("a.b.example.com", {"example.com", "b.example.com"})
    'b.example.com'

    Every rule for "a host and all hosts below it" is this one. Costs a lookup for each label.
    """
    while host:
        if host in names:
            return host
        host = host.partition(".")[2]
    return None
