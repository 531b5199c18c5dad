"""
Host names that are denied without DNS: local names, metadata services, wildcard DNS services. Pure.

A name that resolves to a local address is denied in any case. This list denies such names earlier,
because a resolver may change its answer between two lookups and local files may answer for it.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re

# Cloud metadata services by name. Denied even when networks are allowed.
_METADATA = frozenset(
    (
        "metadata",
        "metadata.google.internal",
        "metadata.goog",
        "metadata.azure.internal",
        "metadata.azure.com",
        "metadata.tencentyun.com",
        "metadata.packet.net",
        "metadata.platformequinix.com",
        "metadata.exoscale.com",
        "instance-data",
        "instance-data.ec2.internal",
        "rancher-metadata",
        "api.metadata.cloud.ibm.com",
        "api.metadata.cloud.appdomain.cloud",
    )
)

# Names that are local by standard or convention, with all names below them.
_LOCAL = {
    "localhost": "loopback, RFC 6761",
    "localdomain": "a customary local domain",
    "local": "link-local names, RFC 6762",
    "internal": "reserved for private use, ICANN 2024",
    "home.arpa": "home networks, RFC 8375",
    "onion": "not in the DNS, RFC 7686",
    "corp": "private networks, never delegated",
    "home": "private networks, never delegated",
    "lan": "private networks, never delegated",
    "intranet": "private networks, never delegated",
    "private": "private networks, never delegated",
    "svc": "services of a Kubernetes cluster",
    "consul": "services of a Consul cluster",
}

# Public names whose subdomains all resolve to loopback, or change their answer between two lookups
# (DNS rebinding).
_LOOPBACK_SERVICES = frozenset(
    (
        "1u.ms", "bugbounty.dod.network", "fuf.me", "lacolhost.com", "lcl.host", "localh.st",
        "localdomain.pw", "localtest.me", "lvh.me", "rbndr.us", "rebind.it", "rebind.network",
        "smackaho.st", "spoofed.burpcollaborator.net", "traefik.me", "vcap.me", "127-0-0-1.org.uk",
        "xip.io",
    )
)  # fmt: skip

# Names below these resolve to the address that they contain.
_WILDCARD_SERVICES = frozenset(
    ("nip.io", "sslip.io", "backname.io", "ipq.co", "xip.lhjmmc.cn", "ip.addr.tools")
)

_DOTTED = re.compile(r"(?:^|[.-])(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?=$|[.-])")
_HEXADECIMAL = re.compile(r"(?:^|[.-])([0-9a-f]{8})(?=$|[.-])")
_COLONS = re.compile(r"[0-9a-f]*(?:-[0-9a-f]*){2,7}")


def why_metadata(host: str) -> str | None:
    """Return why the name `host` is a metadata service; None if it is not."""
    return "the name of a cloud's metadata service" if host in _METADATA else None


def why_local(host: str) -> str | None:
    """
    Return why the name `host` belongs to a private network; None if it can be public.

    Args:
        host: lower case, in ASCII, without a final dot; not an IP address.
    """
    if "." not in host and host not in _LOCAL:
        return "a name without a dot belongs to the local network"
    suffix = _under(host, _LOCAL)
    return f"names under {suffix} are local ({_LOCAL[suffix]})" if suffix else None


def loopback_service(host: str) -> str | None:
    """Return the loopback or rebinding service that `host` belongs to; None if there is none."""
    return _under(host, _LOOPBACK_SERVICES)


def embedded_addresses(
    host: str,
) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return the addresses contained in a name of a wildcard DNS service; empty for others."""
    service = _under(host, _WILDCARD_SERVICES)
    if service is None:
        return []
    front = host[: -len(service) - 1]
    addresses: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = []
    for match in _DOTTED.finditer(front):
        octets = [int(octet) for octet in match.groups()]
        if max(octets) < 256:
            addresses.append(ipaddress.IPv4Address(bytes(octets)))
    addresses += [ipaddress.IPv4Address(int(m[1], 16)) for m in _HEXADECIMAL.finditer(front)]
    label = front.rpartition(".")[2]
    if _COLONS.fullmatch(label):
        with contextlib.suppress(ValueError):
            addresses.append(ipaddress.IPv6Address(label.replace("-", ":")))
    return addresses


def _under(host: str, suffixes: frozenset[str] | dict[str, str]) -> str | None:
    """Return the longest of `suffixes` that is `host` or a parent of it."""
    rest = host
    while rest:
        if rest in suffixes:
            return rest
        rest = rest.partition(".")[2]
    return None
