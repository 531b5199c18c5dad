"""Fetched pages whose canonical tags name others: what the store then shows for each URL."""

import pytest

from aragog.crawl.pipeline.messages import FetchResult, ResultBatch, UrlJob
from aragog.crawl.pipeline.packed_body import pack
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.pipeline.url_filter import UrlFilter
from aragog.crawl.stages.page_updates import failure_update
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.settings import Settings
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS, page

pytestmark = pytest.mark.redis

SITE = "https://shop.example"
LIST, SECOND = f"{SITE}/list", f"{SITE}/list?page=2"
WORDS = " ".join(f"word{n} of the article" for n in range(40))


def html(title, text, canonical=None):
    """A page; its navigation is the same everywhere."""
    link = f'<link rel="canonical" href="{canonical}">' if canonical else ""
    menu = "".join(f"<li><a href=/{n}>Section {n}</a>" for n in range(60))
    return f"<html><head><title>{title}</title>{link}</head><body><nav>{menu}</nav><main><h1>{title}</h1><p>{text}</p></main>"


def crawl(harness, *pages, **job):
    """Read and store each (URL, markup) in order; returns the messages sent."""
    for url, markup in pages:
        harness.clock.advance_ms(1000)
        packed = pack(markup.encode())
        (token,) = harness.spool.put_many([packed.blob])
        result = fetch_result(
            job=UrlJob(url=url, **job), outcome=OutcomeKind.FETCHED, final_url=url, status=200,
            fetched_at_ms=harness.clock.now_ms(), content_type="text/html", token=token,
            body_hash=packed.sha256,
        )  # fmt: skip
        harness.in_flight.mark([url])
        (message,) = [
            m
            for m in harness.canonicalize(ResultBatch((result,)))
            if m.destination is Destination.STORE
        ]
        harness.write(message.message)


def title(harness, url):
    record = harness.store.get(url, ["page.title"])
    return record and record.fields["page.title"].decode().strip('"')


def test_second_list_page_does_not_replace_the_list(pipeline_harness):
    crawl(
        pipeline_harness,
        (LIST, html("Page one", WORDS)),
        (SECOND, html("Page two", "lamp chair table " * 20, "/list")),
    )

    assert title(pipeline_harness, LIST) == "Page one"
    assert title(pipeline_harness, SECOND) == "Page two"
    assert b"Page one" in pipeline_harness.store.content(LIST).body


def test_variant_with_a_different_counter_is_an_alias(pipeline_harness):
    crawl(
        pipeline_harness,
        (LIST, html("Article", f"{WORDS} 17 views")),
        (f"{LIST}?ref=home", html("Article", f"{WORDS} 18 views", "/list")),
    )

    assert pipeline_harness.store.resolve(f"{LIST}?ref=home") == LIST


@pytest.mark.parametrize(
    "placeholder",
    ["undefined", "null", "{{ canonical }}", f"{SITE}/${{slug}}", "shop.example/p/1", "$URL"],
)
def test_placeholder_canonical_url_does_not_merge_two_pages(pipeline_harness, placeholder):
    first, second = f"{SITE}/p/1", f"{SITE}/p/2"
    crawl(
        pipeline_harness,
        (first, html("One", WORDS, placeholder)),
        (second, html("Two", WORDS, placeholder)),  # even with the same text
    )

    assert [title(pipeline_harness, url) for url in (first, second)] == ["One", "Two"]
    assert [pipeline_harness.store.resolve(url) for url in (first, second)] == [first, second]


@pytest.mark.parametrize(
    ("job", "asked"),
    [
        ({"depth": 2}, True),
        ({"depth": 0}, False),
        ({"depth": 1, "url_filter": UrlFilter(exclude=("*/shared",)).wire()}, False),
    ],
)
def test_disputed_canonical_url_is_requested_once_if_links_are_followed(
    pipeline_harness, job, asked
):
    pages = [
        (f"{SITE}/p/{n}", html(f"Product {n}", f"thing{n} " * 40, "/shared")) for n in range(4)
    ]
    crawl(pipeline_harness, *pages, **job)

    assert [title(pipeline_harness, url) for url, _ in pages] == [f"Product {n}" for n in range(4)]
    assert pipeline_harness.sent.urls().count(f"{SITE}/shared") == asked
    pipeline_harness.in_flight.clear([f"{SITE}/shared"])
    crawl(pipeline_harness, *pages, **job)
    assert pipeline_harness.sent.urls().count(f"{SITE}/shared") == asked


def test_fetching_a_shared_canonical_url_decides_for_its_pages(pipeline_harness):
    first, second, shared = (f"{SITE}/{name}" for name in ("p/1", "p/2", "shared"))
    pages = [
        (first, html("One", WORDS, "/shared")),
        (second, html("Two", "another text " * 30, "/shared")),
    ]
    crawl(pipeline_harness, *pages, (shared, html("One", WORDS)), *pages)

    assert pipeline_harness.store.resolve(first) == shared
    assert pipeline_harness.store.resolve(second) == second


def test_canonical_url_is_followed_through_known_redirects_and_failures(pipeline_harness):
    """A names B, which redirects to C, which is gone, so A is not an alias."""
    harness = pipeline_harness
    b, c = f"{SITE}/b", f"{SITE}/c"
    gone = FetchRecord(
        url=c, final_url=c, outcome=OutcomeKind.GONE, status=404, fetched_at_ms=NOW_MS
    )
    harness.store.write_pages(
        [failure_update(FetchResult(job=UrlJob(url=c), fetch=gone), Settings()).write]
    )
    harness.store.write_pages(
        [
            page(
                b,
                final_url=c,
                canonical_url=b,
                fields={"page.title": b'"B"'},
                facts={"status": 200},
            )
        ]
    )

    crawl(harness, (f"{SITE}/a", html("A", WORDS, "/b")))

    assert harness.store.resolve(f"{SITE}/a") == f"{SITE}/a"
    assert title(harness, f"{SITE}/a") == "A"
