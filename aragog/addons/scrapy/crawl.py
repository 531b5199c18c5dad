"""State that one crawler's components share."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import MutableMapping
from functools import cached_property
from weakref import WeakKeyDictionary

from scrapy import Request
from scrapy.crawler import Crawler

from aragog.addons.scrapy.crawl_state import CrawlState
from aragog.bootstrap.single_fetches import SingleFetches, single_fetches
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.politeness.slots import Slot
from aragog.settings.in_use import process_settings

CRAWL = "ARAGOG_CRAWL"
"""The Scrapy setting with the crawl's name."""
RESTART = "ARAGOG_CRAWL_RESTART"
"""The Scrapy setting that restarts the crawl without its seen and queued requests."""


class SpiderCrawl:
    """
    State shared by one crawler's components. It connects on first use.

    Args:
        crawler: Scrapy's crawler.

    Raises:
        ConfigError: aragog's settings (`aragog.toml`, `ARAGOG_…`) are invalid.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.settings = process_settings()
        name = crawler.settings.get(CRAWL)
        self.is_named = bool(name)
        """True if the crawl has a name. Its state is then kept when it ends."""
        self.name = str(name or crawler.spidercls.name)
        self.slots: MutableMapping[Request, Slot] = WeakKeyDictionary()
        """Slots of requests on their way from the scheduler to the download handler."""

    @cached_property
    def state(self) -> CrawlState:
        """The state shared by the crawl's processes."""
        return CrawlState(
            SharedState.from_settings(self.settings).client,
            prefix=self.settings.redis.prefix,
            crawl=self.name,
            member=f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}",
        )

    @cached_property
    def fetches(self) -> SingleFetches:
        """The polite fetcher."""
        return single_fetches(self.settings)


_crawls: MutableMapping[Crawler, SpiderCrawl] = WeakKeyDictionary()


def spider_crawl(crawler: Crawler) -> SpiderCrawl:
    """Return the shared state of this crawler."""
    if crawler not in _crawls:
        _crawls[crawler] = SpiderCrawl(crawler)
    return _crawls[crawler]
