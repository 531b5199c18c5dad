"""
The SSRF filter: decides which URLs may be fetched and which addresses a connection may use.

A crawler fetches untrusted URLs from inside a network whose hosts may trust each other. So the
filter allows only http(s), on allowed ports, without credentials, to globally reachable addresses.
It applies to every URL, redirect target and connection, and a connection uses exactly the checked
address. docs/security.md says what is denied and how to allow a network.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Protocol
from urllib.parse import urlsplit

import can_ada

from aragog.crawl.fetcher.blocked_addresses import (
    IP,
    METADATA_ADDRESSES,
    Network,
    embedded_addresses,
    embedded_ipv4,
    local_reason,
    loopback_service,
    metadata_reason,
    non_global_reason,
)
from aragog.crawl.fetcher.dns import Lookup, Resolver, system_lookup
from aragog.errors import ConfigError, InvalidUrl
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import FetchSettings
from urlspelling.hosts import and_parents, split_port

Address = tuple[str, int]
"""IP address and port."""

_DEFAULT_PORTS = {"http:": 80, "https:": 443}

# With these characters, parsers may find different hosts in the same URL.
_AMBIGUOUS_CHARACTER = re.compile(r"[\\@\s\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Vetted:
    """The addresses that a connection may use, in the order to try them. Never empty."""

    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Denied:
    """The target is denied. The fetch ends as Blocked."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unresolved:
    """No address was found in time. The fetch ends as Unreachable, kind dns."""

    reason: str


Resolution = Vetted | Denied | Unresolved


class SsrfFilter:
    """
    The filter, with the operator's exceptions. Thread-safe. May be used across forks.

    Args:
        settings: `allowed_ports`, `allowed_networks`, `host_map` and `connect_timeout_s`.

    Raises:
        ConfigError: an entry of `allowed_networks` or `host_map` is invalid.
    """

    def __init__(
        self,
        settings: FetchSettings | None = None,
        *,
        clock: Clock | None = None,
        lookup: Lookup = system_lookup,
    ) -> None:
        settings = settings or FetchSettings()
        self._ports = frozenset(settings.allowed_ports)
        self._networks = _parse_networks(settings.allowed_networks)
        self._host_map = _parse_host_map(settings.host_map)
        self._resolver = Resolver(
            lookup, clock or SystemClock(), timeout_s=settings.connect_timeout_s
        )
        # Worth caching, because the pages of a batch are on few hosts.
        self._vet_ip = lru_cache(maxsize=8192)(self._vet_ip_text)
        self._vet_host = lru_cache(maxsize=8192)(self._vet_host_text)

    def vet_url(self, url: str) -> str | None:
        """Return why the text of `url` forbids a fetch, or None. Does not use DNS."""
        try:
            parts = _parse_url(url)
        except InvalidUrl as error:
            return error.reason
        return self._vet_parts(url, parts)

    def resolve(self, host: str, port: int) -> Resolution:
        """
        Resolve `host` and return the addresses that a connection may use.

        If one of the addresses is denied, the name is denied. The caller must connect to one of the
        returned addresses, without resolving the name again.

        Args:
            host: name or IP address, IPv6 with or without brackets.
            port: the URL's port, which an entry in `host_map` may replace.
        """
        host = _normalize_host(host)
        if (mapping := self._find_mapping(host)) is not None:
            return self._vet_mapped(mapping, port)
        if port not in self._ports:
            return Denied(_port_problem(port))
        if reason := self._vet_host(host):
            return Denied(reason)
        if _parse_ip(host) is not None:
            return Vetted(((host, port),))
        resolution = self._resolver.find(host)
        if not resolution.addresses:
            return Unresolved(f"{host}: {resolution.reason}")
        for address in resolution.addresses:
            if reason := self.vet_address(address):
                return Denied(f"{host} resolves to {reason}")
        return Vetted(tuple((address, port) for address in resolution.addresses))

    def resolve_at_proxy(self, host: str, port: int) -> Resolution:
        """
        Return `host` itself instead of addresses, for a proxy that resolves names.

        Checks the name itself, and IP addresses and entries in `host_map` as in `resolve`. The
        addresses that the proxy finds cannot be checked.
        """
        host = _normalize_host(host)
        if self._find_mapping(host) is not None or _parse_ip(host) is not None:
            return self.resolve(host, port)
        if port not in self._ports:
            return Denied(_port_problem(port))
        reason = self._vet_host(host) or self._vet_name(host)
        return Denied(reason) if reason else Vetted(((host, port),))

    def vet_address(self, address: str) -> str | None:
        return self._vet_ip(address)

    def _vet_ip_text(self, address: str) -> str | None:
        ip = _parse_ip(address)
        if ip is None:
            return f"{address} is not a plain IP address"
        reason = non_global_reason(ip)
        if reason is None or self._is_allowed(ip):
            return None
        return f"{address}, which is {reason}"

    def is_forbidden(self, url: str) -> bool:
        """
        See the function `is_forbidden`.

        Raises:
            InvalidUrl: `url` cannot be parsed.
        """
        parts = _parse_url(url)
        if self._vet_parts(url, parts) is not None:
            return True
        port = int(parts.port or _DEFAULT_PORTS[parts.protocol])
        return isinstance(self.resolve(parts.hostname, port), Denied)

    def _vet_parts(self, url: str, parts: can_ada.URL) -> str | None:
        if parts.protocol not in _DEFAULT_PORTS:
            return f"{parts.protocol} is not http or https"
        if parts.username or parts.password:
            return "credentials in the URL"
        host = _normalize_host(parts.hostname)
        if self._find_mapping(host) is None:
            if reason := self._vet_host(host):
                return reason
            if _AMBIGUOUS_CHARACTER.search(url) and (
                reason := self._vet_with_other_parser(url, host)
            ):
                return reason
        port = int(parts.port) if parts.port else _DEFAULT_PORTS[parts.protocol]
        return None if port in self._ports else _port_problem(port)

    def _vet_host_text(self, host: str) -> str | None:
        """Return why the name of a host that is not in `host_map` is denied, or None."""
        if not host:
            return "no host"
        if ":" in host or host[-1].isdigit():
            ip = _parse_ip(host)
            if ip is not None or ":" in host:
                return self.vet_address(host)
        if reason := metadata_reason(host):
            return f"{host}: {reason}"
        if self._networks:
            # A local name may resolve into an allowed network, so its addresses are checked later.
            return None
        return self._vet_name(host)

    def _vet_name(self, host: str) -> str | None:
        if reason := local_reason(host):
            return f"{host}: {reason}"
        if service := loopback_service(host):
            return f"{host}: names under {service} resolve to local addresses"
        for ip in embedded_addresses(host):
            if reason := self.vet_address(str(ip)):
                return f"{host} resolves to {reason}"
        return None

    def _vet_with_other_parser(self, url: str, host: str) -> str | None:
        """
        Check the host that an RFC 3986 parser finds in the text, if it differs.

        The fetch uses the WHATWG parser, so this denies only deceptive URLs.
        """
        try:
            other = urlsplit(url).hostname
            if not other or other == host:
                return None
            parts = _parse_url(f"http://{other}/")
        except ValueError:
            return None
        reason = self._vet_host(_normalize_host(parts.hostname))
        return f"the URL is ambiguous: other parsers find the host {other}" if reason else None

    def _find_mapping(self, host: str) -> tuple[IP, int | None] | None:
        if not self._host_map:
            return None
        if host in self._host_map:
            return self._host_map[host]
        parents = islice(and_parents(host), 1, None)
        return next(
            (mapping for name in parents if (mapping := self._host_map.get("*." + name))), None
        )

    def _vet_mapped(self, mapping: tuple[IP, int | None], port: int) -> Resolution:
        """
        Return the mapped address, allowed only for this host.

        The mapping itself is the permission; an entry in `allowed_networks` would apply to all
        hosts.
        """
        address, mapped_port = mapping
        return Vetted(((str(address), mapped_port or port),))

    def _is_allowed(self, ip: IP) -> bool:
        """
        Return True if `allowed_networks` contains `ip`.
        Metadata addresses need their own entry.
        """
        for address in (ip, *embedded_ipv4(ip)):
            if address in METADATA_ADDRESSES:
                return any(
                    network.num_addresses == 1 and network.network_address == ip
                    for network in self._networks
                )
        ipv4 = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
        return any(
            address is not None and address.version == network.version and address in network
            for address in (ip, ipv4)
            for network in self._networks
        )


