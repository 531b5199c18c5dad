"""Packages used with Scrapy, together with the add-on: the table of docs/coming-from.md#scrapy."""

import json
import struct
import zlib

import pytest

from tests.support import quotes_site
from tests.support.chromium import chromium_or_skip
from tests.support.documented import blocks
from tests.support.origin import Origin, answer, page
from tests.support.spiders import DATA, spiders_of

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PAGE = "docs/coming-from.md#scrapy"
ADDONS = {"aragog.addons.scrapy.addon.AragogAddon": 0}
FIRST = {f"Author-{number}" for number in range(quotes_site.AUTHORS_A_PAGE)}


def png():
    """A PNG of 60 by 60 black pixels."""
    rows = zlib.compress(b"\0" * 60 * (60 * 3 + 1))
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", 60, 60, 8, 2, 0, 0, 0)), (b"IDAT", rows), (b"IEND", b"")
    ]  # fmt: skip
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        for kind, data in chunks
    )


@pytest.fixture
def origin():
    site = {path: page(body.encode()) for path, body in quotes_site.site().items()}
    site["/logo.png"] = answer(200, png(), content_type="image/png")
    site["/notes.bin"] = answer(200, b"\0notes", content_type="application/octet-stream")
    with Origin(site) as served:
        yield served


@pytest.fixture
def spiders(tmp_path, redis_url, origin):
    with spiders_of(tmp_path, redis_url, origin, POLITENESS__QPS="50") as opened:
        yield opened


def crawl(spiders, name, **settings):
    """Run one process of a spider; returns its items."""
    spiders.start(
        "runspider", str(DATA / "spiders" / f"{name}.py"), settings={"ADDONS": ADDONS, **settings}
    )
    spiders.finish()
    return spiders.items()


def test_item_loaders_work(spiders):
    assert {item["name"] for item in crawl(spiders, "loader")} == FIRST


def test_image_and_file_pipelines_work(spiders, tmp_path):
    pipelines = {
        "scrapy.pipelines.images.ImagesPipeline": 1,
        "scrapy.pipelines.files.FilesPipeline": 2,
    }
    stores = {"IMAGES_STORE": str(tmp_path / "images"), "FILES_STORE": str(tmp_path / "files")}

    items = crawl(spiders, "loader", ITEM_PIPELINES=pipelines, **stores)

    assert {item["name"] for item in items} == FIRST
    assert all(item["images"][0]["checksum"] for item in items), spiders.logs()
    assert [path.read_bytes() for path in (tmp_path / "files").rglob("*.bin")] == [b"\0notes"]


def test_feeds_in_several_formats_work(spiders, tmp_path):
    feeds = {
        str(tmp_path / "a.csv"): {"format": "csv"},
        str(tmp_path / "a.json"): {"format": "json"},
    }

    crawl(spiders, "loader", FEEDS=feeds)

    assert {item["name"] for item in json.loads((tmp_path / "a.json").read_text())} == FIRST
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 1 + len(FIRST)


def test_scrapy_deltafetch_works_with_the_documented_lines(spiders, origin):
    (spiders.folder / "deltas.py").write_text(blocks(PAGE, "python", "from scrapy_deltafetch")[0])
    settings = {
        "SPIDER_MIDDLEWARES": {"deltas.DeltaFetch": 100}, "DELTAFETCH_ENABLED": "1",
        "DELTAFETCH_DIR": str(spiders.folder / "deltas"),
    }  # fmt: skip

    first = crawl(spiders, "loader", **settings)
    crawl(spiders, "loader", **settings, ARAGOG_CRAWL="another-night")

    assert {item["name"] for item in first} == FIRST
    assert len(spiders.items()) == len(first)
    authors = [request.target for request in origin.seen if "/author/" in request.target]
    assert len(authors) == len(FIRST)


def test_spidermon_works(spiders):
    settings = {
        "SPIDERMON_ENABLED": "1",
        "EXTENSIONS": {"spidermon.contrib.scrapy.extensions.Spidermon": 500},
        "SPIDERMON_SPIDER_CLOSE_MONITORS": "tests.data.spiders.monitors.Monitors",
    }

    crawl(spiders, "loader", **settings)

    assert "1 monitor" in spiders.logs()


def test_scrapy_poet_page_objects_work(spiders):
    addons = {**ADDONS, "scrapy_poet.Addon": 300}

    assert {item["name"] for item in crawl(spiders, "poet", ADDONS=addons)} == FIRST


def test_pages_of_scrapy_playwright_obey_robots_txt(tmp_path, redis_url, origin):
    """The add-on turned Scrapy's check of robots.txt off, and the browser has none of its own."""
    handler = "scrapy_playwright.handler.ScrapyPlaywrightDownloadHandler"
    made = b"<p></p><script>document.querySelector('p').className = 'made'</script>"
    origin.handlers["/"] = page(made)
    settings = {
        "DOWNLOAD_HANDLERS": {"http": handler, "https": handler},
        "PLAYWRIGHT_LAUNCH_OPTIONS": {
            "executable_path": chromium_or_skip(), "args": ["--no-sandbox"],
        },
        "START": f"http://127.0.0.1:{origin.port}",
    }  # fmt: skip
    allowed = {
        "FETCH__ALLOWED_NETWORKS": "127.0.0.0/8", "FETCH__ALLOWED_PORTS": f"80,{origin.port}",
    }  # fmt: skip

    with spiders_of(tmp_path, redis_url, origin, **allowed) as spiders:
        items = crawl(spiders, "browser", **settings)

    assert [item["name"] for item in items] == ['<p class="made"></p>'], spiders.logs()
    assert {request.target for request in origin.seen} >= {"/robots.txt", "/"}
    assert "/login" not in {request.target for request in origin.seen}
