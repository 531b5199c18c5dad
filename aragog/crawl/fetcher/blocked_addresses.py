"""
Host names and IP ranges that are denied by default.

*Names*: local names, metadata services and wildcard DNS services. They are denied without a lookup,
because the next lookup may return something else, and because the machine's hosts file may resolve
them.

*Ranges*: IANA's special-purpose address registries for IPv4 and IPv6 as of October 2025 (column
"Globally Reachable"), multicast, IPv6 outside 2000::/3 (the only allocated global unicast space),
and addresses of metadata services. `ipaddress.is_global` is not used, because it depends on the
Python version. Embedded IPv4 addresses are checked too.
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
from functools import lru_cache

from urlspelling.hosts import longest_match

# Cloud metadata services. They are denied even if networks are allowed.
_METADATA_HOSTS = frozenset(
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

# Local names by standard or convention, including their subdomains.
_LOCAL_SUFFIXES = {
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

# Subdomains of these names resolve to loopback, or to another address on the second lookup (DNS
# rebinding).
_LOOPBACK_SERVICES = frozenset(
    (
        "1u.ms", "bugbounty.dod.network", "fuf.me", "lacolhost.com", "lcl.host", "localh.st",
        "localdomain.pw", "localtest.me", "lvh.me", "rbndr.us", "rebind.it", "rebind.network",
        "smackaho.st", "spoofed.burpcollaborator.net", "traefik.me", "vcap.me", "127-0-0-1.org.uk",
        "xip.io",
    )
)  # fmt: skip

# Subdomains of these names resolve to the address that the name itself contains.
_WILDCARD_SERVICES = frozenset(
    ("nip.io", "sslip.io", "backname.io", "ipq.co", "xip.lhjmmc.cn", "ip.addr.tools")
)

_DOTTED_IPV4 = re.compile(r"(?:^|[.-])(\d{1,3})[.-](\d{1,3})[.-](\d{1,3})[.-](\d{1,3})(?=$|[.-])")
_HEX_IPV4 = re.compile(r"(?:^|[.-])([0-9a-f]{8})(?=$|[.-])")
_DASHED_IPV6 = re.compile(r"[0-9a-f]*(?:-[0-9a-f]*){2,7}")


def metadata_reason(host: str) -> str | None:
    """Return why the name `host` is a metadata service, or None if it is not."""
    return "the name of a cloud's metadata service" if host in _METADATA_HOSTS else None


def local_reason(host: str) -> str | None:
    """
    Return why the name `host` belongs to a private network, or None if it may be public.

    Args:
        host: lower case, in ASCII, without a trailing dot; not an IP address.
    """
    if "." not in host and host not in _LOCAL_SUFFIXES:
        return "a name without a dot belongs to the local network"
    suffix = longest_match(host, _LOCAL_SUFFIXES)
    return f"names under {suffix} are local ({_LOCAL_SUFFIXES[suffix]})" if suffix else None


def loopback_service(host: str) -> str | None:
    """Return the loopback or rebinding service that `host` belongs to, or None."""
    return longest_match(host, _LOOPBACK_SERVICES)


def embedded_addresses(
    host: str,
) -> list[ipaddress.IPv4Address | ipaddress.IPv6Address]:
    """Return the addresses in a wildcard DNS service's name; empty for other names."""
    service = longest_match(host, _WILDCARD_SERVICES)
    if service is None:
        return []
    prefix = host[: -len(service) - 1]
    addresses: list[ipaddress.IPv4Address | ipaddress.IPv6Address] = []
    for match in _DOTTED_IPV4.finditer(prefix):
        octets = [int(octet) for octet in match.groups()]
        if max(octets) < 256:
            addresses.append(ipaddress.IPv4Address(bytes(octets)))
    addresses += [ipaddress.IPv4Address(int(m[1], 16)) for m in _HEX_IPV4.finditer(prefix)]
    label = prefix.rpartition(".")[2]
    if _DASHED_IPV6.fullmatch(label):
        with contextlib.suppress(ValueError):
            addresses.append(ipaddress.IPv6Address(label.replace("-", ":")))
    return addresses


IP = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

# The most specific range comes first. None marks a globally reachable part of a denied range.
_V4: tuple[tuple[str, str | None], ...] = (
    ("0.0.0.0/8", "this network, RFC 791"),
    ("10.0.0.0/8", "private use, RFC 1918"),
    ("100.64.0.0/10", "shared address space of carriers, RFC 6598"),
    ("127.0.0.0/8", "loopback, RFC 1122"),
    ("169.254.0.0/16", "link-local, RFC 3927"),
    ("172.16.0.0/12", "private use, RFC 1918"),
    ("192.0.0.9/32", None),  # Port Control Protocol anycast, RFC 7723
    ("192.0.0.10/32", None),  # TURN anycast, RFC 8155
    ("192.0.0.0/24", "IETF protocol assignments, RFC 6890"),
    ("192.0.2.0/24", "documentation, RFC 5737"),
    ("192.88.99.0/24", "former 6to4 relay anycast, RFC 7526"),
    ("192.168.0.0/16", "private use, RFC 1918"),
    ("198.18.0.0/15", "benchmarking, RFC 2544"),
    ("198.51.100.0/24", "documentation, RFC 5737"),
    ("203.0.113.0/24", "documentation, RFC 5737"),
    ("224.0.0.0/4", "multicast, RFC 5771"),
    ("255.255.255.255/32", "limited broadcast, RFC 8190"),
    ("240.0.0.0/4", "reserved, RFC 1112"),
)

