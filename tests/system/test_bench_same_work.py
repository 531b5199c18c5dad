"""`make bench` compares equal work: all sides store the same data for every page, link by link."""

import tempfile
from pathlib import Path

import pytest

from bench.crawl import origin, page_sets, same_work
from bench.crawl.sides import COLLY, PYTHON, SIDES, Stored
from tests.support.missing_parts import BENCH, GO, skip_without

pytestmark = [pytest.mark.redis, pytest.mark.slow]

PAGES = 25


@pytest.fixture(params=page_sets.ALL)
def pages(request):
    if not PYTHON.exists():
        skip_without(BENCH)
    if not COLLY.exists():
        skip_without(GO, "then run scripts/setup bench")
    return page_sets.ALL[request.param]().first(PAGES)


@pytest.fixture
def folder():
    """A folder with a short path, because it contains a server's socket."""
    with tempfile.TemporaryDirectory(prefix="arb") as name:
        yield Path(name)


def test_all_sides_store_the_same_for_real_pages(pages, folder):
    crawls = {}
    with origin.serve(pages.folder) as port:
        for side, crawl in SIDES.items():
            stored = folder / side
            stored.mkdir()
            crawls[side] = crawl(pages, port, stored, PAGES)

    ours = crawls.pop("aragog")
    assert ours.pages == len(ours.stored) == PAGES
    assert sum(len(page.links) for page in ours.stored.values()) > 20 * PAGES
    for side, crawl in crawls.items():
        assert crawl.pages == len(crawl.stored) == PAGES
        assert same_work.differences(pages, ours.stored, crawl.stored, side) == []


def test_link_or_body_left_out_by_one_side_is_reported(tmp_path):
    (tmp_path / "a.html").write_text('<a href="/b">b</a><noscript><a href="/c">c</a></noscript>')
    pages = page_sets.PageSet("made", tmp_path, ("a.html",), 1)
    url = "http://site.test/a.html"
    whole = {url: Stored("1", "A", ("http://site.test/b?q=%40",))}

    assert same_work.differences(pages, whole, {url: Stored("1", "A", ())}) == [
        f"{url}: only aragog has http://site.test/b [('q', '@')]"
    ]
    scrapy = {
        url: Stored(
            "2", "A", ("http://site.test/b?q=@", "http://site.test/d", "http://site.test/c")
        )
    }
    assert same_work.differences(pages, whole, scrapy) == [
        f"{url}: other bodies",
        f"{url}: only Scrapy has http://site.test/d []",
    ]
    assert same_work.differences(pages, whole, {}) == [f"{url}: stored by one side only"]
