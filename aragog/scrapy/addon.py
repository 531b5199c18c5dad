"""`ADDONS`: one line in a project's settings that puts all components in place."""

from __future__ import annotations

from scrapy.settings import BaseSettings

from aragog.scrapy.spider_arguments import record_arguments

_PRIORITY = "addon"
_ROBOTS = "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware"


class AragogAddon:
    """
    Sets the scheduler, the dupefilter and the download handlers.

    Whatever a project sets by itself counts more. robots.txt is obeyed by the download handler,
    for redirects and images as well, so Scrapy's own middleware does not request it once more.
    """

    @classmethod
    def update_pre_crawler_settings(cls, settings: BaseSettings) -> None:  # noqa: ARG003
        """Called by Scrapy before crawlers, and thus spiders, are created."""
        record_arguments()

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy before the crawler is built."""
        handler = "aragog.scrapy.download_handler.PoliteDownloadHandler"
        settings.set("SCHEDULER", "aragog.scrapy.scheduler.SpiderScheduler", _PRIORITY)
        settings.set("DUPEFILTER_CLASS", "aragog.scrapy.dupefilter.SharedDupeFilter", _PRIORITY)
        settings["DOWNLOAD_HANDLERS"].update({"http": handler, "https": handler}, _PRIORITY)
        settings["DOWNLOADER_MIDDLEWARES"].set(_ROBOTS, None, _PRIORITY)
        # Requests come to the downloader when they have a slot: its own slots would only delay.
        settings.set("DOWNLOAD_DELAY", 0, _PRIORITY)
        most = settings.getint("CONCURRENT_REQUESTS")
        settings.set("CONCURRENT_REQUESTS_PER_DOMAIN", most, _PRIORITY)