_V6: tuple[tuple[str, str | None], ...] = (
    ("::/128", "unspecified address, RFC 4291"),
    ("::1/128", "loopback, RFC 4291"),
    ("::ffff:0:0/96", None),  # IPv4-mapped: only the IPv4 address decides
    ("::/96", "IPv4-compatible, deprecated, RFC 4291"),
    ("::ffff:0:0:0/96", "IPv4-translated, RFC 2765"),
    ("64:ff9b::/96", None),  # NAT64, RFC 6052: only the IPv4 address decides
    ("64:ff9b:1::/48", "NAT64 for local use, RFC 8215"),
    ("100::/64", "discard only, RFC 6666"),
    ("100:0:0:1::/64", "dummy prefix, RFC 9780"),
    ("2001::/32", "Teredo, RFC 4380"),
    ("2001:1::1/128", None),  # Port Control Protocol anycast, RFC 7723
    ("2001:1::2/128", None),  # TURN anycast, RFC 8155
    ("2001:1::3/128", None),  # DNS-SD service registration anycast, RFC 9665
    ("2001:2::/48", "benchmarking, RFC 5180"),
    ("2001:3::/32", None),  # AMT, RFC 7450
    ("2001:4:112::/48", None),  # AS112, RFC 7535
    ("2001:10::/28", "former ORCHID, RFC 4843"),
    ("2001:20::/28", None),  # ORCHIDv2, RFC 7343
    ("2001:30::/28", None),  # drone remote identification, RFC 9374
    ("2001::/23", "IETF protocol assignments, RFC 2928"),
    ("2001:db8::/32", "documentation, RFC 3849"),
    ("3fff::/20", "documentation, RFC 9637"),
    ("5f00::/16", "segment routing, RFC 9602"),
    ("2000::/3", None),
    ("fc00::/7", "unique local, RFC 4193"),
    ("fe80::/10", "link-local, RFC 4291"),
    ("fec0::/10", "former site-local, RFC 3879"),
    ("ff00::/8", "multicast, RFC 4291"),
    ("::/0", "outside 2000::/3, the only global unicast space"),
)

# Cloud metadata services, which return the machine's credentials. Some of their addresses are
# global. A metadata address is allowed only by a settings entry with exactly that address.
METADATA_ADDRESSES = frozenset(
    map(
        ipaddress.ip_address,
        (
            "169.254.169.254",  # AWS, Google, Azure, DigitalOcean, OpenStack, Oracle, Hetzner
            "169.254.169.253",  # AWS resolver
            "169.254.170.2",  # AWS ECS task credentials
            "169.254.170.23",  # AWS EKS pod identity
            "169.254.42.42",  # Scaleway
            "169.254.0.23",  # Tencent
            "100.100.100.200",  # Alibaba
            "100.88.222.5",  # Tencent
            "192.0.0.192",  # Oracle, classic
            "168.63.129.16",  # Azure's platform address, global by registry
            "fd00:ec2::254",  # AWS
            "fd00:ec2::23",  # AWS EKS pod identity
            "fd20:ce::254",  # Google
            "fd00:42::42",  # Scaleway
        ),
    )
)


def _parse_ranges(table: tuple[tuple[str, str | None], ...]) -> list[tuple[int, int, str | None]]:
    ranges = []
    for text, meaning in table:
        network = ipaddress.ip_network(text)
        reason = None if meaning is None else f"in {text} ({meaning})"
        ranges.append((int(network.network_address), int(network.broadcast_address), reason))
    return ranges


_RANGES = {4: _parse_ranges(_V4), 6: _parse_ranges(_V6)}


@lru_cache(maxsize=16_384)
def non_global_reason(address: IP) -> str | None:
    """Return why `address` is not globally reachable, or None if it is."""
    if address in METADATA_ADDRESSES:
        return "a cloud's metadata service"
    number = int(address)
    for first, last, reason in _RANGES[address.version]:
        if first <= number <= last:
            if reason is not None:
                return reason
            break
    for embedded in embedded_ipv4(address):
        if reason := non_global_reason(embedded):
            return f"a spelling of {embedded}, {reason}"
    return None


def embedded_ipv4(address: IP) -> tuple[ipaddress.IPv4Address, ...]:
    """
    Return the IPv4 addresses that an IPv6 address embeds.

    Covers mapped, compatible, translated, NAT64, 6to4, Teredo (server and client) and ISATAP
    addresses.
    """
    if address.version == 4:
        return ()
    number = int(address)
    low = ipaddress.IPv4Address(number & 0xFFFF_FFFF)
    high = number >> 32
    # ::ffff:0:0/96, ::/96, ::ffff:0:0:0/96, 64:ff9b::/96, 64:ff9b:1::/96 for local use
    if high in (0xFFFF, 0, 0xFFFF_0000, 0x0064_FF9B << 64, (0x0064_FF9B_0001 << 48)):
        return (low,)
    if number >> 112 == 0x2002:
        return (ipaddress.IPv4Address(number >> 80 & 0xFFFF_FFFF),)
    if number >> 96 == 0x2001_0000:
        server = ipaddress.IPv4Address(number >> 64 & 0xFFFF_FFFF)
        return (server, ipaddress.IPv4Address(int(low) ^ 0xFFFF_FFFF))
    # ISATAP (RFC 5214): the interface identifier is [02]00:5efe and the IPv4 address.
    if high & 0xFCFF_FFFF == 0x0000_5EFE:
        return (low,)
    return ()
