"""Hosts as settings, headers and URLs write them: with or without a port. Pure."""

from __future__ import annotations

import ipaddress


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
