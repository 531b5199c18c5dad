"""
`ITEM_PIPELINES`: items as fields of the page of their URL in the UrlStore.

    {"url": "https://shop.example/lamp", "price": 89.9}   of a spider called shop, is stored as the
                                                          field shop.price of that page

Safe to run twice: the same item sets the same fields.
"""

from __future__ import annotations

import asyncio
import logging
import re
from typing import Any, Self

import orjson
from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from aragog.bootstrap.stores import url_store
from aragog.errors import InvalidField, InvalidUrl, TakenDown, TransientError
from aragog.scrapy import engine
from aragog.scrapy.crawl import crawl_of
from aragog.scrapy.scheduler import SpiderScheduler
from aragog.urlstore.store import UrlStore

log = logging.getLogger(__name__)
URL_FIELD = "ARAGOG_ITEM_URL"
"""The setting of Scrapy with the field of an item that has its URL; default `url`."""
PREFIX = "ARAGOG_ITEM_PREFIX"
"""The setting of Scrapy with the prefix of the fields; default: the name of the spider."""


class StoreItems:
    """
    Stores each item that has a URL. Items pass on unchanged.

    Args:
        crawler: Scrapy's.
        store: where the fields go.
        url_field: the field of an item that has its URL.
        prefix: the start of the names of the fields, without the dot.
    """

    def __init__(self, crawler: Crawler, store: UrlStore, *, url_field: str, prefix: str) -> None:
        self._crawler = crawler
        self._store = store
        self._url_field = url_field
        self._prefix = prefix

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the store that aragog's settings name."""
        settings = crawler.settings
        return cls(
            crawler,
            url_store(crawl_of(crawler).settings),
            url_field=settings.get(URL_FIELD, "url"),
            prefix=settings.get(PREFIX) or prefix_of(crawler.spidercls.name),
        )

    async def process_item(self, item: Any) -> Any:
        """
        Store the item and return it.

        Raises:
            DropItem: its URL or a value is not accepted, or the URL was taken down.
            TransientError: the store does not answer. The item's page is fetched and parsed again.
        """
        fields = dict(ItemAdapter(item))
        url = fields.pop(self._url_field, None)
        if not isinstance(url, str):
            self._count("aragog_items/without_url")
            return item
        values = {f"{self._prefix}.{name}": _json(value) for name, value in fields.items()}
        try:
            await asyncio.to_thread(self._store.put, url, values)
        except (InvalidField, InvalidUrl, TakenDown, ValueError) as error:
            raise DropItem(f"not stored: {error}") from error
        except TransientError as error:
            self._keep(str(error))
            raise
        self._count("aragog_items/stored")
        return item

    def close_spider(self) -> None:
        """Close the store."""
        self._store.close()

    def _keep(self, problem: str) -> None:
        """Have the page of the item run again, instead of losing the item."""
        scheduler = engine.scheduler_of(self._crawler)
        if isinstance(scheduler, SpiderScheduler):
            scheduler.keep_in_progress(f"an item was not stored: {problem}")

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)


def prefix_of(spider: str) -> str:
    """The name of a spider as the prefix of fields: `toscrape-css` is `toscrape_css`."""
    return re.sub(r"[^0-9A-Za-z_]+", "_", spider).strip("_") or "item"


def _json(value: Any) -> bytes:
    """A value as JSON; items within it as objects, what JSON does not have as its text."""
    return orjson.dumps(value, default=_plain, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if ItemAdapter.is_item(value):
        return dict(ItemAdapter(value))
    if isinstance(value, set | frozenset | tuple):
        return list(value)
    return str(value)
