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

from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from aragog.addons.scrapy import engine
from aragog.addons.scrapy.crawl import crawl_of
from aragog.addons.scrapy.item_json import value_json
from aragog.addons.scrapy.scheduler import SpiderScheduler
from aragog.bootstrap.stores import url_store
from aragog.errors import TRANSIENT, InvalidField, InvalidUrl, TakenDown
from aragog.urlstore.field_formats import is_extracted
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

    def open_spider(self) -> None:
        """Warn about a prefix whose fields aragog's own extraction sets and deletes."""
        if is_extracted(self._prefix):
            log.warning(
                "items are stored as %s.*, the fields of aragog's own extraction, which replaces "
                "and deletes them: set %s to another prefix",
                self._prefix,
                PREFIX,
            )

    async def process_item(self, item: Any) -> Any:
        """
        Store the item and return it.

        Raises:
            DropItem: its URL or a value is not accepted, a value has no JSON (bytes, NaN, numbers
                of more than 64 bits), or the URL was taken down.
            TransientError: the store does not answer. The item's page is fetched and parsed again.
        """
        fields = dict(ItemAdapter(item))
        url = fields.pop(self._url_field, None)
        if not isinstance(url, str):
            self._count("aragog_items/without_url")
            return item
        values = {f"{self._prefix}.{name}": _value(name, value) for name, value in fields.items()}
        try:
            await asyncio.to_thread(self._store.put, url, values)
        except (InvalidField, InvalidUrl, TakenDown, ValueError) as error:
            raise DropItem(f"not stored: {error}") from error
        except TRANSIENT as error:
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


def _value(name: str, value: Any) -> bytes:
    try:
        return value_json(value)
    except ValueError as error:
        raise DropItem(f"not stored: field {name!r}: {error}") from error
