"""
Check the event loop, Redis, and the owner of the crawl before a spider opens.

If a scheduler failed to open, Scrapy would also log errors from half-open components, so the add-on
checks before anything is open.
"""

from __future__ import annotations

from scrapy.crawler import Crawler
from scrapy.settings import BaseSettings
from scrapy.utils.reactor import is_asyncio_reactor_installed, is_reactor_installed

from aragog.addons.scrapy.crawl import SpiderCrawl
from aragog.addons.scrapy.membership import check_owner
from aragog.addons.scrapy.request_queue import RequestQueue
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.errors import BrokerUnavailable, ConfigError
from aragog.settings import Settings
from aragog.settings.in_use import running_pid
from pinlater.redis.errors import redis_errors

_ASYNCIO_REACTOR = "twisted.internet.asyncioreactor.AsyncioSelectorReactor"


def check_fetching(settings: BaseSettings, crawl: SpiderCrawl) -> None:
    """
    Check the requirements of the download handler. Takes one round trip to Redis.

    Raises:
        ConfigError: Twisted's reactor is not the asyncio reactor, or Redis does not respond.
    """
    if not _has_asyncio(settings):
        raise ConfigError(
            f"TWISTED_REACTOR: aragog's components need {_ASYNCIO_REACTOR}, which is Scrapy's "
            f"default, not {settings['TWISTED_REACTOR'] or 'the default of Twisted'}; "
            "remove the setting"
        )
    try:
        with redis_errors("redis.url"):
            SharedState.from_settings(crawl.settings).client.ping()
    except BrokerUnavailable as error:
        raise _unavailable(error, crawl.settings) from None


def check_crawl(crawler: Crawler, crawl: SpiderCrawl) -> None:
    """
    Check the scheduler's other requirements. Takes one round trip per broker server, plus one.

    Raises:
        ConfigError: the broker is not pinlater or does not respond, or the crawl belongs to another
            spider or has other arguments.
    """
    try:
        queue = RequestQueue(crawl.settings, crawl.name)
        try:
            check_owner(crawler, crawl, queue)
        finally:
            queue.close()
    except BrokerUnavailable as error:
        raise _unavailable(error, crawl.settings) from None


def _has_asyncio(settings: BaseSettings) -> bool:
    if not settings.getbool("TWISTED_REACTOR_ENABLED", True):
        return True
    if is_reactor_installed():
        return bool(is_asyncio_reactor_installed())
    return bool(settings["TWISTED_REACTOR"] == _ASYNCIO_REACTOR)


def _unavailable(error: BrokerUnavailable, settings: Settings) -> ConfigError:
    return ConfigError(f"{str(error).rstrip('.')}: {_remedy(settings)}")


def _remedy(settings: Settings) -> str:
    data_dir = settings.data_dir.absolute()
    if not settings.private_redis:
        return f"check redis.url ({settings.redis.url}) and broker.url ({settings.broker.url})"
    if running_pid(data_dir / "run") is not None:
        return f"aragog is running in {data_dir} and restarts failed servers; try again"
    return (
        f"aragog is not running in {data_dir}; start it with `aragog up -d`, or set redis.url and "
        "broker.url to those of your system"
    )
