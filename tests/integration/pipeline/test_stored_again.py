"""Stored pages that are read and written again without a fetch (`canonicalize.delay(url)`)."""

import pytest

from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.stored_page_rewriter import StoredPageRewriter
from tests.support.origin import answer, page

pytestmark = pytest.mark.redis
URL = "http://site.test/page"
HTML = b"<title>title</title><a href=/other>other</a><p>some words of this page"


@pytest.fixture
def harness(crawl_harness):
    routes = {"/page": page(HTML), "/other": page(HTML), "/gone": answer(404)}
    harness = crawl_harness(routes, qps=1000)
    harness.crawl([URL, "http://site.test/gone"], EnqueueOptions())
    return harness


def again(harness, *urls):
    return StoredPageRewriter(harness.pipeline.canonicalize, harness.pipeline.store).run(urls)


def test_fields_links_and_facts_are_rewritten_from_the_current_extraction(harness):
    before = harness.urls.get(URL)
    asked = len(harness.origin.seen)
    at_ms = int(before.facts["fetched_at_ms"])
    harness.urls.fields.replace(URL, {}, {}, at_ms=at_ms)

    assert again(harness, "HTTP://site.test/page") == []

    after = harness.urls.get(URL)
    assert after.fields == before.fields
    assert after.facts == before.facts
    assert [link.url for link in harness.urls.links.outlinks(URL).items] == [
        "http://site.test/other"
    ]
    assert len(harness.origin.seen) == asked
    assert not harness.sent.messages  # its links are not followed


def test_urls_without_a_page_are_reported_and_others_are_processed(harness):
    problems = again(harness, "http://site.test/gone", URL, "no url", "http://new.test/")

    assert len(problems) == 3
    assert problems[0] == "http://site.test/gone: no page is stored for it; fetch it first"
    assert problems[1].startswith("no url: ")
