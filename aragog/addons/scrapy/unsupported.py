"""Detect requests that the fetcher cannot send as they are."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

from scrapy import Request

from aragog.crawl.egress.rules import DIRECT, PROXY
from aragog.settings import EgressSettings

METHODS = ("GET", "HEAD", "POST")
FROM_ENVIRONMENT = "_scheme_proxy"
"""`HttpProxyMiddleware`'s mark on requests whose proxy comes from the environment."""

_META = (
    "aragog sends through the egress routes in its settings: set request.meta['proxy'] to a "
    "name in egress.ways, or add an entry with this proxy there"
)
_ENVIRONMENT = (
    "aragog ignores the proxy in the environment (http_proxy, https_proxy): set fetch.proxy, "
    "or set HTTPPROXY_ENABLED=False to send requests without a proxy"
)


def unsupported_reason(request: Request, routes: NamedRoutes) -> str | None:
    """
    Return what the fetcher does not support in a request, or None if it can be sent.

    Args:
        request: Scrapy's request.
        routes: the egress routes that a request may name.
    """
    if request.method not in METHODS or (request.body and request.method != "POST"):
        return f"aragog sends GET, HEAD, and POST with a body, not {request.method} with this body"
    proxy = request.meta.get("proxy")
    if not proxy:
        return None
    # Any address but the chosen one could reveal this machine's.
    if request.meta.get(FROM_ENVIRONMENT):
        return None if routes.has_default_proxy else _ENVIRONMENT
    return None if routes.route(proxy) is not None else _META


class NamedRoutes:
    """
    The egress routes that `request.meta["proxy"]` may name.

    Args:
        egress: the routes. A request gives a route's name, or a proxy address that only one route
            has.
        own_proxy: `fetch.proxy`; empty if not set.
    """

    def __init__(self, egress: EgressSettings, own_proxy: str) -> None:
        self.has_default_proxy: bool = bool(own_proxy)
        addresses = [(proxy_address(w.proxy), n) for n, w in egress.ways.items() if w.proxy]
        counts = Counter(address for address, _ in addresses)
        self._by_address = {address: name for address, name in addresses if counts[address] == 1}
        self._names = {*egress.ways, DIRECT}
        if own_proxy:
            self._names.add(PROXY)
            self._by_address[proxy_address(own_proxy)] = PROXY

    def route(self, proxy: str) -> str | None:
        """Return the egress route that a request names, by its name or proxy address, or None."""
        return proxy if proxy in self._names else self._by_address.get(proxy_address(proxy))

    def route_for(self, request: Request) -> str:
        """Return the named egress route; empty if the egress rules choose one."""
        proxy = request.meta.get("proxy")
        if not proxy or request.meta.get(FROM_ENVIRONMENT):
            return ""
        return self.route(proxy) or ""


def proxy_address(proxy: str) -> str:
    """Return the host and port of a proxy's URL, without user and password."""
    return urlsplit(proxy if "://" in proxy else f"//{proxy}").netloc.rpartition("@")[2].lower()
