"""Items stored as fields of the page with their URL."""

import asyncio
import logging
from types import SimpleNamespace

import pytest
from scrapy.exceptions import DropItem
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector

from aragog.addons.scrapy.item_pipeline import StoreItems
from aragog.errors import InvalidField

URL = "https://shop.example/lamp"


class Store:
    """Records what was put."""

    def __init__(self):
        self.records = {}

    def put(self, url, fields):
        if "shop.bad" in fields:
            raise InvalidField("shop.bad", "not accepted")
        self.records[url] = fields


def pipeline(store, prefix="shop"):
    crawler = SimpleNamespace(settings=Settings(), engine=None)
    crawler.stats = MemoryStatsCollector(crawler)
    return StoreItems(crawler, store, url_field="url", prefix=prefix)


def stored(item):
    store = Store()
    assert asyncio.run(pipeline(store).process_item(item)) is item
    return store.records


def test_fields_of_an_item_are_stored_under_its_url():
    assert stored({"url": URL, "price": 89.9}) == {URL: {"shop.price": b"89.9"}}


def test_item_without_a_url_is_passed_on():
    assert stored({"price": 89.9}) == {}


@pytest.mark.parametrize("value", [2**70, b"abc", float("nan"), [{"a": {b"abc"}}]])
def test_item_with_an_unserializable_value_is_dropped_by_name(value):
    store = Store()

    with pytest.raises(DropItem, match="'price'"):
        asyncio.run(pipeline(store).process_item({"url": URL, "name": "Lamp", "price": value}))

    assert not store.records


def test_item_refused_by_the_store_is_dropped():
    with pytest.raises(DropItem, match="not accepted"):
        asyncio.run(pipeline(Store()).process_item({"url": URL, "bad": 1}))


@pytest.mark.parametrize(("prefix", "warns"), [("product", True), ("page", True), ("shop", False)])
def test_reserved_prefix_gives_a_warning(caplog, prefix, warns):
    with caplog.at_level(logging.WARNING):
        pipeline(Store(), prefix).open_spider()

    assert ("ARAGOG_ITEM_PREFIX" in caplog.text) == warns
