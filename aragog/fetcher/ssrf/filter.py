"""
What may be connected to: the rule asked for every URL, every redirect target, every connection.

A crawler fetches what strangers name, from inside a network where much trusts its neighbours. So
only http(s) to the ports of an allow list, without credentials, to addresses of the public
internet, in whatever spelling; and the address that was vetted is the one that is connected to.
docs/safety.md lists what is refused and how to allow a network.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urlsplit

import can_ada

from aragog.clock import Clock, SystemClock
from aragog.errors import ConfigError, InvalidUrl
from aragog.fetcher.ssrf.dns import Lookup, Resolver, system_lookup
from aragog.fetcher.ssrf.names import carried_addresses, loops_back, why_local, why_metadata
from aragog.fetcher.ssrf.ranges import IP, METADATA, Network, carried_ipv4, why_not_global
from aragog.settings import FetchSettings

Address = tuple[str, int]
"""IP address and port."""

_DEFAULT_PORTS = {"http:": 80, "https:": 443}

# Text in which parsers are known to see different hosts.
_AMBIGUOUS = re.compile(r"[\\@\s\x00-\x1f]")


@dataclass(frozen=True, slots=True)
class Vetted:
    """Where a connection may go: vetted addresses, in the order to try them; never empty."""

    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class Denied:
    """The guard says no, and why: outcome Blocked."""

    why: str


@dataclass(frozen=True, slots=True)
class Unresolved:
    """The name has no address, or DNS did not answer in time: outcome Unreachable, kind dns."""

    why: str


Resolution = Vetted | Denied | Unresolved


class SsrfFilter:
    """
    The rule, with one operator's exceptions; safe to use from many threads and across forks.

    Args:
        settings: `allowed_ports`, `allowed_networks`, `host_map`, `connect_timeout_s`.
        clock: its stopwatch ages what DNS said.
        lookup: asks DNS.

    Raises:
        ConfigError: an entry of `allowed_networks` or `host_map` that cannot be read.
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
        self._networks = _networks(settings.allowed_networks)
        self._map = _host_map(settings.host_map)
        self._resolver = Resolver(
            lookup, clock or SystemClock(), timeout_s=settings.connect_timeout_s
        )
        # What a text means does not change; the pages of a batch share few hosts.
        self._vet_ip = lru_cache(maxsize=8192)(self._vet_ip_text)
        self._vet_host = lru_cache(maxsize=8192)(self._vet_host_text)

    def vet_url(self, url: str) -> str | None:
        """
        Why `url` must not be fetched, by its text alone; None when nothing speaks against it.

        Asks no DNS; `resolve` does, once a connection is wanted.
        """
        try:
            parts = _parse(url)
        except InvalidUrl as error:
            return error.why
        return self._vet_parts(url, parts)

    def resolve(self, host: str, port: int) -> Resolution:
        """
        Where a connection to `host` may go.

        DNS is asked once and every address vetted: one that is refused refuses the name, since a
        client could be led to it. Connect to an address of the answer, never to the name again.

        Args:
            host: name or IP address, IPv6 with or without brackets.
            port: the URL's; that of a mapped host is replaced.
        """
        host = _plain(host)
        if (mapped := self._mapped(host)) is not None:
            return self._vet_mapped(mapped, port)
        if port not in self._ports:
            return Denied(_port_why(port))
        if why := self._vet_host(host):
            return Denied(why)
        if _ip(host) is not None:
            return Vetted(((host, port),))
        found = self._resolver.find(host)
        if not found.addresses:
            return Unresolved(f"{host}: {found.why}")
        for address in found.addresses:
            if why := self.vet_address(address):
                return Denied(f"{host} leads to {why}")
        return Vetted(tuple((address, port) for address in found.addresses))

    def vet_address(self, address: str) -> str | None:
        """Why the IP address `address` must not be connected to; None when it may be."""
        return self._vet_ip(address)

    def _vet_ip_text(self, address: str) -> str | None:
        ip = _ip(address)
        if ip is None:
            return f"{address} is no plain IP address"
        why = why_not_global(ip)
        if why is None or self._is_allowed(ip):
            return None
        return f"{address}, which is {why}"

    def is_forbidden(self, url: str) -> bool:
        """
        Whether `url` must not be fetched; asks DNS. A name without an address is not forbidden.

        Raises:
            InvalidUrl: `url` cannot be parsed.
        """
        parts = _parse(url)
        if self._vet_parts(url, parts) is not None:
            return True
        port = int(parts.port or _DEFAULT_PORTS[parts.protocol])
        return isinstance(self.resolve(parts.hostname, port), Denied)

    def _vet_parts(self, url: str, parts: can_ada.URL) -> str | None:
        if parts.protocol not in _DEFAULT_PORTS:
            return f"{parts.protocol} is not http or https"
        if parts.username or parts.password:
            return "credentials in the URL"
        host = _plain(parts.hostname)
        if self._mapped(host) is None:
            if why := self._vet_host(host):
                return why
            if _AMBIGUOUS.search(url) and (why := self._vet_other_reading(url, host)):
                return why
        port = int(parts.port) if parts.port else _DEFAULT_PORTS[parts.protocol]
        return None if port in self._ports else _port_why(port)

    def _vet_host_text(self, host: str) -> str | None:
        """Why a host that is not mapped is refused by its text."""
        if not host:
            return "no host"
        if ":" in host or host[-1].isdigit():
            ip = _ip(host)
            if ip is not None or ":" in host:
                return self.vet_address(host)
        if why := why_metadata(host):
            return f"{host}: {why}"
        if self._networks:
            # Then private names are judged by the addresses they lead to.
            return None
        if why := why_local(host):
            return f"{host}: {why}"
        if service := loops_back(host):
            return f"{host}: names under {service} lead to local addresses"
        for ip in carried_addresses(host):
            if why := self.vet_address(str(ip)):
                return f"{host} stands for {why}"
        return None

    def _vet_other_reading(self, url: str, host: str) -> str | None:
        """
        The same text read by RFC 3986 may name another host: refused when that one would be.

        What is fetched is the WHATWG reading, so this is for URLs that were made to deceive.
        """
        try:
            other = urlsplit(url).hostname
            if not other or other == host:
                return None
            parts = _parse(f"http://{other}/")
        except ValueError:
            return None
        why = self._vet_host(_plain(parts.hostname))
        return f"the URL can be read in two ways; one leads to {other}" if why else None

    def _mapped(self, host: str) -> tuple[IP, int | None] | None:
        if not self._map:
            return None
        if host in self._map:
            return self._map[host]
        rest = host
        while rest:
            rest = rest.partition(".")[2]
            if found := self._map.get("*." + rest):
                return found
        return None

    def _vet_mapped(self, to: tuple[IP, int | None], port: int) -> Resolution:
        """
        The entry in `host_map` permits this address, for this host alone.

        `allowed_networks` is not asked: a network allowed there is open to every URL.
        """
        address, mapped_port = to
        return Vetted(((str(address), mapped_port or port),))

    def _is_allowed(self, ip: IP) -> bool:
        """By a network of the settings; a metadata address only by its very own."""
        for one in (ip, *carried_ipv4(ip)):
            if one in METADATA:
                return any(
                    network.num_addresses == 1 and network.network_address == ip
                    for network in self._networks
                )
        mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
        return any(
            one is not None and one.version == network.version and one in network
            for one in (ip, mapped)
            for network in self._networks
        )


