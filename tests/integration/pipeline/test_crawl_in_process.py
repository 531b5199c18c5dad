"""
Crawls through all stages in one process: URLs from sitemaps, and URLs that must not be requested.
"""

import pytest

from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.standalone import demo_sites
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis

PLACES = [f"http://travel.test/{place[0]}" for place in demo_sites.PLACES]
INDEX = "http://travel.test/sitemap.xml"


def demo(request, _wire):
    served = demo_sites.web()[request.host].get(request.path)
    return (
        answer(404)
        if served is None
        else answer(served.status, served.body, content_type=served.content_type)
    )


def test_urls_of_a_sitemap_index_are_fetched_once(crawl_harness):
    harness = crawl_harness({"/*": demo}, qps=1000)
    sitemap = EnqueueOptions(sitemap=True, depth=1, refresh=True)

    harness.crawl([INDEX], sitemap)
    first = [r.path for r in harness.origin.seen]
    harness.crawl([INDEX], sitemap)

    assert [r.facts["outcome"] for r in harness.urls.get_many(PLACES)] == ["Fetched"] * len(PLACES)
    paths = [r.path for r in harness.origin.seen]
    assert all(
        paths.count(f"/{place[0]}") == first.count(f"/{place[0]}") == 1
        for place in demo_sites.PLACES
    )
    assert paths.count("/sitemap.xml") == 2
    assert harness.urls.get(INDEX).facts["outcome"] in ("Fetched", "NotModified")


def test_links_and_sitemap_entries_refused_by_the_filter_are_not_followed(
    crawl_harness,
):
    harness = crawl_harness({"/*": demo}, qps=1000)
    places = UrlFilter(exclude=("*-house", "*/tin-*")).wire()
    lamp = UrlFilter(include=("*/p/brass-lamp",)).wire()

    harness.crawl([INDEX], EnqueueOptions(sitemap=True, depth=1, refresh=True, url_filter=places))
    harness.crawl(["http://www.shop.test/"], EnqueueOptions(depth=3, url_filter=lamp))

    paths = {r.path for r in harness.origin.seen if r.path != "/robots.txt"}
    assert paths == {
        "/sitemap.xml", "/sitemaps/places.xml", "/harbour-baths", "/", "/p/brass-lamp",
    }  # fmt: skip


def test_nothing_is_fetched_without_a_contact_and_the_reason_is_stored(crawl_harness):
    harness = crawl_harness({"/*": page(b"<title>here</title>")}, agent="")
    url = "http://example.com/"

    harness.crawl([url], EnqueueOptions())

    facts = harness.urls.get(url).facts
    assert harness.origin.seen == []
    assert facts["outcome"] == "Blocked"
    assert "fetch.user_agent" in facts["reason"]
