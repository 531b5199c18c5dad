"""`ADDONS`: enables all components with one line in a project's settings."""

from __future__ import annotations

import asyncio
import logging
from typing import Self

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings

from aragog.addons.scrapy.crawl import spider_crawl
from aragog.addons.scrapy.prerequisites import check_crawl, check_fetching
from aragog.addons.scrapy.spider_arguments import record_arguments
from aragog.addons.scrapy.unused_settings import VALUES_ORDER, class_path, log_unused
from aragog.errors import CONFIG

log = logging.getLogger(__name__)
HANDLER = "aragog.addons.scrapy.download_handler.PoliteDownloadHandler"
SCHEDULER = "aragog.addons.scrapy.scheduler.SpiderScheduler"
_PRIORITY = "addon"
_ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"
_AUTOTHROTTLE = "scrapy.extensions.throttle.AutoThrottle"
_UNUSED_VALUES_MIDDLEWARE = "aragog.addons.scrapy.unused_settings.UnusedValues"


class AragogAddon:
    """
    Sets the scheduler, the dupefilter and the download handlers.

    Commands that run no crawl (`scrapy shell`, `parse`, `fetch`) only get the download handlers.

    A project's own settings take precedence. The download handler obeys robots.txt, even for
    redirects and images, so Scrapy's own middleware for robots.txt is turned off and does not
    request it again. If a project has another handler, such as a browser's, that middleware stays
    on. AutoThrottle's delays would add to the wait for a slot (a domain's turn for a request), so
    it is turned off too. Settings and request values without an effect are logged.
    """

    def __init__(self, crawler: Crawler | None = None) -> None:
        self._crawler = crawler
        self._runs_crawl = crawler is None or not is_one_off(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Called by Scrapy."""
        return cls(crawler)

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:  # noqa: ARG003
        """Called by Scrapy before it creates crawlers and spiders."""
        record_arguments()

    def update_settings(self, settings: BaseSettings) -> None:
        """
        Called by Scrapy before the crawler is built.

        Raises:
            ConfigError: the spider cannot be opened; see `aragog.addons.scrapy.prerequisites`.
        """
        if self._runs_crawl:
            filter_class = "aragog.addons.scrapy.dupefilter.SharedDupeFilter"
            settings.set("SCHEDULER", SCHEDULER, _PRIORITY)
            settings.set("DUPEFILTER_CLASS", filter_class, _PRIORITY)
        handlers = settings["DOWNLOAD_HANDLERS"]
        handlers.update({"http": HANDLER, "https": HANDLER}, _PRIORITY)
        if all(class_path(handlers[scheme]) == HANDLER for scheme in ("http", "https")):
            settings["DOWNLOADER_MIDDLEWARES"].set(_ROBOTS, None, _PRIORITY)
        else:
            settings.set("ROBOTSTXT_OBEY", value=True, priority=_PRIORITY)
        settings["DOWNLOADER_MIDDLEWARES"].set(_UNUSED_VALUES_MIDDLEWARE, VALUES_ORDER, _PRIORITY)
        settings["EXTENSIONS"].set(_AUTOTHROTTLE, None, _PRIORITY)
        log_unused(settings)
        # Requests that reach the downloader already have a slot. The downloader's own slots would
        # add delays.
        settings.set("DOWNLOAD_DELAY", 0, _PRIORITY)
        concurrency = settings.getint("CONCURRENT_REQUESTS")
        settings.set("CONCURRENT_REQUESTS_PER_DOMAIN", concurrency, _PRIORITY)
        if self._crawler is not None:
            self._check(self._crawler, settings)

    def _check(self, crawler: Crawler, settings: BaseSettings) -> None:
        try:
            crawl = spider_crawl(crawler)
            check_fetching(settings, crawl)
            if class_path(settings["SCHEDULER"]) == SCHEDULER:
                check_crawl(crawler, crawl)
        except CONFIG as error:
            _report_unhandled(error)
            raise


def _report_unhandled(error: Exception) -> None:
    """
    Log the error in one line if Scrapy starts the crawl in an asyncio task.

    Nothing awaits that task, so asyncio would print a traceback. If a program awaits the crawl in
    its own task and catches the error, nothing is logged.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop is running, so the caller receives the error
        return

    def report(ended: asyncio.Task[object]) -> None:
        # Reading the exception also marks it as retrieved in asyncio.
        if not ended.cancelled() and ended.exception() is error:
            log.critical("%s", error)

    if task is not None:
        task.add_done_callback(report)


_COMMANDS = "scrapy.commands."
"""Where Scrapy's commands are. `shell`, `parse`, `fetch`, `view` and `check` run no crawl."""


def is_one_off(crawler: Crawler) -> bool:
    """
    True if the crawler belongs to a command that runs no crawl.

    Such commands need their own responses in their own process, and must not take a crawl's
    requests.
    """
    # The shell creates its spider later, with its first request. The other commands replace the
    # spider class's `start`.
    start = getattr(crawler.spidercls, "start", None)
    return crawler.spider is None or getattr(start, "__module__", "").startswith(_COMMANDS)
