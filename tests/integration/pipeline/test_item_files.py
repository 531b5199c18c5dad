"""Files of items become jobs of their page's crawl and are stored with hash, type and size."""

import hashlib
from dataclasses import replace
from types import SimpleNamespace

import orjson
import pytest

from aragog.crawl.pipeline.crawl_records import REFRESHED
from aragog.crawl.pipeline.crawl_scope import Scope
from aragog.crawl.pipeline.followed_pages import FollowedPages
from aragog.crawl.pipeline.messages import FetchBatch, ResultBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages import page_scope
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.file_analysis import analyze_file
from aragog.crawl.stages.listings import ListingPage, Listings
from aragog.crawl.stages.reextract import walk
from aragog.crawl.stages.revalidation import JobSelection
from aragog.errors import BrokerUnavailable
from aragog.fetch_record.outcome import OutcomeKind
from aragog.pages.items import load_kinds
from aragog.settings import Settings
from aragog.settings.crawling import PipelineSettings
from aragog.urlstore.compression import compress
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS, body, page

pytestmark = pytest.mark.redis

LISTING, IMAGE, OTHER = "http://site.test/c", "http://cdn.test/1.png", "http://site.test/2.png"
KIND = {
    "pages": "*/c*",
    "each": "css:.card",
    "files": "image",
    "fields": {"image": {"select": "css:img::attr(src)", "type": "url"}},
}
SETTINGS = Settings(
    extract={"site.test": {"cards": KIND}}, pipeline=PipelineSettings(max_files_per_page=3)
)
STORED = {
    "v": 1, "site": "site.test", "files": ["image"],
    "items": [{"values": {"image": IMAGE}}, {"values": {"image": OTHER}}],
}  # fmt: skip
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256))
SHA256 = hashlib.sha256(PNG).hexdigest()
HTML = "".join(f'<div class=card><img src="{url}"></div>' for url in (IMAGE, OTHER))


@pytest.fixture
def harness(pipeline_harness, redis_client):
    followed = FollowedPages(redis_client, prefix="t:")
    return replace(pipeline_harness, settings=SETTINGS, followed_pages=followed)


class NoBroker:
    """A broker that does not respond."""

    def send_all(self, messages):
        raise BrokerUnavailable("the broker", "does not answer")


@pytest.fixture
def selection(harness):
    discovery = Discovery(
        harness.enqueuer, harness.store, SETTINGS, harness.walks, harness.clock,
        followed_pages=harness.followed_pages,
    )  # fmt: skip
    return JobSelection(harness.store, harness.in_flight, harness.counters, discovery)


def job(url=LISTING, **more):
    return UrlJob(url=url, **{"request_id": "r1", **more})


def checks_of(*rules):
    """The checks for a single crawl with these scope rules."""
    crawl = SimpleNamespace(scope=Scope.from_rules(rules), nofollow=False)
    return SimpleNamespace(get_crawl=lambda _: crawl)


def sent(harness):
    """The fetch jobs sent since the last call."""
    found = [m.message for m in harness.sent.messages if m.destination == Destination.FETCH]
    harness.sent.messages.clear()
    return [
        FetchBatch.read(batch.wire()).jobs[n] for batch in found for n in range(len(batch.jobs))
    ]


def result(harness, the_job, content, content_type, **more):
    (token,) = harness.spool.put_many([compress(content)])
    return fetch_result(
        job=the_job, outcome=OutcomeKind.FETCHED, fetched_at_ms=NOW_MS, status=200, token=token,
        content_type=content_type, body_bytes=len(content),
        body_hash=hashlib.sha256(content).hexdigest(), **more,
    )  # fmt: skip


def fetched(harness, *results):
    """Run the stages after the fetch."""
    for message in harness.canonicalize(ResultBatch(results)):
        harness.write(message.message)


def list_page(harness, html=HTML, **more):
    fetched(harness, result(harness, job(**more), html.encode(), "text/html"))


