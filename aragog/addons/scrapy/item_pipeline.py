"""
`ITEM_PIPELINES`: stores each item in the UrlStore, as fields of the page with the item's URL.

    {"url": "https://shop.example/lamp", "price": 89.9}   from a spider called shop is stored as the
                                                          field shop.price of that page

Storing is idempotent: the same item sets the same fields.
"""

from __future__ import annotations

import asyncio
import logging
import math
import numbers
import re
from collections import UserString
from collections.abc import Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from typing import Any, Self

import orjson
from itemadapter import ItemAdapter
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem

from aragog.addons.scrapy import engine
from aragog.addons.scrapy.crawl import spider_crawl
from aragog.addons.scrapy.scheduler import SpiderScheduler
from aragog.bootstrap.stores import url_store
from aragog.errors import TRANSIENT, InvalidField, InvalidUrl, TakenDown
from aragog.urlstore.field_formats import is_extracted
from aragog.urlstore.store import UrlStore

log = logging.getLogger(__name__)
URL_FIELD = "ARAGOG_ITEM_URL"
"""The Scrapy setting for the item field with the URL; default `url`."""
PREFIX = "ARAGOG_ITEM_PREFIX"
"""The Scrapy setting with the prefix of field names; default: the spider's name."""


class StoreItems:
    """
    Stores items with a URL, and passes all items on unchanged.

    Args:
        crawler: Scrapy's crawler.
        store: stores the fields.
        url_field: the item field with the URL.
        prefix: the prefix of the field names, without the dot.
    """

    def __init__(self, crawler: Crawler, store: UrlStore, *, url_field: str, prefix: str) -> None:
        self._crawler = crawler
        self._store = store
        self._url_field = url_field
        self._prefix = prefix

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Open the store in aragog's settings."""
        settings = crawler.settings
        return cls(
            crawler,
            url_store(spider_crawl(crawler).settings),
            url_field=settings.get(URL_FIELD, "url"),
            prefix=settings.get(PREFIX) or field_prefix(crawler.spidercls.name),
        )

    def open_spider(self) -> None:
        """Warn if the prefix belongs to fields that aragog's own extraction sets and deletes."""
        if is_extracted(self._prefix):
            log.warning(
                "items are stored as %s.*, the fields of aragog's own extraction, which replaces "
                "and deletes them; set %s to another prefix",
                self._prefix,
                PREFIX,
            )

    async def process_item(self, item: Any) -> Any:
        """
        Store the item and return it.

        Raises:
            DropItem: the URL or a value is invalid, JSON cannot represent a value (bytes, NaN,
                numbers above 64 bits), or the URL was taken down.
            TransientError: the store does not respond. With `SpiderScheduler`, all requests in
                progress in this process run again, including the one for the item's page.
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
            self._rerun_page(str(error))
            raise
        self._count("aragog_items/stored")
        return item

    def close_spider(self) -> None:
        """Close the store."""
        self._store.close()

    def _rerun_page(self, problem: str) -> None:
        scheduler = engine.current_scheduler(self._crawler)
        if isinstance(scheduler, SpiderScheduler):
            scheduler.rerun_in_progress(f"an item was not stored: {problem}")

    def _count(self, name: str) -> None:
        self._crawler.stats.inc_value(name)


def field_prefix(spider: str) -> str:
    """Convert a spider's name to a field prefix: `toscrape-css` becomes `toscrape_css`."""
    return re.sub(r"[^0-9A-Za-z_]+", "_", spider).strip("_") or "item"


def _value(name: str, value: Any) -> bytes:
    try:
        return value_json(value)
    except ValueError as error:
        raise DropItem(f"not stored: field {name!r}: {error}") from error


TEXT_TYPES = (Decimal, Fraction, timedelta, PurePath, IPv4Address, IPv6Address, UserString)
"""Types that JSON lacks; their values are stored as text."""


def value_json(value: Any) -> bytes:
    """
    Return a value as JSON: items and dicts as objects, sequences and sets as arrays.

    `TEXT_TYPES` and dates are written as text. Equal sets have equal JSON.

    Raises:
        ValueError: JSON cannot represent the value: bytes, NaN and infinity, numbers above 64
            bits, lone surrogates in text, more than 254 levels, or an object such as a `Selector`,
            whose text describes the object instead of the page.
    """
    try:
        return _dumps(_plain(value))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _dumps(plain: Any) -> bytes:
    return orjson.dumps(plain, default=_text, option=orjson.OPT_NON_STR_KEYS)


def _text(value: Any) -> str:
    if isinstance(value, TEXT_TYPES):
        return str(value)
    value_type = type(value)
    raise TypeError(
        f"a {value_type.__module__}.{value_type.__qualname__} has no JSON form; store its text or "
        "number, such as selector.get()"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, float):
        return _check_finite(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise ValueError("bytes have no JSON form; decode them or use base64")  # noqa: TRY004
    if isinstance(value, numbers.Real) and not isinstance(value, int | Fraction):
        return _number(value)  # a NumPy number
    if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
        return _from_numpy(value)
    if ItemAdapter.is_item(value):
        return _plain_table(ItemAdapter(value))
    if isinstance(value, Mapping):
        return _plain_table(value)
    if isinstance(value, AbstractSet):
        # A set's order differs between processes, which would look like a change.
        return sorted((_plain(each) for each in value), key=_dumps)
    if isinstance(value, Sequence | ValuesView) and not isinstance(value, str | UserString):
        return [_plain(each) for each in value]
    return value


def _plain_table(table: Mapping[Any, Any]) -> dict[Any, Any]:
    return {_key(key): _plain(each) for key, each in table.items()}


def _key(key: Any) -> Any:
    if isinstance(key, float):
        return _check_finite(key)
    return _plain(key) if type(key).__module__ == "numpy" else key


def _from_numpy(value: Any) -> Any:
    if getattr(value, "ndim", 0):
        return [_plain(each) for each in value]
    # a date or duration, possibly with a finer resolution than Python's
    if value.dtype.kind in "Mm":
        if str(value) == "NaT":
            raise ValueError("NaT has no JSON form; use None, or omit the field")
        return str(value)
    plain = value.item()
    return _plain(plain) if type(plain).__module__ == "builtins" else plain


def _number(value: numbers.Real) -> int | float:
    return int(value) if isinstance(value, numbers.Integral) else _check_finite(float(value))


def _check_finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} has no JSON form; use None, or omit the field")
    return float(value)  # orjson does not accept subclasses, such as NumPy's
