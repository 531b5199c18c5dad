"""
Posts to a webhook's receiver with the fetcher's HTTP engine.

Although operators configure receivers, the SSRF filter checks the address, the connection goes to
the checked address, and redirects are not followed. Hosts in `webhooks.allowed_hosts` are not
checked.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from functools import lru_cache
from typing import Any, cast
from urllib.parse import urlsplit

import requests

from aragog.crawl.fetcher.adapter import PinnedAdapter
from aragog.crawl.fetcher.dns import Resolver, system_lookup
from aragog.crawl.fetcher.ssrf import AddressPolicy, Resolution, Unresolved, Vetted
from aragog.runtime.clock import SystemClock
from aragog.settings import FetchSettings, WebhookSettings

MAX_HEADER_BYTES = 16_384


def post(
    url: str,
    body: bytes,
    headers: Mapping[str, str],
    settings: WebhookSettings,
    ssrf_filter: AddressPolicy,
) -> str | None:
    """
    Post a body. Returns None after a 2xx, otherwise the reason for the failure.

    Blocks for at most `webhooks.timeout_s`, plus the same time for DNS. Reads only the response's
    headers, up to 16 KB.
    """
    try:
        with requests.Session() as session:
            session.trust_env = False
            adapter = _get_adapter(settings, ssrf_filter)
            session.mount("http://", adapter)
            session.mount("https://", adapter)
            with session.post(
                url, body, headers=dict(headers), allow_redirects=False, stream=True
            ) as response:
                status = response.status_code
    except requests.RequestException as error:
        return f"{type(error).__name__}: {error}"
    return None if 200 <= status < 300 else f"status {status}"


class AllowedHosts:
    """
    An SSRF filter that accepts the hosts in `webhooks.allowed_hosts`.

    Args:
        ssrf_filter: the filter for all other hosts.
        hosts: names or IP addresses.
        timeout_s: the time limit for one DNS query.
    """

    def __init__(
        self, ssrf_filter: AddressPolicy, hosts: tuple[str, ...], timeout_s: float
    ) -> None:
        self._ssrf_filter = ssrf_filter
        self._hosts = frozenset(host.lower() for host in hosts)
        self._resolver = Resolver(system_lookup, SystemClock(), timeout_s=timeout_s)

    def vet_url(self, url: str) -> str | None:
        """Return why nothing may be posted to `url`, or None."""
        try:
            host = urlsplit(url).hostname
        except ValueError:
            host = None
        return None if host in self._hosts else self._ssrf_filter.vet_url(url)

    def resolve(self, host: str, port: int) -> Resolution:
        """Return the addresses that a connection to `host` may use."""
        if host.lower().strip("[]") not in self._hosts:
            return self._ssrf_filter.resolve(host, port)
        resolved = self._resolver.find(host.strip("[]"))
        if not resolved.addresses:
            return Unresolved(f"{host}: {resolved.reason}")
        # Try IPv4 first: services in a private network often listen only there.
        ipv4_first = sorted(resolved.addresses, key=lambda address: ":" in address)
        return Vetted(tuple((address, port) for address in ipv4_first))

    def resolve_at_proxy(self, host: str, port: int) -> Resolution:
        """Return the same as `resolve`, because webhooks use no proxy."""
        return self.resolve(host, port)


def _get_adapter(settings: WebhookSettings, ssrf_filter: AddressPolicy) -> PinnedAdapter:
    return _shared_adapter(settings, cast("Hashable", ssrf_filter))


@lru_cache(maxsize=4)
def _shared_adapter(settings: WebhookSettings, ssrf_filter: Any) -> PinnedAdapter:
    """Return the adapter that the process shares, so that TLS roots are read only once."""
    fetch_settings = FetchSettings(
        deadline_s=settings.timeout_s,
        connect_timeout_s=settings.timeout_s,
        read_timeout_s=settings.timeout_s,
        max_header_bytes=MAX_HEADER_BYTES,
    )
    webhook_filter = AllowedHosts(ssrf_filter, settings.allowed_hosts, settings.timeout_s)
    return PinnedAdapter(fetch_settings, webhook_filter, needs_contact=False)
