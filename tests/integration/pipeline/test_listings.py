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
def stand(pipeline_stand, redis_client):
    return replace(
        pipeline_stand,
        settings=SETTINGS,
        followed_pages=FollowedPages(redis_client, prefix="t:"),
    )


@pytest.fixture
def selection(stand):
    """The job selection of a store with the first page of a listing."""
    fields = {"items.cards": orjson.dumps(STORED)}
    stand.store.write_pages(
        [page(FIRST, fields=fields, content=body("x"), facts={"outcome": "Fetched"})]
    )
    discovery = Discovery(
        stand.enqueuer, stand.store, SETTINGS, stand.walks, stand.clock,
        followed_pages=stand.followed_pages,
    )  # fmt: skip
    return JobSelection(stand.store, stand.in_flight, stand.counters, discovery)


def job(url=FIRST, **more):
    return UrlJob(url=url, **{"request_id": "r1", **more})


def sent(stand):
    """URL, depth and page number of each job sent since the last call."""
    batches = [m.message.jobs for m in stand.sent.messages]
    stand.sent.messages.clear()
    return {(job.url, job.depth, job.pages) for jobs in batches for job in jobs}


def canonicalize(stand, html, **more):
    (token,) = stand.spool.put_many([compress(html.encode())])
    result = fetch_result(
        job=job(**more), outcome=OutcomeKind.FETCHED, final_url=FIRST, fetched_at_ms=NOW_MS,
        status=200, content_type="text/html",
    )  # fmt: skip
    stand.canonicalize(ResultBatch((replace(result, token=token),)))


HTML = f'<h1>x</h1><a class=next href="?page=2">next</a><a href="{CONTENT}">product</a>'


def test_next_page_of_a_listing_is_followed_without_depth(stand):
    canonicalize(stand, HTML)

    assert sent(stand) == {(SECOND, 0, 1)}


def test_next_page_has_the_depth_of_its_listing_and_ignores_content_patterns(stand):
    canonicalize(stand, HTML, depth=1, url_filter=UrlFilter(include=("*/p/*",)).wire())

    assert sent(stand) == {(SECOND, 1, 1), (CONTENT, 0, 0)}


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
def test_rules_that_forbid_a_link_forbid_the_next_page(stand, html, more):
    canonicalize(stand, html, **more)

    assert sent(stand) == set()


def test_stored_listing_is_continued_once_per_call(stand, selection):
    assert selection.select([job()]).jobs == []
    assert sent(stand) == {(SECOND, 0, 1)}
    stand.in_flight.clear([SECOND])

    selection.select([job()])
    assert sent(stand) == set()
    selection.select([job(request_id="r2")])
    assert sent(stand) == {(SECOND, 0, 1)}


def test_refresh_continues_an_unchanged_listing(stand, selection):
    result = fetch_result(
        job=job(refresh=True), outcome=OutcomeKind.NOT_MODIFIED, final_url=FIRST,
        fetched_at_ms=NOW_MS + 1,
    )  # fmt: skip

    stand.canonicalize(ResultBatch((result,)))

    assert (SECOND, 0, 1) in sent(stand)
