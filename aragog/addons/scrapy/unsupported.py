"""Requests that the fetcher cannot send as they are. Pure."""

from __future__ import annotations

from urllib.parse import urlsplit

from scrapy import Request

METHODS = ("GET", "HEAD", "POST")
FROM_ENVIRONMENT = "_scheme_proxy"
"""`HttpProxyMiddleware` marks requests so whose proxy is that of the environment."""

_META = (
    "aragog does not use request.meta['proxy']: set fetch.proxy, which every request uses, and "
    "remove it from the request"
)
_ENVIRONMENT = (
    "aragog does not use the proxy of the environment (http_proxy, https_proxy): set fetch.proxy, "
    "or HTTPPROXY_ENABLED=False to send requests without a proxy"
)


def why_unsupported(request: Request, own_proxy: str) -> str | None:
    """
    Return what of a request is not supported, for messages; None: it can be sent.

    Args:
        request: Scrapy's.
        own_proxy: `fetch.proxy`, through which every request goes; "": none.
    """
    if request.method not in METHODS or (request.body and request.method != "POST"):
        return f"aragog sends GET, HEAD and POST, not {request.method} with this body"
    proxy = request.meta.get("proxy")
    if not proxy:
        return None
    # To send it from another address than the spider chose may expose this machine.
    if request.meta.get(FROM_ENVIRONMENT):
        return None if own_proxy else _ENVIRONMENT
    return None if is_own_proxy(proxy, own_proxy) else _META


def is_own_proxy(proxy: str, own_proxy: str) -> bool:
    """Whether a request names `fetch.proxy` itself."""
    return bool(own_proxy) and _address(proxy) == _address(own_proxy)


def _address(proxy: str) -> str:
    """Host and port of a proxy's URL, without user and password."""
    return urlsplit(proxy if "://" in proxy else f"//{proxy}").netloc.rpartition("@")[2].lower()
