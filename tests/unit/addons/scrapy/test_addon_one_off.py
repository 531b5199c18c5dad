"""Scrapy commands that do not run a crawl."""

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


def test_crawling_spider_is_not_one_off(crawler):
    assert not is_one_off(crawler)


def test_shell_without_a_spider_is_one_off(crawler):
    crawler.spider = None

    assert is_one_off(crawler)


@pytest.mark.parametrize("module", [fetch, parse, shell])
def test_command_that_replaces_the_start_requests_is_one_off(crawler, module):
    async def start(_spider):
        yield

    start.__module__ = module.__name__
    crawler.spidercls.start = start

    assert is_one_off(crawler)
