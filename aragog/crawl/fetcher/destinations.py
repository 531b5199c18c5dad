"""Decides where a request connects to: an allowed address of its host, or its route's proxy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import assert_never

from aragog.crawl.egress.egress import SelectedRoute
from aragog.crawl.egress.routes import ProxyServer
from aragog.crawl.fetcher.faults import RouteFailed, TargetBlocked, TransportError
from aragog.crawl.fetcher.ssrf import Address, AddressPolicy, Denied, Unresolved, Vetted
from aragog.errors import ConfigError
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import UnreachableKind


def get_proxy(route: SelectedRoute) -> ProxyServer | None:
    """
    Return an egress route's proxy; None for a direct route.

    Raises:
        RouteFailed: the proxy's credentials are no longer available.
    """
    try:
        return route.server()
    except ConfigError as error:
        raise RouteFailed(str(error)) from error


def vetted_addresses(
    ssrf_filter: AddressPolicy, host: str, port: int, *, at_proxy: bool = False
) -> Sequence[Address]:
    """
    Return the allowed addresses of `host`. With `at_proxy`, return the name, for the proxy to
    resolve.

    Raises:
        TargetBlocked: the port, the name or one of the addresses is denied.
        TransportError: the name cannot be resolved.
    """
    resolve = ssrf_filter.resolve_at_proxy if at_proxy else ssrf_filter.resolve
    resolution = resolve(host, port)
    match resolution:
        case Vetted(addresses=addresses):
            return addresses
        case Denied(reason=reason):
            raise TargetBlocked(RefusalCause.ADDRESS, reason)
        case Unresolved(reason=reason):
            raise TransportError(UnreachableKind.DNS, reason)
        case _:
            assert_never(resolution)
