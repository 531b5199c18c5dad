"""
The data that the store keeps about a fetch: headers, latency and redirects, from origin to reader.
"""

from typing import Any

import pytest
from scrapy import Request
from scrapy.settings import Settings

from aragog.addons.scrapy.stored_pages import StoredPages
from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, ResultBatch, RobotsBatch
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis

STAGES: dict[Destination, tuple[Any, str]] = {
    Destination.FETCH: (FetchBatch, "fetch"),
    Destination.ROBOTS: (RobotsBatch, "robots"),
    Destination.CANONICALIZE: (ResultBatch, "canonicalize"),
    Destination.STORE: (PageBatch, "store"),
}


def crawl(harness, *urls):
    """Enqueue the URLs and deliver every message, as JSON, until none is left."""
    list(harness.pipeline.enqueuer.enqueue(urls, EnqueueOptions(refresh=True)))
    left = [*harness.sent.messages]
    harness.sent.messages.clear()
    while left:
        send = left.pop(0)
        kind, stage = STAGES[send.destination]
        left += getattr(harness.pipeline, stage).run(kind.read(send.message.wire()))
    return harness.pipeline.store.store


@pytest.fixture
def harness(crawl_harness):
    moved = answer(
        301,
        b"moved",
        headers=(("Location", "/new"), ("X-Moved-By", "a"), ("Set-Cookie", "s=1; Path=/")),
    )
    more = (
        ("X-Powered-By", "tests"),
        ("Set-Cookie", "sid=S3CRET; HttpOnly"),
        ("Vary", "a"),
        ("Vary", "b"),
    )
    harness = crawl_harness(
        {"/old": moved, "/new": page(b"<title>New</title>", headers=more), "/404": answer(404)},
        qps=1000,
    )
    harness.know_rules("site.test")
    return harness


def test_all_headers_and_the_redirect_chain_are_stored(harness):
    store = crawl(harness, "http://site.test/old")

    report = store.pages.fetch_report("http://site.test/old")
    assert (report.outcome, report.status, report.final_url) == (
        "Fetched",
        200,
        "http://site.test/new",
    )
    for pair in (
        ("X-Powered-By", "tests"),
        ("Set-Cookie", "sid=; HttpOnly"),
        ("Vary", "a"),
        ("Vary", "b"),
    ):
        assert pair in report.headers
    [hop] = report.hops
    assert (hop.url, hop.status, hop.target) == (
        "http://site.test/old",
        301,
        "http://site.test/new",
    )
    assert ("X-Moved-By", "a") in hop.headers
    assert ("Set-Cookie", "s=; Path=/") in hop.headers
    # Rounded to 0.1 ms: an origin in the same process may respond sooner.
    assert 0 <= hop.latency_ms <= report.total_ms
    assert 0 <= report.first_byte_ms <= report.total_ms
    assert report.address == "127.0.0.1"


def test_alias_keeps_its_own_latency_and_redirects_when_its_page_is_refetched(harness):
    store = crawl(harness, "http://site.test/old")
    through_alias = store.pages.fetch_report("http://site.test/old")
    store = crawl(harness, "http://site.test/new")

    assert store.get("http://site.test/old").canonical_url == "http://site.test/new"
    assert store.pages.fetch_report("http://site.test/old") == through_alias
    assert store.pages.fetch_report("http://site.test/new").hops == ()


def test_failed_fetch_keeps_its_headers(harness):
    store = crawl(harness, "http://site.test/404")

    report = store.pages.fetch_report("http://site.test/404")
    assert (report.outcome, report.status) == ("Gone", 404)
    assert report.headers


def test_content_keeps_all_headers_for_exports(harness):
    store = crawl(harness, "http://site.test/new")

    assert "X-Powered-By" in store.content("http://site.test/new").meta["headers"]
    assert "S3CRET" not in store.content("http://site.test/new").meta["headers"]


def test_spider_reads_the_page_as_fetched(harness):
    storage = StoredPages(Settings())
    storage._store = crawl(harness, "http://site.test/old")

    response = storage.retrieve_response(None, Request("http://site.test/old"))

    assert (response.url, response.status) == ("http://site.test/new", 200)
    assert response.css("title::text").get() == "New"
    assert response.headers.getlist("Vary") == [b"a", b"b"]
    assert "Set-Cookie" not in response.headers, "it has no value, and would replace a session"
