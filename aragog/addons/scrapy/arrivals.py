"""
Check requests from other processes, because Scrapy's own downloader would send them
unchecked.
"""

from __future__ import annotations

from collections.abc import Callable

from scrapy import Request
from scrapy.settings import BaseSettings
from scrapy.utils.misc import load_object

from aragog.addons.scrapy.unsupported import FROM_ENVIRONMENT_KEY, proxy_address
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.runtime.secret import reveal
from aragog.settings import FetchSettings

_POLITE_HANDLER = "PoliteDownloadHandler"
"""The handler's class name. It is compared by name, because its module imports this one."""

RequestCheck = Callable[[Request], str | None]
"""Returns why a request must not be sent, or None if it may."""


def incoming_check(settings: BaseSettings, fetch: FetchSettings) -> RequestCheck:
    """
    Return a function that checks incoming requests.

    If aragog's download handler is used, the function accepts every request, because the handler
    checks URLs and proxies itself.
    """
    handlers = settings.getwithbase("DOWNLOAD_HANDLERS")
    chosen_handlers = [handlers.get(scheme) for scheme in ("http", "https")]
    if all(
        handler and load_object(handler).__name__ == _POLITE_HANDLER for handler in chosen_handlers
    ):
        return lambda _: None
    ssrf = SsrfFilter(fetch)

    def check(request: Request) -> str | None:
        if request.meta.pop(FROM_ENVIRONMENT_KEY, None):
            request.meta.pop("proxy", None)  # proxies from the environment are set per process
        proxy = request.meta.get("proxy")
        if proxy and (
            not fetch.proxy or proxy_address(proxy) != proxy_address(reveal(fetch.proxy))
        ):
            return "another process set request.meta['proxy']; set fetch.proxy instead"
        return ssrf.vet_url(request.url)

    return check
