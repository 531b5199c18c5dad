"""Requests that another process has sent, and that Scrapy's own downloader would send unchecked."""

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
"""By its name: its module imports the scheduler, which imports this one."""

Vet = Callable[[Request], str | None]
"""Why a request must not be sent; None: it may."""


def vet_arrivals(settings: BaseSettings, fetch: FetchSettings) -> Vet:
    """
    What decides about requests that arrive.

    With aragog's download handler nothing: it has the filter of all URLs, and refuses proxies.
    """
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    chosen = [handlers.get(scheme) for scheme in ("http", "https")]
    if all(each and load_object(each).__name__ == _OURS for each in chosen):
        return lambda _: None
    ssrf = SsrfFilter(fetch)

    def vet(request: Request) -> str | None:
        if request.meta.pop(FROM_ENVIRONMENT, None):
            request.meta.pop("proxy", None)  # this process has an environment of its own
        proxy = request.meta.get("proxy")
        if proxy and (
            not fetch.proxy or proxy_address(proxy) != proxy_address(reveal(fetch.proxy))
        ):
            return "another process names its proxy in request.meta['proxy']: set fetch.proxy"
        return ssrf.vet_url(request.url)

    return vet
