"""
Pages that continue a listing are followed separately from links: from fetches and from the store.
"""

from dataclasses import replace

import orjson
import pytest

from aragog.crawl.pipeline.followed_pages import FollowedPages
from aragog.crawl.pipeline.messages import ResultBatch, UrlJob
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.listings import MAX_PAGES
from aragog.crawl.stages.revalidation import JobSelection
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import Settings
from aragog.urlstore.compression import compress
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS, body, page

pytestmark = pytest.mark.redis

FIRST, SECOND, OTHER = "http://site.test/c", "http://site.test/c?page=2", "http://other.test/c"
CONTENT = "http://site.test/p/1"
KIND = {"pages": "*/c*", "fields": {"name": "css:h1"}, "follow": "css-all:a.next::link"}
SETTINGS = Settings(extract={"site.test": {"cards": KIND}})
STORED = {"v": 1, "site": "site.test", "items": [], "follow": [SECOND, OTHER]}


@pytest.fixture
def harness(pipeline_harness, redis_client):
    return replace(
        pipeline_harness,
        settings=SETTINGS,
        followed_pages=FollowedPages(redis_client, prefix="t:"),
    )


@pytest.fixture
def selection(harness):
    """The job selection of a store with the first page of a listing."""
    fields = {"items.cards": orjson.dumps(STORED)}
    harness.store.write_pages(
        [page(FIRST, fields=fields, content=body("x"), facts={"outcome": "Fetched"})]
    )
    discovery = Discovery(
        harness.enqueuer, harness.store, SETTINGS, harness.walks, harness.clock,
        followed_pages=harness.followed_pages,
    )  # fmt: skip
    return JobSelection(harness.store, harness.in_flight, harness.counters, discovery)


def job(url=FIRST, **more):
    return UrlJob(url=url, **{"request_id": "r1", **more})


def sent(harness):
    """URL, depth and page number of each job sent since the last call."""
    batches = [m.message.jobs for m in harness.sent.messages]
    harness.sent.messages.clear()
    return {(job.url, job.depth, job.pages) for jobs in batches for job in jobs}


def canonicalize(harness, html, **more):
    (token,) = harness.spool.put_many([compress(html.encode())])
    result = fetch_result(
        job=job(**more), outcome=OutcomeKind.FETCHED, final_url=FIRST, fetched_at_ms=NOW_MS,
        status=200, content_type="text/html",
    )  # fmt: skip
    harness.canonicalize(ResultBatch((replace(result, token=token),)))


HTML = f'<h1>x</h1><a class=next href="?page=2">next</a><a href="{CONTENT}">product</a>'


def test_next_page_of_a_listing_is_followed_without_depth(harness):
    canonicalize(harness, HTML)

    assert sent(harness) == {(SECOND, 0, 1)}


def test_next_page_has_the_depth_of_its_listing_and_ignores_content_patterns(harness):
    canonicalize(harness, HTML, depth=1, url_filter=UrlFilter(include=("*/p/*",)).wire())

    assert sent(harness) == {(SECOND, 1, 1), (CONTENT, 0, 0)}


@pytest.mark.parametrize(
    ("html", "more"),
    [
        (HTML, {"url_filter": UrlFilter(exclude=("*page=*",)).wire()}),
        (HTML, {"url_filter": "{"}),
        (HTML.replace("class=next", "class=next rel=nofollow"), {}),
        ('<meta name=robots content="nofollow">' + HTML, {}),
        (HTML.replace('"?page=2"', f'"{OTHER}"'), {}),
        (HTML, {"pages": MAX_PAGES}),
    ],
    ids=["exclude", "bad filter", "nofollow", "page", "other site", "too many pages"],
)
def test_rules_that_forbid_a_link_forbid_the_next_page(harness, html, more):
    canonicalize(harness, html, **more)

    assert sent(harness) == set()


def test_stored_listing_is_continued_once_per_call(harness, selection):
    assert selection.select([job()]).jobs == []
    assert sent(harness) == {(SECOND, 0, 1)}
    harness.in_flight.clear([SECOND])

    selection.select([job()])
    assert sent(harness) == set()
    selection.select([job(request_id="r2")])
    assert sent(harness) == {(SECOND, 0, 1)}


def test_refresh_continues_an_unchanged_listing(harness, selection):
    result = fetch_result(
        job=job(refresh=True), outcome=OutcomeKind.NOT_MODIFIED, final_url=FIRST,
        fetched_at_ms=NOW_MS + 1,
    )  # fmt: skip

    harness.canonicalize(ResultBatch((result,)))

    assert (SECOND, 0, 1) in sent(harness)