def is_forbidden(url: str) -> bool:
    """
    Return True if the default settings deny a fetch of `url`.

    Uses DNS and caches results for 60 s. A name without an address is not forbidden: it is
    unreachable, and would be checked again before a later connection.

    Raises:
        InvalidUrl: `url` cannot be parsed.
    """
    return _default_filter().is_forbidden(url)


@lru_cache(maxsize=1)
def _default_filter() -> SsrfFilter:
    return SsrfFilter(FetchSettings())


def _parse_url(url: str) -> can_ada.URL:
    try:
        return can_ada.parse(url)
    except (ValueError, UnicodeError) as error:
        raise InvalidUrl(url, "not a URL") from error


def _normalize_host(host: str) -> str:
    """Return `host` in lower case, without brackets and trailing dots."""
    return host.lower().strip("[]").rstrip(".")


def _parse_ip(text: str) -> IP | None:
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _port_problem(port: int) -> str:
    return f"port {port} is not in fetch.allowed_ports"


def _parse_networks(texts: Iterable[str]) -> tuple[Network, ...]:
    networks, problems = [], []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError as error:
            problems.append(
                f"fetch.allowed_networks: {error}; use the form 127.0.0.0/8 or fd00::/8"
            )
    if problems:
        raise ConfigError(*problems)
    return tuple(networks)


def _parse_host_map(entries: Mapping[str, str]) -> dict[str, tuple[IP, int | None]]:
    mapping: dict[str, tuple[IP, int | None]] = {}
    problems = []
    for name, target in entries.items():
        host, port = split_port(target)
        ip = _parse_ip(_normalize_host(host))
        is_address = _parse_ip(_normalize_host(target)) is not None
        if ip is None or not (is_address or (port.isdecimal() and 0 < int(port) < 65536)):
            problems.append(
                f"fetch.host_map: {name} has the value {target!r}; use address:port or [v6]:port"
            )
            continue
        mapping[_normalize_host(name)] = (ip, None if is_address else int(port))
    if problems:
        raise ConfigError(*problems)
    return mapping


class AddressPolicy(Protocol):
    """The part of `SsrfFilter` used by the fetcher."""

    def vet_url(self, url: str) -> str | None:
        """Return why the text of `url` forbids a fetch, or None. Does not use DNS."""

    def resolve(self, host: str, port: int) -> Resolution:
        """Resolve `host` and return the addresses that a connection may use."""

    def resolve_at_proxy(self, host: str, port: int) -> Resolution:
        """Return the name itself, for a proxy that resolves names, unless it is denied."""
