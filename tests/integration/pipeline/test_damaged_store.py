"""A store with one of four files damaged: pages in the other files are stored, and none is lost."""

from dataclasses import replace
from pathlib import Path

import pytest

from aragog.crawl.pipeline.messages import PageBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.damaged import WAIT_MS
from aragog.crawl.stages.page_updates import PageUpdate, to_blob
from aragog.crawl.stages.revalidation import JobSelection
from aragog.urlstore.compression import compress, content_key
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, body, node_id, page
from zengraph.tables.sqlite import SqliteTables

SHARDS = 4
URLS = [f"http://h{number}.example/" for number in range(40)]
LOST = [url for url in URLS if node_id(url)[0] % SHARDS == 0]
WELL = [url for url in URLS if url not in LOST]


class Stage:
    """The stages of a worker on SQLite."""

    def __init__(self, harness, folder: Path, content: MemoryContent) -> None:
        self.harness = harness
        self.tables = SqliteTables(folder, shards=SHARDS, clock=harness.clock)
        self.content = content
        settings = harness.settings
        self.store = UrlStore(
            self.tables, self.content, settings.store, harness.clock, settings.refresh
        )
        self.spool = harness.spool
        self.pipeline = replace(harness, store=self.store)

    def batch(self, urls, at_ms=NOW_MS + 10):
        bodies = self.spool.put_many([compress(url.encode()) for url in urls])
        planned = [
            PageUpdate(
                page(url, at_ms, links=["http://target.example/"], fields={"title": b"new"}),
                token,
                len(url),
            )
            for url, token in zip(urls, bodies, strict=True)
        ]
        (token,) = self.spool.put_many([to_blob(planned)])
        jobs = tuple(UrlJob(url=url, attempt=2) for url in urls)
        self.harness.in_flight.mark(urls)
        return PageBatch(token, jobs, tuple(bodies))


@pytest.fixture
def stage(pipeline_harness, tmp_path):
    """A store with every URL, whose file 0 was then overwritten."""
    folder, content = tmp_path / "store", MemoryContent()
    first = Stage(pipeline_harness, folder, content)
    pages = [
        page(url, NOW_MS - 100, content=body(url), fields={"title": b"old"}, due_at_ms=NOW_MS - 1)
        for url in URLS
    ]
    first.store.write_pages(pages)
    first.store.close()
    (folder / "00.db").write_bytes(b"not a database" * 10_000)
    a_stage = Stage(pipeline_harness, folder, content)
    a_stage.tables.create()
    yield a_stage
    a_stage.store.close()


def test_pages_of_other_files_are_stored_and_the_rest_is_retried_later(stage):
    sends = stage.pipeline.write(stage.batch(URLS))

    assert [record.fields["title"] for record in stage.store.get_many(WELL)] == [b"new"] * len(WELL)
    back = [job for send in sends for job in send.message.jobs]
    assert sorted(job.url for job in back) == sorted(LOST)
    assert {job.attempt for job in back} == {2}
    assert all(send.destination == Destination.FETCH for send in sends)
    assert {send.delay_ms for send in sends} == {WAIT_MS}
    assert all(stage.harness.in_flight.contains(url) for url in LOST)
    assert not any(stage.harness.in_flight.contains(url) for url in WELL)


def test_url_of_a_damaged_file_is_not_fetched_until_replaced(stage):
    jobs = tuple(UrlJob(url=url, refresh=True) for url in LOST)
    selection = JobSelection(stage.store, stage.harness.in_flight, stage.harness.counters)

    selected = selection.select(jobs)

    assert selected.jobs == []
    assert sorted(job.url for job, _ in selected.postponed) == sorted(LOST)
    assert {wait_ms for _, wait_ms in selected.postponed} == {WAIT_MS}


def test_links_of_new_pages_are_kept_while_a_file_is_damaged(stage):
    stage.pipeline.write(stage.batch(WELL))
    stage.store.maintenance.repair(grace_s=0)
    while stage.store.maintenance.compact_links(1000).left:
        pass

    links = stage.store.links.inlinks("http://target.example/", limit=100)

    assert sorted(link.url for link in links.items) == sorted(WELL)


def test_refresh_continues_without_the_damaged_file(stage):
    stage.harness.clock.advance_ms(10_000)
    stage.store.schedule.take_tick("refresh", NOW_MS - 60_000, 1)

    stage.pipeline.refresh()

    sent = set(stage.harness.sent.urls())
    assert sent
    assert sent <= set(WELL)


def test_repair_replaces_the_file_and_refetches_lost_pages(stage):
    report = stage.store.maintenance.repair(grace_s=0)

    assert len(report.salvaged) == 1
    assert all(stage.store.serves(url) for url in URLS)
    stage.harness.clock.advance_ms(1000)
    due = {
        page.url for page in stage.store.schedule.claim_due(stage.harness.clock.now_ms(), 100, 60)
    }
    assert set(LOST) <= due
    assert [stage.content.get(content_key(url)) for url in LOST] == [None] * len(LOST)
    assert stage.pipeline.write(stage.batch(LOST, NOW_MS + 5000)) == []
    assert [record.fields["title"] for record in stage.store.get_many(LOST)] == [b"new"] * len(LOST)
