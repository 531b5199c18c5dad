"""The arguments with which a spider was created."""

import scrapy
from scrapy.crawler import Crawler

from aragog.addons.scrapy.addon import AragogAddon
from aragog.addons.scrapy.spider_arguments import (
    readable_description,
    recorded_arguments,
    spider_description,
)


class LampSpider(scrapy.Spider):
    name = "lamps"

    def __init__(self, first=None, **arguments):
        super().__init__()


def create(*args, **arguments):
    AragogAddon.update_pre_crawler_settings({})
    crawler = Crawler(LampSpider)
    crawler._create_spider(*args, **arguments)
    return crawler


def test_arguments_are_those_of_the_constructor():
    assert recorded_arguments(create("x", cat="lamps")) == {"argument 1": "x", "cat": "lamps"}
    assert recorded_arguments(create()) == {}
    assert recorded_arguments(Crawler(LampSpider)) == {}


def test_descriptions_are_equal_only_for_equal_arguments():
    lamps = spider_description(create(cat="lamps", deep="1"))

    assert lamps == spider_description(create(deep="1", cat="lamps"))
    assert lamps != spider_description(create(cat="lamps"))
    assert lamps == spider_description(create(cat="lamps", deep="1", _job="6487ec79"))
    assert spider_description(create(a=object())) == spider_description(create(a=object()))
    assert readable_description(lamps).endswith(
        "test_spider_arguments.LampSpider (cat=lamps, deep=1)"
    )
    assert readable_description(spider_description(create())).endswith("LampSpider (no arguments)")


def test_any_value_has_a_description():
    text = readable_description(
        spider_description(create(a=2**70, b="\udcff", c=float("nan"), d={1: None}))
    )

    assert f"a={2**70}, b=\\udcff, c=nan, d={{'1': None}}" in text


def test_long_arguments_are_compared_in_full_and_shown_in_part():
    one, other = (spider_description(create(urls="x" * 1000 + end)) for end in "ab")

    assert one != other
    assert readable_description(one) == readable_description(other)
    assert len(one) < 400
