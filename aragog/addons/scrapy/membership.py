"""Join a crawl when its spider opens, and leave it when the spider closes."""

from __future__ import annotations

import logging
import re

from scrapy.crawler import Crawler

from aragog.addons.scrapy.crawl import CRAWL, RESTART, SpiderCrawl
from aragog.addons.scrapy.crawl_state import CrawlRunning, OtherSpider
from aragog.addons.scrapy.request_queue import RequestQueue
from aragog.addons.scrapy.spider_arguments import (
    comparable_arguments,
    readable_description,
    spider_description,
)
from aragog.errors import BrokerUnavailable, ConfigError

log = logging.getLogger(__name__)


def join_crawl(crawler: Crawler, crawl: SpiderCrawl, queue: RequestQueue) -> None:
    """
    Join a spider's crawl, or restart it with `ARAGOG_CRAWL_RESTART`.

    Args:
        crawler: the spider's crawler.
        crawl: the state shared by its components.
        queue: the crawl's queue.

    Raises:
        ConfigError: the crawl has another spider or other arguments, or it cannot be restarted
            because other processes run it.
        BrokerUnavailable: Redis does not respond.
    """
    waiting = queue.count_unfinished()
    processes = _join(crawler, crawl, waiting)
    if _restarts(crawler):
        # Keep this order: if the process is killed in between, the seen requests remain and are
        # reported.
        deleted = queue.abandon()
        crawl.state.forget()
        log.info("crawl %s restarts; %d requests were deleted", crawl.name, deleted)
    else:
        _report(crawl, processes, waiting)


def check_owner(crawler: Crawler, crawl: SpiderCrawl, queue: RequestQueue) -> None:
    """Raise the error that `join_crawl` would raise now, without joining."""
    _join(crawler, crawl, queue.count_unfinished(), check_only=True)


def _join(crawler: Crawler, crawl: SpiderCrawl, waiting: int, *, check_only: bool = False) -> int:
    restarts = _restarts(crawler)
    try:
        return crawl.state.join(
            spider_description(crawler),
            is_new_crawl=not waiting and not crawl.is_named,
            has_requests=bool(waiting) and not restarts,
            check_only=check_only,
            must_be_alone=restarts,
        )
    except OtherSpider as error:
        raise ConfigError(_owner_conflict(crawler, crawl, error.description, waiting)) from None
    except CrawlRunning as error:
        raise ConfigError(
            f"{RESTART}: crawl {crawl.name} runs in {error.processes} other processes; stop them "
            "first (a killed process counts for a minute), or start without this setting"
        ) from None


def _restarts(crawler: Crawler) -> bool:
    return crawler.settings.getbool(RESTART)


def _report(crawl: SpiderCrawl, processes: int, waiting: int) -> None:
    if waiting and processes == 1:
        log.info("resuming crawl %s: %d requests are queued", crawl.name, waiting)
    elif not waiting and (seen_count := crawl.state.seen_count()):
        log.warning(
            "crawl %s has run before: its %d known requests are done and are not "
            "sent again. Choose another name with -s %s=…, or restart it with -s %s=1",
            crawl.name, seen_count, CRAWL, RESTART,
        )  # fmt: skip
    else:
        log.info("crawl %s: %d processes, %d requests", crawl.name, processes, waiting)


def leave_crawl(crawl: SpiderCrawl, queue: RequestQueue) -> None:
    """
    Leave the crawl, and report the requests that no process could run.

    When the last process leaves, a crawl without a name forgets its seen requests. It keeps them if
    requests are queued, running or FAILED.
    """
    try:
        unfinished, failed = queue.count_unfinished(), queue.count_failed()
        crawl.state.leave(is_over=not (crawl.is_named or unfinished or failed))
    except BrokerUnavailable as error:
        log.warning("cannot leave the crawl: %s", error)
        return
    if failed:
        log.warning(
            "%(failed)d requests of crawl %(crawl)s are FAILED and kept for a week: `aragog queue "
            "jobs %(queue)s` shows why, `aragog queue retry %(queue)s --all` and another "
            "`scrapy crawl` run them again",
            {"failed": failed, "crawl": crawl.name, "queue": queue.name},
        )


def _owner_conflict(
    crawler: Crawler, crawl: SpiderCrawl, owner_description: str, waiting: int
) -> str:
    reason = (
        f"{waiting} of its requests are unfinished" if waiting else "another process is running it"
    )
    return (
        f"crawl {crawl.name} belongs to {readable_description(owner_description)}, and {reason}; "
        f"this process has {readable_description(spider_description(crawler))}; "
        "use a separate crawl, "
        f"-s {CRAWL}={_other_name(crawler, crawl)}"
    )


def _other_name(crawler: Crawler, crawl: SpiderCrawl) -> str:
    values = [
        re.sub(r"[^\w.]+", "-", str(value)) for value in comparable_arguments(crawler).values()
    ]
    return "-".join([crawl.name, *values] if values else [crawl.name, "2"])[:60]