def is_forbidden(url: str) -> bool:
    """
    Whether a fetch with the default settings would refuse to connect to `url`.

    Asks DNS (the answer is kept for a minute). A name without an address is not forbidden: it
    cannot be reached, and a connection vets it again.

    Raises:
        InvalidUrl: `url` cannot be parsed; nothing else is raised.
    """
    return _default().is_forbidden(url)


@lru_cache(maxsize=1)
def _default() -> SsrfFilter:
    return SsrfFilter(FetchSettings())


def _parse(url: str) -> can_ada.URL:
    try:
        return can_ada.parse(url)
    except (ValueError, UnicodeError) as error:
        raise InvalidUrl(url, "not a URL") from error


def _plain(host: str) -> str:
    """`host` in lower case without brackets or final dots."""
    return host.lower().strip("[]").rstrip(".")


def _ip(text: str) -> IP | None:
    """The address that `text` is; None for names, and for addresses with a zone."""
    if "%" in text:
        return None
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _port_why(port: int) -> str:
    return f"port {port} is not in fetch.allowed_ports"


def _networks(texts: Iterable[str]) -> tuple[Network, ...]:
    networks, problems = [], []
    for text in texts:
        try:
            networks.append(ipaddress.ip_network(text, strict=False))
        except ValueError as error:
            problems.append(f"fetch.allowed_networks: {error}; write 127.0.0.0/8 or fd00::/8")
    if problems:
        raise ConfigError(*problems)
    return tuple(networks)


def _host_map(entries: Mapping[str, str]) -> dict[str, tuple[IP, int | None]]:
    found: dict[str, tuple[IP, int | None]] = {}
    problems = []
    for name, target in entries.items():
        host, colon, port = target.rpartition(":")
        ip = _ip(_plain(host if colon else target)) or _ip(target)
        whole = _ip(_plain(target)) is not None
        if ip is None or not (whole or (port.isdecimal() and 0 < int(port) < 65536)):
            problems.append(
                f"fetch.host_map: {name} leads to {target!r}; write address:port, [v6]:port"
            )
            continue
        found[_plain(name)] = (ip, None if whole else int(port))
    if problems:
        raise ConfigError(*problems)
    return found
