"""Which commands of Scrapy run no crawl."""

import pytest
import scrapy
from scrapy.commands import fetch, parse, shell
from scrapy.crawler import Crawler

from aragog.addons.scrapy.addon import is_one_off


@pytest.fixture
def crawler():
    class PageSpider(scrapy.Spider):
        name = "pages"

    crawler = Crawler(PageSpider)
    crawler.spider = crawler._create_spider()
    return crawler


def test_a_spider_that_runs_a_crawl_is_none(crawler):
    assert not is_one_off(crawler)


def test_the_shell_has_no_spider_yet(crawler):
    crawler.spider = None

    assert is_one_off(crawler)


@pytest.mark.parametrize("module", [fetch, parse, shell])
def test_a_command_replaces_the_first_requests(crawler, module):
    async def start(_spider):
        yield

    start.__module__ = module.__name__
    crawler.spidercls.start = start

    assert is_one_off(crawler)
