"""The store stage over ports in memory: what is written, freed, cleared and fetched again."""

import orjson
import pytest

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import PageBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination, UserTask
from aragog.crawl.stages.page_updates import PageUpdate, to_blob
from aragog.crawl.stages.store import StoreStage
from aragog.fetch_record.outcome import FetchRecord, OutcomeKind
from aragog.urlstore.compression import compress
from aragog.urlstore.records import Likeness
from aragog.urlstore.refresh_policy import Seen
from tests.support.stores import NOW_MS, page

A, B = "http://a.example/", "http://b.example/"


@pytest.fixture
def stage(ports):
    return StoreStage(
        ports.spool, ports.store, ports.in_flight, ports.counters, ports.returning_jobs
    )


def batch(ports, *urls, attempt=0):
    bodies = ports.spool.put_many([compress(url.encode()) for url in urls])
    updates = [
        PageUpdate(page(url, NOW_MS), token, len(url))
        for url, token in zip(urls, bodies, strict=True)
    ]
    (token,) = ports.spool.put_many([to_blob(updates)])
    ports.in_flight.mark(urls)
    jobs = tuple(UrlJob(url=url, attempt=attempt) for url in urls)
    return PageBatch(token, jobs, tuple(bodies))


def test_pages_are_stored_with_their_bodies_and_everything_is_released(stage, ports):
    assert stage.run(batch(ports, A, B)) == []

    assert [ports.store.content(url).body for url in (A, B)] == [A.encode(), B.encode()]
    assert ports.spool.blobs == {}
    assert ports.in_flight.urls == set()
    assert ports.counters.counts[counters.STORED] == 2


def test_unknown_fields_are_ignored_in_a_page_and_kept_in_its_report(stage, ports):
    report = FetchRecord.read({"url": A, "outcome": "Fetched", "final_url": A, "colour": "red"})
    seen = Seen(outcome="Fetched", fetched_at_ms=NOW_MS)
    blob = to_blob([PageUpdate(page(A, NOW_MS, report=report, seen=seen))])
    head, _, links = blob.partition(b"\n")
    (update,) = orjson.loads(head)
    newer = update | {"from_the_future": 1, "seen": {**update["seen"], "more": 2}}
    (token,) = ports.spool.put_many([orjson.dumps([newer]) + b"\n" + links])

    assert stage.run(PageBatch(token, (UrlJob(url=A),))) == []

    assert ports.store.pages.fetch_report(A).unknown == {"colour": "red"}


def test_future_timestamp_of_a_worker_does_not_block_later_writes(stage, ports, caplog):
    ahead_ms = NOW_MS + 10**11
    facts, seen = {"fetched_at_ms": ahead_ms}, Seen(outcome="Fetched", fetched_at_ms=ahead_ms)
    a_page = page(A, ahead_ms, fields={"page.title": b"old"}, facts=facts, seen=seen)
    (token,) = ports.spool.put_many([to_blob([PageUpdate(a_page)])])

    stage.run(PageBatch(token, (UrlJob(url=A),)))
    now_ms = ports.store.clock.now_ms()
    ports.store.put(A, {"page.title": b"new"}, at_ms=now_ms + 1)

    record = ports.store.get(A)
    assert record.fields == {"page.title": b"new"}
    assert record.facts["fetched_at_ms"] <= now_ms
    assert f"fetch of {A}: its time is" in caplog.text


def test_page_older_than_the_stored_one_is_dropped_counted_and_logged(stage, ports, caplog):
    """Regression: 27 of 706 pages silently kept their old body."""
    hour_ms = 3_600_000
    for at_ms, title in ((NOW_MS, b"new"), (NOW_MS - hour_ms, b"late")):
        a_page = page(A, at_ms, fields={"page.title": title}, facts={"fetched_at_ms": at_ms})
        (token,) = ports.spool.put_many([to_blob([PageUpdate(a_page)])])
        stage.run(PageBatch(token, (UrlJob(url=A),)))

    assert ports.store.get(A).fields == {"page.title": b"new"}
    assert ports.counters.counts[counters.OLDER] == 1
    (record,) = [r for r in caplog.records if "fetched later" in r.message]
    assert (record.levelname, "1 pages", "3600.0 s") == (
        "WARNING", record.message[:7], record.message[-8:],
    )  # fmt: skip