def image(harness, url=IMAGE, **more):
    fetched(harness, result(harness, job(url, file=True), PNG, "image/png", **more))


def shown(harness):
    return [item.values["image.file"] for item in harness.store.items.on_pages("cards", [LISTING])]


def test_files_of_items_become_jobs_of_their_pages_crawl(harness):
    list_page(harness, depth=2, crawl=7, priority=3)

    jobs = sent(harness)
    assert {j.url for j in jobs} == {IMAGE, OTHER}
    assert all(j.file and j.depth == 0 and j.crawl == 7 and j.priority == 3 for j in jobs)


def test_repeated_batch_requests_each_file_once(harness):
    list_page(harness)
    list_page(harness)

    assert sorted(j.url for j in sent(harness)) == sorted([IMAGE, OTHER])


def test_batch_interrupted_while_requesting_files_requests_them_when_repeated(harness):
    batch = ResultBatch((result(harness, job(), HTML.encode(), "text/html"),))
    harness.enqueuer.sender, sender = NoBroker(), harness.enqueuer.sender
    with pytest.raises(BrokerUnavailable):
        harness.canonicalize(batch)
    harness.enqueuer.sender = sender

    for message in harness.canonicalize(batch):
        harness.write(message.message)

    assert sorted(j.url for j in sent(harness)) == sorted([IMAGE, OTHER])


@pytest.mark.parametrize(
    ("html", "more"),
    [
        (HTML, {"url_filter": UrlFilter(exclude=("*.png",)).wire()}),
        (HTML, {"url_filter": "{"}),
        ('<meta name=robots content="nofollow">' + HTML, {}),
    ],
    ids=["exclude", "bad filter", "nofollow"],
)
def test_rules_that_forbid_a_link_forbid_a_file(harness, html, more):
    list_page(harness, html, **more)

    assert sent(harness) == []


def test_files_obey_exclusions_of_the_scope_but_not_its_hosts():
    checks = checks_of("domain:site.test", "-pattern:*/2.png")
    found = ListingPage(job(), LISTING, (), files=(IMAGE, OTHER))
    enqueued = []

    listings = Listings(load_kinds(SETTINGS.extract), checks, None, True)
    listings.follow([found], lambda _, urls: enqueued.extend(urls) or 0)

    assert enqueued == [IMAGE]


@pytest.mark.parametrize(("rule", "left_out"), [("type:text/html", False), ("-type:image/*", True)])
def test_crawl_of_one_page_type_includes_the_files_of_its_items(rule, left_out):
    the_result = fetch_result(job(IMAGE, file=True), content_type="image/png", status=200)
    analyses = {IMAGE: analyze_file(the_result, agent="aragog")}

    rules = page_scope.excluded_pages([the_result], analyses, checks_of(rule))

    assert rules == ({IMAGE: rule} if left_out else {})


def test_files_per_page_are_limited(harness):
    cards = "".join(f'<div class=card><img src="/{n}.png"></div>' for n in range(10))
    list_page(harness, cards)

    assert {j.url for j in sent(harness)} == {f"http://site.test/{n}.png" for n in range(3)}


def test_invalid_file_url_of_a_function_is_skipped(harness):
    items = [{"values": {"image": ["HTTP://Site.test/2.png", "nothing", 5, "http://[/"]}}]
    fields = {"items.cards": orjson.dumps(STORED | {"items": items})}
    harness.store.write_pages([page(LISTING, fields=fields, content=body("x"))])
    enqueued = []

    listings = Listings(
        load_kinds(SETTINGS.extract), harness.discovery.checks, harness.followed_pages, True
    )
    record = harness.store.get(LISTING)
    listings.follow_stored(
        [(job(), record)], harness.store, lambda _, urls: enqueued.extend(urls) or 0
    )

    assert enqueued == [OTHER]
    assert shown(harness) == [[None, None, None, None]]


