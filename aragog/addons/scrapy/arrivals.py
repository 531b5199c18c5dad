"""Checks requests from other processes that Scrapy's own downloader would send unchecked."""

from __future__ import annotations

from collections.abc import Callable

from scrapy import Request
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from aragog.addons.scrapy.unsupported import FROM_ENVIRONMENT, proxy_address
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.runtime.secret import reveal
from aragog.settings import FetchSettings

_OURS = "PoliteDownloadHandler"
"""Given by name, because its module imports the scheduler, which imports this module."""

Vet = Callable[[Request], str | None]
"""Returns why a request must not be sent, or None if it may."""


def vet_arrivals(settings: BaseSettings, fetch: FetchSettings) -> Vet:
    """
    A function that checks incoming requests.

    With aragog's download handler it allows all, since that handler filters URLs and refuses
    proxies.
    """
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    chosen = [handlers.get(scheme) for scheme in ("http", "https")]
    if all(each and load_object(each).__name__ == _OURS for each in chosen):
        return lambda _: None
    ssrf = SsrfFilter(fetch)

    def vet(request: Request) -> str | None:
        if request.meta.pop(FROM_ENVIRONMENT, None):
            request.meta.pop("proxy", None)  # proxies from the environment are set per process
        proxy = request.meta.get("proxy")
        if proxy and (
            not fetch.proxy or proxy_address(proxy) != proxy_address(reveal(fetch.proxy))
        ):
            return "another process names its proxy in request.meta['proxy']: set fetch.proxy"
        return ssrf.vet_url(request.url)

    return vet
