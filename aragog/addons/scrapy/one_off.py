"""
Scrapy's commands that run no crawl: `shell`, `parse`, `fetch`, `view` and `check`.

They need the responses of their own requests, in their own process, and must not take over the
requests of a crawl that waits or runs.
"""

from __future__ import annotations

from scrapy.crawler import Crawler

_COMMANDS = "scrapy.commands."


def is_one_off(crawler: Crawler) -> bool:
    """Whether the crawler, whose settings are applied now, belongs to such a command."""
    # The shell creates its spider later, with its first request. The others replace `start` of the
    # spider's class by a function of theirs.
    start = getattr(crawler.spidercls, "start", None)
    return crawler.spider is None or getattr(start, "__module__", "").startswith(_COMMANDS)
