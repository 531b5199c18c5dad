"""The canonicalize stage over ports in memory: page updates, links, sitemaps and lost runs."""

from dataclasses import replace

import pytest

from aragog.crawl.pipeline.messages import ResultBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.page_updates import from_blob
from aragog.fetch_record.outcome import OutcomeKind
from aragog.settings import FetchSettings, Settings
from aragog.urlstore.compression import compress
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS

A, B = "http://a.example/", "http://a.example/b"


@pytest.fixture
def stage(ports):
    return CanonicalizeStage(
        ports.spool, ports.store, ports.in_flight, ports.marks,
        ports.discovery, ports.returning_jobs, ports.settings,
    )  # fmt: skip


def result(ports, url=A, html=b"<title>t</title>", outcome=OutcomeKind.FETCHED, **job):
    token = ports.spool.put_many([compress(html)])[0] if html is not None else None
    return fetch_result(
        job=UrlJob(url=url, **job), outcome=outcome, final_url=url, status=200,
        fetched_at_ms=NOW_MS, content_type="text/html", token=token,
    )  # fmt: skip


def updates(ports, message):
    assert message.destination is Destination.STORE
    (blob,) = ports.spool.get_many([message.message.token])
    return {update.write.url: update for update in from_blob(blob)}


def test_batch_becomes_one_message_to_the_store_stage(stage, ports):
    links = b'<link rel=canonical href="/c"><a href="/x">x</a>'
    present, gone = result(ports, A, links), result(ports, B, None, OutcomeKind.GONE)

    (message,) = stage.run(ResultBatch((present, gone)))

    planned = updates(ports, message)
    assert planned[A].write.canonical_url == "http://a.example/c"
    assert [link.target for link in planned[A].write.links] == ["http://a.example/x"]
    assert planned[A].token == present.token
    assert planned[B].write.facts["outcome"] == "Gone"
    assert ports.marks.begun == {}


def test_links_are_followed_within_the_domain_while_depth_remains(stage, ports):
    html = b'<a href="/x">x</a><a href="http://other.example/">o</a><a rel=nofollow href=/n>n</a>'

    stage.run(ResultBatch((result(ports, A, html, depth=2), result(ports, B, html))))

    assert ports.sent.urls() == ["http://a.example/x"]
    assert ports.sent.messages[0].message.jobs[0].depth == 1


def test_sitemap_entries_are_enqueued_and_the_sitemap_is_not_a_page(stage, ports):
    xml = b"<urlset><url><loc>http://a.example/1</loc></url></urlset>"

    (message,) = stage.run(ResultBatch((result(ports, A, xml, sitemap=True),)))

    assert ports.sent.urls() == ["http://a.example/1"]
    assert updates(ports, message)[A].token is None


def test_page_with_an_expired_body_is_fetched_again_and_the_others_stored(stage, ports):
    lost, kept = result(ports, A), result(ports, B)
    ports.spool.free([lost.token])

    to_store, to_fetch = stage.run(ResultBatch((lost, kept)))

    assert list(updates(ports, to_store)) == [B]
    assert [(job.url, job.attempt) for job in to_fetch.message.jobs] == [(A, 1)]


def test_batch_that_lost_a_run_is_split_into_its_pages(stage, ports):
    batch = ResultBatch((result(ports, A), result(ports, B), result(ports, A + "n", None)))
    ports.marks.start_run([some_result.token for some_result in batch.results if some_result.token])

    messages = stage.run(batch)

    assert {message.destination for message in messages} == {Destination.CANONICALIZE}
    assert [len(message.message.results) for message in messages] == [1, 1, 1]


def test_page_that_lost_two_runs_alone_is_stored_as_unreadable(stage, ports):
    fetched = result(ports, A)
    for _ in range(2):
        ports.marks.start_run([fetched.token])

    (message,) = stage.run(ResultBatch((fetched,)))

    assert updates(ports, message)[A].write.facts["outcome"] == "Unreadable"


def test_page_taken_down_meanwhile_is_dropped_with_its_body(stage, ports):
    fetched = result(ports, A)
    ports.in_flight.mark([A])
    ports.store.takedowns.take_down(url=A)

    assert stage.run(ResultBatch((fetched,))) == []
    assert ports.spool.blobs == {}
    assert ports.in_flight.urls == set()


@pytest.mark.parametrize(
    ("html", "headers"),
    [
        (b'<meta name="examplebot" content="noindex"><title>t', ()),
        (b"<title>t", (("X-Robots-Tag", "examplebot: noindex"),)),
    ],
    ids=["meta", "header"],
)
@pytest.mark.parametrize(
    "user_agent", ["examplebot/1.0", "Mozilla/5.0 (compatible; ExampleBot/2; +https://e.test/)"]
)
def test_page_rules_match_the_product_token_of_the_configured_agent(
    stage, ports, html, headers, user_agent
):
    stage = replace(stage, settings=Settings(fetch=FetchSettings(user_agent=user_agent)))
    fetched = result(ports, A, html)
    fetched = replace(fetched, fetch=replace(fetched.fetch, headers=headers))

    (message,) = stage.run(ResultBatch((fetched,)))

    assert updates(ports, message)[A].write.facts["noindex"] == 1


def test_page_rule_for_aragog_does_not_apply_to_another_agent(stage, ports):
    html = b'<meta name="aragog" content="noindex"><title>t'

    (message,) = stage.run(ResultBatch((result(ports, A, html),)))

    assert updates(ports, message)[A].write.facts["noindex"] == 0
