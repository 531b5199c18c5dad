"""Reextraction of stored pages, watch messages, and the freshness of the store."""

import orjson
import pytest

from aragog.crawl.stages.reextract import ReextractBatch, reextract_batch, walk
from aragog.crawl.stages.watch import WatchBatch, apply_watches
from aragog.errors import InvalidMessage
from aragog.urlstore.compression import compress
from aragog.urlstore.records import ContentWrite
from aragog.urlstore.refresh_policy import Seen
from richpins.rich_pins import EXTRACTOR_VERSION
from tests.support.stores import NOW_MS, page

pytestmark = pytest.mark.redis
A, B = "http://a.example/", "http://b.example/"
HTML = b"<html><head><title>New title</title></head><body><p>words</p></body></html>"


def stored(store_harness, url, fields, *, version=0):
    content = ContentWrite(
        compress(HTML), length_bytes=len(HTML), meta={"url": url, "content_type": "text/html"}
    )
    marked = {**fields, "page.extractor_version": orjson.dumps(version)}
    provenance = dict.fromkeys(fields, "title 0")
    store_harness.store.write_pages(
        [page(url, fields=marked, provenance=provenance, content=content)]
    )


def again(store_harness, **which):
    urls = [u for stretch in walk(store_harness.store, None, **which) for u in stretch.urls]
    return reextract_batch(ReextractBatch(tuple(urls)), store_harness.store, agent="aragog")


def test_page_is_reextracted_from_its_content(pipeline_harness):
    stored(pipeline_harness, A, {"page.title": b'"Old title"'})
    assert again(pipeline_harness) == {"changed": 1}

    record = pipeline_harness.store.get(A, info=True)
    assert record.fields["page.title"] == b'"New title"'
    assert record.fields["page.extractor_version"] == orjson.dumps(EXTRACTOR_VERSION)
    assert record.info["page.title"].at_ms == NOW_MS


def test_reextracting_twice_changes_nothing(pipeline_harness):
    stored(pipeline_harness, A, {"page.title": b'"Old title"'})
    again(pipeline_harness)

    assert again(pipeline_harness) == {}
    assert reextract_batch(ReextractBatch((A,)), pipeline_harness.store, agent="aragog") == {
        "read": 1
    }


def test_fields_no_longer_found_are_deleted_and_those_of_others_stay(pipeline_harness):
    stored(pipeline_harness, A, {"product.price": b'"5"'})
    pipeline_harness.store.put(A, {"team.note": b"x", "page.title": b"ours"}, at_ms=NOW_MS + 1)
    again(pipeline_harness)

    fields = pipeline_harness.store.get(A).fields
    assert "product.price" not in fields
    assert fields["team.note"] == b"x"
    assert fields["page.title"] == b"ours"


def test_other_hosts_and_current_pages_are_skipped(pipeline_harness):
    stored(pipeline_harness, A, {"page.title": b'"Old"'})
    stored(pipeline_harness, B, {"page.title": b'"Old"'})
    stored(pipeline_harness, "http://a.example/new", {}, version=EXTRACTOR_VERSION)

    assert sum(again(pipeline_harness, host="a.example").values()) == 1
    assert pipeline_harness.store.get(B).fields["page.title"] == b'"Old"'
    assert sum(again(pipeline_harness, host="a.example", everything=True).values()) == 2


def test_walk_continues_where_it_stopped(pipeline_harness):
    urls = [f"http://a.example/{n}" for n in range(450)]
    for url in urls:
        pipeline_harness.store.put(url, {"x": b"1"})
        pipeline_harness.store.put_content(url, HTML)
    first, second, *_ = stretches = list(walk(pipeline_harness.store, None))
    rest = [u for stretch in walk(pipeline_harness.store, first.cursor) for u in stretch.urls]

    assert sorted([*first.urls, *rest]) == sorted(urls)
    assert 0 < first.done < second.done <= 1
    assert stretches[-1].done == 1


def test_watch_messages_may_arrive_in_any_order(pipeline_harness):
    for batch in (
        WatchBatch((A, B), "shop", watch=False, at_ms=NOW_MS + 5),
        WatchBatch((A, "nonsense", B), "shop", watch=True, at_ms=NOW_MS),
        WatchBatch((B,), "kitchen", watch=True, at_ms=NOW_MS),
    ):
        apply_watches(
            WatchBatch.read(orjson.loads(orjson.dumps(batch.wire()))),
            pipeline_harness.store.schedule,
        )

    assert pipeline_harness.store.schedule.watchers(A) == []
    assert pipeline_harness.store.schedule.watchers(B) == ["kitchen"]


@pytest.mark.parametrize("wire", [None, {}, {"v": 1}, {"v": 9, "urls": []}])
def test_messages_of_another_version_are_refused(wire):
    for cls in (WatchBatch, ReextractBatch):
        with pytest.raises(InvalidMessage):
            cls.read(wire)


def test_freshness_reports_ages_and_lateness_by_type(pipeline_harness):
    hour_ms = 3_600_000
    for n in range(20):
        at_ms = NOW_MS - n * hour_ms
        seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
        fields = {"product.price": b"1"}
        facts = {"page_type": "product"}
        pipeline_harness.store.write_pages(
            [page(f"http://a.example/{n}", at_ms, seen=seen, fields=fields, facts=facts)]
        )
    freshness = pipeline_harness.store.maintenance.freshness()["product"]

    assert freshness.pages == 20
    assert freshness.age_p50_s == 10 * 3600
    assert freshness.age_p95_s == 19 * 3600
    assert 0.2 < freshness.on_time < 0.5


def test_postponed_page_is_late_by_its_original_plan(pipeline_harness):
    at_ms = NOW_MS - 10 * 3_600_000
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
    fields = {"product.price": b"1"}
    facts = {"page_type": "product"}
    pipeline_harness.store.write_pages([page(A, at_ms, seen=seen, fields=fields, facts=facts)])
    pipeline_harness.store.schedule.plan(A, NOW_MS + 10**9)

    assert pipeline_harness.store.maintenance.freshness()["product"].on_time == 0


def test_freshness_of_a_large_store_uses_a_sample(pipeline_harness):
    pipeline_harness.store.write_pages(
        [
            page(f"http://a.example/{n}", fields={"t": b"1"}, facts={"page_type": "page"})
            for n in range(600)
        ]
    )
    freshness = pipeline_harness.store.maintenance.freshness(sample=32)["page"]

    assert 0 < freshness.pages <= 32
    assert freshness.on_time == 1


def test_page_that_killed_two_processes_is_given_up(pipeline_harness):
    marks = pipeline_harness.run_marks
    for _ in range(2):
        marks.start_run(["reextract", A])

    counts = reextract_batch(
        ReextractBatch((A,)), pipeline_harness.store, agent="aragog", marks=marks
    )

    assert counts == {"given_up": 1}
