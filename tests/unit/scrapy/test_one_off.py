"""Which commands of Scrapy run no crawl, and what the add-on sets for them."""

import pytest
import scrapy
from scrapy.commands import fetch, parse, shell
from scrapy.crawler import Crawler
from scrapy.settings import Settings

from aragog.scrapy import addon
from aragog.scrapy.addon import AragogAddon
from aragog.scrapy.one_off import is_one_off


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


def test_such_a_command_is_polite_but_joins_no_crawl(crawler, monkeypatch):
    monkeypatch.setattr(addon, "crawl_of", lambda crawler: None)
    monkeypatch.setattr(addon, "check_fetching", lambda settings, crawl: None)
    crawler.spider = None
    settings, plain = Settings(), Settings()

    AragogAddon.from_crawler(crawler).update_settings(settings)

    assert settings["SCHEDULER"] == plain["SCHEDULER"]
    assert settings["DUPEFILTER_CLASS"] == plain["DUPEFILTER_CLASS"]
    assert "PoliteDownloadHandler" in settings["DOWNLOAD_HANDLERS"]["http"]
