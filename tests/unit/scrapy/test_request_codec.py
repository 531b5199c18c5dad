"""Requests of Scrapy as JSON."""

from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import scrapy
from scrapy import FormRequest, Request

from aragog.errors import InvalidMessage
from aragog.scrapy.request_codec import from_json, to_json


class Lamp(scrapy.Item):
    name = scrapy.Field()


@dataclass
class Chair:
    name: str = ""


class ShopSpider(scrapy.Spider):
    name = "shop"

    def parse_lamp(self, response):
        """A callback."""

    def failed(self, failure):
        """An errback."""


SPIDER = ShopSpider()


def again(request):
    return from_json(to_json(request, SPIDER), SPIDER)


def test_a_request_comes_back_as_it_was():
    request = Request(
        "http://a.test/?b=1&a=2#f", callback=SPIDER.parse_lamp, errback=SPIDER.failed,
        headers={"X-A": ["1", "2"]}, cookies={"c": "d"}, priority=-3, dont_filter=True,
        meta={"depth": 2, "pair": (1, b"\xff"), "set": {1}, 7: "seven"},
        cb_kwargs={"n": None}, flags=["f"], encoding="cp1252",
    )  # fmt: skip

    assert again(request).to_dict(spider=SPIDER) == request.to_dict(spider=SPIDER)


@pytest.mark.parametrize("item", [Lamp(name="Brass"), Chair("Oak"), {"!bytes": "a word"}])
def test_items_travel_in_meta(item):
    assert again(Request("http://a.test/", meta={"item": item})).meta["item"] == item


def test_the_class_of_a_request_is_kept():
    request = FormRequest("http://a.test/", formdata={"a": "b"})

    assert type(again(request)) is FormRequest
    assert again(request).body == b"a=b"


@pytest.mark.parametrize(
    "request_", [
        Request("http://a.test/", callback=lambda response: None),
        Request("http://a.test/", meta={"at": datetime(2026, 1, 1, tzinfo=UTC)}),
        Request("http://a.test/", meta={"big": 1 << 70}),
        Request("http://a.test/", cb_kwargs={"spider": SPIDER}),
    ]
)  # fmt: skip
def test_what_another_process_could_not_use_is_refused(request_):
    with pytest.raises((ValueError, TypeError)):
        to_json(request_, SPIDER)


@pytest.mark.parametrize(
    "body", [
        b"", b"[]", b'{"v": 2}', b'{"v": 1, "request": {"url": "no url"}}',
        to_json(Request("http://a.test/", callback=SPIDER.failed), SPIDER).replace(b"failed", b"gone"),
        b'{"v": 1, "request": {"url": "http://a.test/", "_class": "os.system"}}',
        b'{"v": 1, "request": {"url": "http://a.test/", "meta": {"!item": ["os.system", {}]}}}',
        b'{"v": 1, "request": {"url": "http://a.test/", "meta": {"!pickle": "x"}}}',
    ]
)  # fmt: skip
def test_a_request_of_another_version_or_spider_is_an_invalid_message(body):
    with pytest.raises(InvalidMessage):
        from_json(body, SPIDER)
