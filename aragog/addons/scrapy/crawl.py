"""The parts that the components of one crawler share: settings, the state, the fetcher."""

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
"""The setting of Scrapy with the crawl's name."""
RESTART = "ARAGOG_CRAWL_RESTART"
"""The setting of Scrapy that begins the crawl again: what was seen and what waits is forgotten."""


class SpiderCrawl:
    """
    The shared parts of one crawler; each is connected when it is used first.

    Args:
        crawler: Scrapy's.

    Raises:
        ConfigError: aragog's settings (`aragog.toml`, `ARAGOG_…`) are invalid.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.settings = process_settings()
        given = crawler.settings.get(CRAWL)
        self.is_named = bool(given)
        """Its state is kept when it is over, so that a later process does not begin it again."""
        self.name = str(given or crawler.spidercls.name)
        self.slots: MutableMapping[Request, Slot] = WeakKeyDictionary()
        """The slots of requests on their way from the scheduler to the download handler."""

    @cached_property
    def state(self) -> CrawlState:
        """The state that the processes of the crawl share."""
        return CrawlState(
            SharedState.of(self.settings).client,
            prefix=self.settings.redis.prefix,
            crawl=self.name,
            member=f"{socket.gethostname()}:{os.getpid()}:{uuid.uuid4().hex[:6]}",
        )

    @cached_property
    def fetches(self) -> SingleFetches:
        """The polite fetcher."""
        return single_fetches(self.settings)


_crawls: MutableMapping[Crawler, SpiderCrawl] = WeakKeyDictionary()


def crawl_of(crawler: Crawler) -> SpiderCrawl:
    """The parts of this crawler."""
    if crawler not in _crawls:
        _crawls[crawler] = SpiderCrawl(crawler)
    return _crawls[crawler]
