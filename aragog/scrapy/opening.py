"""Join a crawl when its spider opens, or refuse to, with what to do about it."""

from __future__ import annotations

import logging
import re

from scrapy.crawler import Crawler

from aragog.errors import ConfigError
from aragog.scrapy.crawl import CRAWL, SpiderCrawl
from aragog.scrapy.crawl_state import OtherSpider
from aragog.scrapy.spider_arguments import arguments_of, description_of, text_of

log = logging.getLogger(__name__)


def join_crawl(crawler: Crawler, crawl: SpiderCrawl, waiting: int) -> None:
    """
    Join the crawl of a spider.

    Args:
        crawler: of the spider.
        crawl: what its components share.
        waiting: how many requests of the crawl wait or run.

    Raises:
        ConfigError: the crawl belongs to another spider, or to one with other arguments.
        BrokerUnavailable: Redis does not answer.
    """
    try:
        processes = crawl.state.join(
            description_of(crawler),
            begins=not waiting and not crawl.is_named,
            waits=bool(waiting),
        )
    except OtherSpider as error:
        raise ConfigError(_refusal(crawler, crawl, error.description, waiting)) from None
    log.info("crawl %s: %d processes, %d requests", crawl.name, processes, waiting)


def _refusal(crawler: Crawler, crawl: SpiderCrawl, other: str, waiting: int) -> str:
    why = f"{waiting} of its requests wait or run" if waiting else "another process runs it"
    return (
        f"crawl {crawl.name} belongs to {text_of(other)}, and {why}; this process has "
        f"{text_of(description_of(crawler))}: give it a crawl of its own, "
        f"-s {CRAWL}={_other_name(crawler, crawl)}"
    )


def _other_name(crawler: Crawler, crawl: SpiderCrawl) -> str:
    values = [re.sub(r"[^\w.]+", "-", str(value)) for value in arguments_of(crawler).values()]
    return "-".join([crawl.name, *values] if values else [crawl.name, "2"])[:60]
