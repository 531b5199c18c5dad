"""Scrapy spiders that read pages fetched by aragog, on one Redis and a loopback site."""

import shlex
import time
from contextlib import closing

import pytest

from aragog.bootstrap.stores import url_store
from aragog.settings import load_settings
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from tests.support import quotes_site
from tests.support.documented import blocks
from tests.support.punctual_origin import PunctualOrigin
from tests.support.spiders import AUTHORS, spiders_of
from tests.support.stores import page

pytestmark = [pytest.mark.redis, pytest.mark.slow]

ADDONS = {"aragog.addons.scrapy.addon.AragogAddon": 0}


@pytest.fixture
def origin():
    origin = PunctualOrigin(quotes_site.site())
    yield origin
    origin.stop()


def store_pages(environ, paths):
    """Store pages of the site as if they had been fetched."""
    at_ms, site = int(time.time() * 1000), quotes_site.site()
    writes = []
    for path in paths:
        url, body = f"http://{quotes_site.HOST}{path}", site[path].encode()
        meta = {
            "url": url,
            "status": "200",
            "fetched_at_ms": str(at_ms),
            "content_type": "text/html",
        }
        content = ContentWrite(compress(body), "zstd", len(body), meta)
        writes.append(page(url, at_ms, content=content))
    with closing(url_store(load_settings(environ=environ))) as store:
        store.write_pages(writes)


def documented_settings():
    """The settings of the two commands: with and without the add-on."""
    return [
        dict(part.split("=", 1) for part in shlex.split(block) if "=" in part)
        for block in blocks("docs/coming-from.md#scrapy", "sh", "scrapy crawl quotes -s")
    ]


def test_documented_commands_read_stored_pages(origin, redis_url, tmp_path):
    with_addon, without = documented_settings()
    pages = [path for path in quotes_site.site() if path != "/robots.txt"]
    unstored = {"/author/Author-3", "/page/10/"}
    with spiders_of(tmp_path, redis_url, origin, POLITENESS__QPS="20") as spiders:
        store_pages(spiders.environ, [path for path in pages if path not in unstored])
        # Projects of `scrapy startproject` have this setting.
        spiders.start("runspider", str(AUTHORS), settings={**without, "ROBOTSTXT_OBEY": "1"})
        spiders.finish()
        read = {item["name"] for item in spiders.items()}
        assert not origin.arrivals(), spiders.logs()
        spiders.start("runspider", str(AUTHORS), settings={"ADDONS": ADDONS, **with_addon})
        spiders.finish()
        read_or_fetched = {item["name"] for item in spiders.items()}

    on_last_page = {quotes_site.author(number) for number in range(45, 50)}
    assert read == quotes_site.authors() - {"Author-3"} - on_last_page
    assert read_or_fetched == quotes_site.authors()
    assert {path for _, _, path in origin.arrivals()} == {"/robots.txt", *unstored}