def test_page_with_an_expired_body_is_fetched_again_and_stays_in_flight(stage, ports):
    a_batch = batch(ports, A, B)
    ports.spool.free(a_batch.bodies[:1])

    (message,) = stage.run(a_batch)

    assert message.destination is Destination.FETCH
    (job,) = message.message.jobs
    assert (job.url, job.attempt, job.refresh) == (A, 1, False)
    assert ports.in_flight.urls == {A}


@pytest.mark.parametrize("links", [[], [[B, "", ""]], [[B, "", ""]] * 2, [1, 99]])
def test_page_updates_of_another_version_are_fetched_again(stage, ports, links):
    a_batch = batch(ports, A)
    (update,) = orjson.loads(ports.spool.blobs[a_batch.token].partition(b"\n")[0])
    ports.spool.blobs[a_batch.token] = orjson.dumps([update | {"links": links}])

    (message,) = stage.run(a_batch)

    assert [job.url for job in message.message.jobs] == [A]
    assert ports.in_flight.urls == {A}
    assert ports.spool.blobs == {}


def test_batch_repeated_after_its_end_fetches_its_urls_again(stage, ports):
    a_batch = batch(ports, A)
    stage.run(a_batch)

    (message,) = stage.run(a_batch)

    assert [job.url for job in message.message.jobs] == [A]


def test_body_lost_at_every_attempt_ends_as_a_failure(stage, ports):
    a_batch = batch(ports, A, attempt=ports.settings.pipeline.max_attempts - 1)
    ports.spool.free([a_batch.token])

    (message,) = stage.run(a_batch)

    assert message.destination is Destination.CANONICALIZE
    assert [result.fetch.outcome for result in message.message.results] == [OutcomeKind.UNREACHABLE]


def test_custom_task_gets_only_the_stored_pages(ports):
    own = UserTask("team.page_ready", "team")
    stage = StoreStage(
        ports.spool, ports.store, ports.in_flight, ports.counters, ports.returning_jobs, own
    )
    a_batch = batch(ports, A, B)
    ports.spool.free(a_batch.bodies[:1])

    again, ready = stage.run(a_batch)

    assert again.destination is Destination.FETCH
    assert (ready.destination, ready.even_when_full) == (own, True)
    assert [shown["url"] for shown in ready.message.wire()["pages"]] == [B]


def test_links_to_a_taken_down_host_are_not_stored(stage, ports):
    ports.store.takedowns.take_down(host="gone.example")
    update = PageUpdate(page(A, NOW_MS, links=[B, "http://gone.example/x"]))
    (token,) = ports.spool.put_many([to_blob([update])])

    stage.run(PageBatch(token, (UrlJob(url=A),)))

    assert [link.url for link in ports.store.links.outlinks(A).items] == [B]


def test_custom_task_gets_the_url_under_which_the_page_was_stored(ports):
    stage = StoreStage(
        ports.spool, ports.store, ports.in_flight, ports.counters, ports.returning_jobs,
        page_ready_task=UserTask("team.page", "team"),
    )  # fmt: skip
    ports.store.write_pages(
        [page(B, NOW_MS - 5, links=[], facts={"status": 200}, likeness=Likeness("b"))]
    )
    (body,) = ports.spool.put_many([compress(b"a")])
    a_page = page(A, NOW_MS, canonical_url=B, links=[], likeness=Likeness("a"))
    (token,) = ports.spool.put_many([to_blob([PageUpdate(a_page, body, 1)])])

    (message,) = stage.run(PageBatch(token, (UrlJob(url=A),), (body,)))

    assert [ready["canonical_url"] for ready in message.message.wire()["pages"]] == [A]