def test_files_of_a_stored_page_are_requested_once_per_call(harness, selection):
    fields = {"items.cards": orjson.dumps(STORED)}
    harness.store.write_pages([page(LISTING, fields=fields, content=body("x"))])

    assert selection.select([job()]).jobs == []
    assert {(j.url, j.file) for j in sent(harness)} == {(IMAGE, True), (OTHER, True)}
    harness.in_flight.clear([IMAGE, OTHER])

    selection.select([job()])
    assert sent(harness) == []
    selection.select([job(request_id="r2")])
    assert {j.url for j in sent(harness)} == {IMAGE, OTHER}


def test_requested_refresh_refetches_files_and_a_scheduled_one_does_not(harness):
    list_page(harness, refresh=True)
    assert all(j.refresh for j in sent(harness))
    harness.in_flight.clear([IMAGE, OTHER])

    list_page(harness, refresh=True, crawl=REFRESHED, request_id="r2")
    assert [j.refresh for j in sent(harness)] == [False, False]


def test_file_is_stored_with_hash_type_and_size_in_any_order(harness):
    image(harness)
    list_page(harness)

    stored = {"url": IMAGE, "sha256": SHA256, "type": "image/png", "bytes": len(PNG)}
    assert shown(harness) == [stored, None]
    assert harness.store.content(IMAGE).body == PNG
    record = harness.store.get(IMAGE)
    assert (record.fields, record.facts["file"]) == ({}, 1)


def test_file_that_arrives_twice_is_stored_once(harness):
    list_page(harness)
    image(harness)
    image(harness)

    assert shown(harness)[0]["sha256"] == SHA256


def test_taken_down_file_is_no_longer_shown(harness):
    list_page(harness)
    image(harness)
    harness.store.takedowns.take_down(url=IMAGE)

    assert shown(harness) == [None, None]


def test_file_is_not_shown_for_a_purpose_that_its_site_refuses(harness):
    list_page(harness)
    image(harness, headers=(("Content-Usage", "search=n"),))

    (first, _) = harness.store.items.page("cards", "site.test", purpose="search").items
    assert first.values["image.file"] is None
    assert shown(harness)[0]["sha256"] == SHA256


def test_304_keeps_the_data_of_a_file(harness):
    list_page(harness)
    image(harness)
    confirmed = fetch_result(
        job=job(IMAGE, file=True, refresh=True), outcome=OutcomeKind.NOT_MODIFIED, status=304,
        fetched_at_ms=NOW_MS + 1,
    )  # fmt: skip
    fetched(harness, confirmed)

    assert shown(harness)[0] == {
        "url": IMAGE, "sha256": SHA256, "type": "image/png", "bytes": len(PNG),
    }  # fmt: skip


def test_truncated_file_is_not_stored(harness):
    image(harness, truncated=True, reason="the connection ended")

    record = harness.store.get(IMAGE)
    assert (record.facts["outcome"], record.content_key) == ("Unreadable", None)
    assert record.facts["file"] == 1


def test_file_with_the_type_of_a_page_is_stored_as_a_page(harness):
    html = b"<title>a page</title>"
    fetched(harness, result(harness, job("http://site.test/p", file=True), html, "text/html"))

    record = harness.store.get("http://site.test/p")
    assert record.fields["page.title"] == b'"a page"'
    assert "file" not in record.facts


def test_files_are_refreshed_as_files_and_pages_as_pages(harness, selection):
    image(harness)
    harness.store.write_pages([page(OTHER, content=body("x"), facts={"outcome": "Fetched"})])
    jobs = [job(IMAGE, refresh=True), job(OTHER, refresh=True, file=True)]

    selected = selection.select(jobs).jobs

    assert {j.url: j.file for j in selected} == {IMAGE: True, OTHER: False}


def test_reextraction_skips_files(harness):
    list_page(harness)
    image(harness)

    urls = [url for part in walk(harness.store, None, everything=True) for url in part.urls]

    assert urls == [LISTING]
