"""`HTTPCACHE_STORAGE`: serve pages that aragog's own crawl has fetched as responses to a spider."""

from __future__ import annotations

from typing import Any

import orjson
from scrapy import Request, Spider
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from scrapy.settings import BaseSettings

from aragog.addons.scrapy.crawl import spider_crawl
from aragog.addons.scrapy.responses import WIRE_HEADERS
from aragog.bootstrap.stores import url_store
from aragog.errors import InvalidUrl
from aragog.runtime.clock import Clock, SystemClock
from aragog.urlstore.records import Content
from aragog.urlstore.store import UrlStore
from urlspelling import normalize

# Cookies are stored without values; Scrapy would replace a session's cookies with them.
_OMITTED_HEADERS = WIRE_HEADERS | {"set-cookie"}


class StoredPages:
    """
    The content of the UrlStore as a read-only cache of responses.

    A page is found by any spelling of its URL. Request headers and cookies are ignored, and reads
    run in the event loop's thread.

    Args:
        settings: Scrapy's settings. Pages fetched more than `HTTPCACHE_EXPIRATION_SECS` ago are
            ignored; 0 means no limit.
    """

    _store: UrlStore

    def __init__(self, settings: BaseSettings, clock: Clock | None = None) -> None:
        self._max_age_s = settings.getint("HTTPCACHE_EXPIRATION_SECS")
        self._clock = clock or SystemClock()

    def open_spider(self, spider: Spider) -> None:
        """Open the store in aragog's settings."""
        self._store = url_store(spider_crawl(spider.crawler).settings)

    def close_spider(self, spider: Spider) -> None:  # noqa: ARG002 - Scrapy's interface
        """Close the store."""
        self._store.close()

    def retrieve_response(self, spider: Spider, request: Request) -> Response | None:  # noqa: ARG002
        """
        Return the stored page, or None if it is missing or too old, or if the request is not a GET.

        Raises:
            TransientError, CorruptContent: the page could not be read; Scrapy logs this and sends
                the request.
        """
        if request.method != "GET" or request.body:
            return None
        try:
            content = self._store.content(request.url)
        except InvalidUrl:
            return None
        if content is None:
            return None
        fetched_at_s = int(content.meta.get("fetched_at_ms") or 0) / 1000
        if 0 < self._max_age_s < self._clock.now_ms() / 1000 - fetched_at_s:
            return None
        request.meta["cache_timestamp"] = fetched_at_s
        return _response(request, content)

    def store_response(self, spider: Spider, request: Request, response: Response) -> None:
        """Store nothing: aragog's own crawl stores pages."""


def _response(request: Request, content: Content) -> Response:
    headers, url = _headers(content), content.meta.get("url") or content.url
    if normalize(url) == normalize(request.url):
        url = request.url
    response_class = responsetypes.from_args(headers=headers, url=url, body=content.body)
    return response_class(
        url=url,
        status=int(content.meta.get("status") or 200),
        headers=headers,
        body=content.body,
        flags=["truncated"] if content.facts.get("truncated") else [],
        request=request,
    )


def _headers(content: Content) -> Headers:
    """Return the headers. Content that was written without a fetch has only a Content-Type."""
    headers, meta = Headers(), content.meta
    pairs: Any = orjson.loads(meta.get("headers") or "[]")
    if not pairs and (content_type := meta.get("content_type")):
        pairs = [("Content-Type", content_type)]
    for name, value in pairs:
        if name.lower() not in _OMITTED_HEADERS:
            headers.appendlist(name, value.encode("latin-1", "replace"))
    return headers
