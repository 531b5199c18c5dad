"""Links of already stored pages are followed from the store, once per call and depth."""

import pytest

from aragog.crawl.pipeline.followed_pages import FULL, FollowedPages
from aragog.crawl.pipeline.messages import ResultBatch, UrlJob
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.revalidation import JobSelection
from aragog.fetch_record.outcome import OutcomeKind
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS, body, page

pytestmark = pytest.mark.redis

ROOT, P1, P2 = "http://site.test/", "http://site.test/1", "http://site.test/2"
OTHER = "http://other.test/"


@pytest.fixture
def followed_pages(redis_client):
    return FollowedPages(redis_client, prefix="t:")


@pytest.fixture
def discovery(pipeline_harness, followed_pages):
    """A store with a page of three links, one of them to another site."""
    pipeline_harness.store.write_pages(
        [page(ROOT, links=[P1, P2, OTHER], content=body("x"), facts={"outcome": "Fetched"})]
    )
    return Discovery(
        pipeline_harness.enqueuer,
        pipeline_harness.store,
        pipeline_harness.settings,
        pipeline_harness.walks,
        pipeline_harness.clock,
        followed_pages=followed_pages,
    )


@pytest.fixture
def selection(pipeline_harness, discovery):
    return JobSelection(
        pipeline_harness.store, pipeline_harness.in_flight, pipeline_harness.counters, discovery
    )


def job(url=ROOT, **more):
    return UrlJob(url=url, **{"depth": 2, "request_id": "r1", **more})


def sent(pipeline_harness):
    """URL, depth and refresh of each job sent since the last call."""
    batches = [m.message.jobs for m in pipeline_harness.sent.messages]
    pipeline_harness.sent.messages.clear()
    return {(job.url, job.depth, job.refresh) for jobs in batches for job in jobs}


def test_links_of_a_stored_page_are_followed(pipeline_harness, selection):
    selected = selection.select([job()])

    assert selected.jobs == []
    assert sent(pipeline_harness) == {(P1, 1, False), (P2, 1, False)}


def test_page_is_followed_once_per_call_and_again_at_a_greater_depth(pipeline_harness, selection):
    selection.select([job(depth=1)])
    assert sent(pipeline_harness) == {(P1, 0, False), (P2, 0, False)}
    pipeline_harness.in_flight.clear([P1, P2])

    selection.select([job(depth=1)])
    assert sent(pipeline_harness) == set()
    selection.select([job(depth=2)])
    assert sent(pipeline_harness) == {(P1, 1, False), (P2, 1, False)}
    pipeline_harness.in_flight.clear([P1, P2])
    selection.select([job(depth=1, request_id="r2")])
    assert sent(pipeline_harness) == {(P1, 0, False), (P2, 0, False)}


@pytest.mark.parametrize(
    ("facts", "more", "followed"),
    [
        ({}, {"depth": 0}, set()),
        ({"nofollow": 1}, {}, set()),
        ({}, {"url_filter": UrlFilter(exclude=("*/1",)).wire()}, {P2}),
    ],
    ids=["no depth", "nofollow", "filter"],
)
def test_links_from_the_store_obey_the_rules_for_links(
    pipeline_harness, selection, facts, more, followed
):
    write = page(ROOT, NOW_MS + 1, links=[P1, P2], content=body("x"), facts=facts)
    pipeline_harness.store.write_pages([write])

    selection.select([job(**more)])

    assert {url for url, _, _ in sent(pipeline_harness)} == followed


@pytest.mark.parametrize("outcome", [OutcomeKind.NOT_MODIFIED, OutcomeKind.BUSY])
def test_refresh_continues_after_an_unchanged_page(pipeline_harness, discovery, outcome):
    result = fetch_result(
        job=job(refresh=True), outcome=outcome, final_url=ROOT, fetched_at_ms=NOW_MS + 1
    )
    pipeline_harness.followed_pages = discovery.followed_pages

    pipeline_harness.canonicalize(ResultBatch((result,)))

    assert sent(pipeline_harness) - {(ROOT, 2, True)} == {(P1, 1, True), (P2, 1, True)}


def test_refresh_requests_each_page_once_per_call(pipeline_harness, discovery):
    options = EnqueueOptions(depth=1, refresh=True, request_id="r1")

    assert discovery._refresh([P1, P2], options) == 2
    pipeline_harness.in_flight.clear([P1, P2])
    sent(pipeline_harness)
    discovery._refresh([P1, P2], options)
    assert sent(pipeline_harness) == set()
    discovery._refresh([P1], EnqueueOptions(depth=2, refresh=True, request_id="r1"))
    assert sent(pipeline_harness) == {(P1, 2, False)}


def test_call_with_too_many_pages_follows_no_more_from_the_store(
    redis_client,
):
    pages = FollowedPages(redis_client, prefix="t2:", max_pages=1)

    assert pages.depths("r", [P1]) == [None]
    pages.add("r", {P1: 3})

    assert pages.depths("r", [P1, P2]) == [3, FULL]
    assert 0 < redis_client.ttl("t2:followed_pages:r") <= 172_800
