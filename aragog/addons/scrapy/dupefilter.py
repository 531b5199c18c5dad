"""A filter of duplicate requests for all processes of a crawl."""

from __future__ import annotations

import logging
from typing import Self

from scrapy import Request, Spider
from scrapy.crawler import Crawler
from scrapy.dupefilters import BaseDupeFilter
from scrapy.utils.request import RequestFingerprinterProtocol

from aragog.addons.scrapy.crawl import spider_crawl
from aragog.addons.scrapy.crawl_state import CrawlState

log = logging.getLogger(__name__)


class SharedDupeFilter(BaseDupeFilter):
    """
    `DUPEFILTER_CLASS`: the fingerprints of a crawl, in Redis.

    `SpiderScheduler` calls `has_seen` before it enqueues a request and `remember` afterwards.
    `request_seen` does both at once. A process that is killed right after that loses the request:
    when the page with the link is parsed again, the request is a duplicate.
    """

    def __init__(self, state: CrawlState, fingerprinter: RequestFingerprinterProtocol) -> None:
        self._state = state
        self._fingerprinter = fingerprinter

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Connect according to aragog's settings."""
        assert crawler.request_fingerprinter is not None  # noqa: S101 - set before the components
        return cls(spider_crawl(crawler).state, crawler.request_fingerprinter)

    def fingerprint(self, request: Request) -> bytes:
        """Compute the fingerprint with `REQUEST_FINGERPRINTER_CLASS`."""
        return self._fingerprinter.fingerprint(request)

    def has_seen(self, request: Request) -> bool:
        """True if any process of the crawl has seen the request."""
        return self._state.has_seen(self.fingerprint(request))

    def remember(self, request: Request) -> bool:
        """Remember the request; returns True if it is new."""
        return self._state.remember([self.fingerprint(request)])

    def request_seen(self, request: Request) -> bool:
        """Return `has_seen` and remember the request, for Scrapy's own scheduler."""
        return not self.remember(request)

    def log(self, request: Request, spider: Spider) -> None:
        """Log and count a duplicate."""
        log.debug("filtered duplicate request: %s", request, extra={"spider": spider})
        spider.crawler.stats.inc_value("dupefilter/filtered")
