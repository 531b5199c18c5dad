"""Detect requests that the fetcher cannot send as they are. Pure."""

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
    "aragog sends through the egress routes in its settings: write the name of one of "
    "egress.ways into request.meta['proxy'], or make an entry there with this proxy"
)
_ENVIRONMENT = (
    "aragog ignores the proxy in the environment (http_proxy, https_proxy): set fetch.proxy, "
    "or set HTTPPROXY_ENABLED=False to send requests without a proxy"
)


def why_unsupported(request: Request, ways: NamedWays) -> str | None:
    """
    Return what is not supported in a request, as a message, or None if it can be sent.

    Args:
        request: Scrapy's request.
        ways: the egress routes that a request may name.
    """
    if request.method not in METHODS or (request.body and request.method != "POST"):
        return f"aragog sends GET, HEAD, and POST with a body, not {request.method} with this body"
    proxy = request.meta.get("proxy")
    if not proxy:
        return None
    # Sending it from another address than the spider chose may reveal this machine's address.
    if request.meta.get(FROM_ENVIRONMENT):
        return None if ways.has_usual_proxy else _ENVIRONMENT
    return None if ways.named(proxy) is not None else _META


class NamedWays:
    """
    The egress routes that `request.meta["proxy"]` may name. Pure.

    Args:
        egress: the ways, by name, or by a proxy address that only one of them has.
        own_proxy: `fetch.proxy`; empty if not set.
    """

    def __init__(self, egress: EgressSettings, own_proxy: str) -> None:
        self.has_usual_proxy: bool = bool(own_proxy)
        addresses = [(proxy_address(w.proxy), n) for n, w in egress.ways.items() if w.proxy]
        counts = Counter(address for address, _ in addresses)
        self._by_address = {address: name for address, name in addresses if counts[address] == 1}
        self._names = {*egress.ways, DIRECT}
        if own_proxy:
            self._names.add(PROXY)
            self._by_address[proxy_address(own_proxy)] = PROXY

    def named(self, proxy: str) -> str | None:
        """Return the egress route that a request names (by name or proxy address), or None."""
        return proxy if proxy in self._names else self._by_address.get(proxy_address(proxy))

    def of(self, request: Request) -> str:
        """Return the egress route for a supported request; empty if the egress rules decide."""
        proxy = request.meta.get("proxy")
        if not proxy or request.meta.get(FROM_ENVIRONMENT):
            return ""
        return self.named(proxy) or ""


def proxy_address(proxy: str) -> str:
    """Return host and port of a proxy's URL, without user and password."""
    return urlsplit(proxy if "://" in proxy else f"//{proxy}").netloc.rpartition("@")[2].lower()
