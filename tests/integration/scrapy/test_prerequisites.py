"""The checks before a spider opens."""

import asyncio
import os
import subprocess
import sys

import pytest
from scrapy.settings import Settings

from aragog.addons.scrapy.addon import AragogAddon
from aragog.addons.scrapy.crawl import spider_crawl
from aragog.addons.scrapy.prerequisites import check_crawl, check_fetching
from aragog.addons.scrapy.scheduler import SpiderScheduler
from aragog.errors import ConfigError
from tests.integration.scrapy.test_scheduler import Crawler

pytestmark = pytest.mark.redis


@pytest.fixture
def stopped(cli_environ, monkeypatch, tmp_path):
    """No system runs in the data folder."""
    monkeypatch.setenv("ARAGOG_REDIS__URL", "")
    monkeypatch.setenv("ARAGOG_BROKER__URL", "")
    return tmp_path


def assert_accepted(**settings):
    crawler = Crawler(**settings)
    check_fetching(crawler.settings, spider_crawl(crawler))
    check_crawl(crawler, spider_crawl(crawler))


def test_running_system_is_accepted(cli_environ):
    assert_accepted()


def test_error_without_a_system_names_the_command_that_starts_it(stopped):
    with pytest.raises(ConfigError, match="aragog up -d") as error:
        assert_accepted()

    assert f"aragog is not running in {stopped}" in str(error.value)


def test_unreachable_servers_are_reported_by_their_settings(cli_environ, monkeypatch):
    monkeypatch.setenv("ARAGOG_REDIS__URL", "redis://user:secret@127.0.0.1:1/0")

    with pytest.raises(ConfigError, match=r"check redis\.url") as error:
        assert_accepted()

    assert "secret" not in str(error.value)


def test_different_reactor_is_refused_by_its_setting(cli_environ):
    select = "twisted.internet.selectreactor.SelectReactor"

    with pytest.raises(ConfigError, match=f"TWISTED_REACTOR: .* not {select}; remove"):
        assert_accepted(TWISTED_REACTOR=select)


def test_missing_reactor_is_accepted(cli_environ):
    assert_accepted(TWISTED_REACTOR_ENABLED=False, TWISTED_REACTOR=None)


def test_addon_checks_before_a_crawler_is_built(stopped):
    crawler = Crawler()
    addon = AragogAddon.from_crawler(crawler)

    with pytest.raises(ConfigError, match="aragog up -d"):
        addon.update_settings(crawler.settings)


def test_single_page_command_is_polite_but_joins_no_crawl(cli_environ):
    crawler, settings, plain = Crawler(), Settings(), Settings()
    crawler.spider = None  # as in the shell

    AragogAddon.from_crawler(crawler).update_settings(settings)

    assert settings["SCHEDULER"] == plain["SCHEDULER"]
    assert settings["DUPEFILTER_CLASS"] == plain["DUPEFILTER_CLASS"]
    assert "PoliteDownloadHandler" in settings["DOWNLOAD_HANDLERS"]["http"]


def test_scheduler_that_could_not_open_closes_without_an_error(stopped):
    async def main():
        scheduler = SpiderScheduler.from_crawler(crawler := Crawler())
        with pytest.raises(ConfigError, match="aragog up -d"):
            scheduler.open(crawler.spider)
        scheduler.close("shutdown")

    asyncio.run(main())


SPIDER = """
import scrapy

class Quotes(scrapy.Spider):
    name = "quotes"
    start_urls = ["http://quotes.test/"]
    custom_settings = {"ADDONS": {"aragog.addons.scrapy.addon.AragogAddon": 100}}
"""


@pytest.mark.parametrize("settings", ["", "[fetch]\nno_such_setting = 1\n"], ids=["nothing", "bad"])
def test_spider_that_cannot_start_prints_one_line_and_exits_with_1(tmp_path, settings):
    """asyncio printed a traceback around it: "Task exception was never retrieved"."""
    (tmp_path / "spider.py").write_text(SPIDER)
    (tmp_path / "aragog.toml").write_text(settings)
    ours = {name: text for name, text in os.environ.items() if not name.startswith("ARAGOG_")}
    environ = ours | {
        "ARAGOG_DATA_DIR": str(tmp_path / "var"),
        "ARAGOG_SETTINGS": str(tmp_path / "aragog.toml"),
    }

    ran = subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", "spider.py", "--loglevel", "WARNING"],
        cwd=tmp_path, env=environ, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    (line,) = ran.stderr.splitlines()
    assert ("aragog up -d" if not settings else "no_such_setting") in line
    assert (ran.returncode, ran.stdout) == (1, "")
