"""
Host names that no crawler should ask, whatever they resolve to. Pure: nothing is resolved here.

A name that leads to a local address is refused when it resolves anyway; this list refuses it
before, where a resolver could answer differently twice or the machine's own files answer.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re

# Cloud metadata services by name. Refused even when networks are allowed.
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

# Names that are local by standard or by agreement, with all names under them.
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

# Public names whose every subdomain leads to loopback, or that change their answer between two
# questions (rebinding). Kept because they need no resolver to be known.
_LOOPBACK_SERVICES = frozenset(
    (
        "1u.ms", "bugbounty.dod.network", "fuf.me", "lacolhost.com", "lcl.host", "localh.st",
        "localdomain.pw", "localtest.me", "lvh.me", "rbndr.us", "rebind.it", "rebind.network",
        "smackaho.st", "spoofed.burpcollaborator.net", "traefik.me", "vcap.me", "127-0-0-1.org.uk",
        "xip.io",
    )
)  # fmt: skip

# Names under these resolve to the address that they carry.
_WILDCARD_SERVICES = frozenset(
    ("nip.io", "sslip.io", "backname.io", "ipq.co", "xip.lhjmmc.cn", "ip.addr.tools")
)

_DOTTED = re.compile(r"(?:^|[.-])(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?=$|[.-])")
_HEXADECIMAL = re.compile(r"(?:^|[.-])([0-9a-f]{8})(?=$|[.-])")
_COLONS = re.compile(r"[0-9a-f]*(?:-[0-9a-f]*){2,7}")


def why_metadata(host: str) -> str | None:
    """Why `host` is a metadata service by its name; None when it is not."""
    return "the name of a cloud's metadata service" if host in _METADATA else None


def why_local(host: str) -> str | None:
    """
    Why `host` names something in a private network; None when it could be public.

    Args:
        host: lower case, in ASCII, without a final dot; no IP address.
    """
    if "." not in host and host not in _LOCAL:
        return "a name without a dot is one of the local network"
    found = _under(host, _LOCAL)
    return f"names under {found} are local ({_LOCAL[found]})" if found else None


def loops_back(host: str) -> str | None:
    """The service under which every name leads to loopback or changes its answer, if any."""
    return _under(host, _LOOPBACK_SERVICES)


def carried_addresses(
    host: str,
) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """The addresses that a name under a wildcard DNS service stands for; empty for other names."""
    service = _under(host, _WILDCARD_SERVICES)
    if service is None:
        return []
    front = host[: -len(service) - 1]
    found: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = []
    for match in _DOTTED.finditer(front):
        octets = [int(octet) for octet in match.groups()]
        if max(octets) < 256:
            found.append(ipaddress.IPv4Address(bytes(octets)))
    found += [ipaddress.IPv4Address(int(m[1], 16)) for m in _HEXADECIMAL.finditer(front)]
    label = front.rpartition(".")[2]
    if _COLONS.fullmatch(label):
        with contextlib.suppress(ValueError):
            found.append(ipaddress.IPv6Address(label.replace("-", ":")))
    return found


def _under(host: str, suffixes: frozenset[str] | dict[str, str]) -> str | None:
    """The longest of `suffixes` that `host` is or is under."""
    rest = host
    while rest:
        if rest in suffixes:
            return rest
        rest = rest.partition(".")[2]
    return None
