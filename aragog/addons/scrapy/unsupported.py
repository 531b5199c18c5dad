"""Detect requests that the fetcher cannot send as they are."""

from __future__ import annotations

from collections import Counter
from urllib.parse import urlsplit

from scrapy import Request

from aragog.crawl.egress.rules import DIRECT, PROXY
from aragog.settings import EgressSettings

SUPPORTED_METHODS = ("GET", "HEAD", "POST")
FROM_ENVIRONMENT_KEY = "_scheme_proxy"
"""`HttpProxyMiddleware` sets this key in `meta` if a proxy comes from the environment."""

_UNKNOWN_PROXY_MESSAGE = (
    "aragog sends requests only through the egress routes in its settings: set "
    "request.meta['proxy'] to a name in egress.ways, or add an entry with this proxy there"
)
_ENVIRONMENT_PROXY_MESSAGE = (
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
    if request.method not in SUPPORTED_METHODS or (request.body and request.method != "POST"):
        return f"aragog sends GET and HEAD without a body, and POST; not {request.method}"
    proxy = request.meta.get("proxy")
    if not proxy:
        return None
    # Any other proxy than the chosen one could reveal this machine's IP address.
    if request.meta.get(FROM_ENVIRONMENT_KEY):
        return None if routes.has_default_proxy else _ENVIRONMENT_PROXY_MESSAGE
    return None if routes.route(proxy) is not None else _UNKNOWN_PROXY_MESSAGE


class NamedRoutes:
    """
    The egress routes that `request.meta["proxy"]` may name.

    Args:
        egress: the routes. A request gives a route's name, or a proxy address that only one route
            has.
        default_proxy: `fetch.proxy`; empty if not set.
    """

    def __init__(self, egress: EgressSettings, default_proxy: str) -> None:
        self.has_default_proxy: bool = bool(default_proxy)
        addresses = [(proxy_address(w.proxy), n) for n, w in egress.ways.items() if w.proxy]
        counts = Counter(address for address, _ in addresses)
        self._by_address = {address: name for address, name in addresses if counts[address] == 1}
        self._names = {*egress.ways, DIRECT}
        if default_proxy:
            self._names.add(PROXY)
            self._by_address[proxy_address(default_proxy)] = PROXY

    def route(self, proxy: str) -> str | None:
        """Return the route with this name or proxy address, or None."""
        return proxy if proxy in self._names else self._by_address.get(proxy_address(proxy))

    def route_for(self, request: Request) -> str:
        """Return the named egress route; empty if the egress rules choose one."""
        proxy = request.meta.get("proxy")
        if not proxy or request.meta.get(FROM_ENVIRONMENT_KEY):
            return ""
        return self.route(proxy) or ""


def proxy_address(proxy: str) -> str:
    """Return the host and port of a proxy's URL, without user and password."""
    return urlsplit(proxy if "://" in proxy else f"//{proxy}").netloc.rpartition("@")[2].lower()
