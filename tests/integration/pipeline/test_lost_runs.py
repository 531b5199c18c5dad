"""A page that kills the process that reads it loses no other page and is stored as Unreadable."""

from dataclasses import replace

import pytest

from aragog.crawl.pipeline import counters
from aragog.crawl.pipeline.messages import ResultBatch, UrlJob
from aragog.crawl.pipeline.packed_body import PLAIN
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.page_updates import from_blob
from aragog.errors import StoreUnavailable
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.compression import compress
from tests.support.fetch_results import fetch_result
from tests.support.stores import NOW_MS

pytestmark = pytest.mark.redis


def batch(store_harness, *bodies):
    """One fetched page for each body."""
    blobs = [compress(body) for body in bodies]
    tokens = store_harness.spool.put_many(blobs)
    urls = [f"http://site.example/{n}" for n in range(len(bodies))]
    return ResultBatch(
        tuple(
            fetch_result(
                job=UrlJob(url=url, priority=3), outcome=OutcomeKind.FETCHED, final_url=url, status=200,
                fetched_at_ms=NOW_MS, content_type="text/html", token=token,
            )
            for url, token in zip(urls, tokens, strict=True)
        )
    )  # fmt: skip


def lose_run(store_harness, one_batch):
    """The process was killed after it had started to read."""
    store_harness.run_marks.start_run([a.token for a in one_batch.results])


def written(store_harness, sends):
    """The planned writes in the message to `store`."""
    (send,) = [s for s in sends if s.destination == Destination.STORE]
    (blob,) = store_harness.spool.get_many([send.message.token])
    return [planned.write for planned in from_blob(blob)]


def test_batch_of_a_lost_process_is_split_into_its_pages(pipeline_harness):
    one_batch = batch(pipeline_harness, b"<title>A</title>", b"<title>B</title>")
    lose_run(pipeline_harness, one_batch)

    sends = pipeline_harness.canonicalize(one_batch)

    assert [s.destination for s in sends] == [Destination.CANONICALIZE, Destination.CANONICALIZE]
    assert [[a.fetch.final_url for a in s.message.results] for s in sends] == [
        ["http://site.example/0"],
        ["http://site.example/1"],
    ]
    assert {s.priority for s in sends} == {3}
    assert pipeline_harness.counters.read()[counters.RUNS_LOST] == 1


def test_single_page_is_reread_after_one_lost_run(pipeline_harness):
    one_batch = batch(pipeline_harness, b"<title>A</title>")
    lose_run(pipeline_harness, one_batch)

    (write,) = written(pipeline_harness, pipeline_harness.canonicalize(one_batch))

    assert write.facts["outcome"] == "Fetched"
    assert write.fields["page.title"] == b'"A"'


def test_single_page_lost_twice_is_stored_as_unreadable_with_the_reason(pipeline_harness):
    one_batch = batch(pipeline_harness, b"<title>A</title>")
    lose_run(pipeline_harness, one_batch)
    lose_run(pipeline_harness, one_batch)

    (write,) = written(pipeline_harness, pipeline_harness.canonicalize(one_batch))

    assert write.facts["outcome"] == "Unreadable"
    assert "process" in write.facts["reason"]
    assert pipeline_harness.counters.read()[counters.UNREADABLE] == 1


def test_run_that_ends_with_a_store_error_is_not_lost(pipeline_harness):
    one_batch = batch(pipeline_harness, b"<link rel=canonical href=/c>")

    class Away:
        def refused(self, urls):
            return set()

        def known(self, urls):
            raise StoreUnavailable("store", "away")

        bodies = PLAIN
        takedowns = pages = property(lambda self: self)

    pipeline_harness.store = Away()
    with pytest.raises(StoreUnavailable):
        pipeline_harness.canonicalize(one_batch)

    assert pipeline_harness.run_marks.start_run([a.token for a in one_batch.results]) == 0


@pytest.mark.parametrize(
    "markup",
    [
        b'<svg><a xlink:href="/x"></a></svg>',
        b'<script type="application/ld+json">{"@type":"Article","headline":"a \\ud800 b"}</script>',
    ],
)
def test_one_malformed_part_loses_neither_links_nor_title(pipeline_harness, markup):
    one_batch = batch(pipeline_harness, b"<title>A b c</title><a href=/next>n</a>" + markup)

    (write,) = written(pipeline_harness, pipeline_harness.canonicalize(one_batch))

    assert "http://site.example/next" in [link.target for link in write.links]
    assert b"page.title" in b" ".join(name.encode() for name in write.fields)
    assert "problems" not in write.facts


def test_sitemap_lost_twice_is_not_read_either(pipeline_harness):
    (answer,) = batch(pipeline_harness, b"<urlset><url><loc>/x</loc></url></urlset>").results
    one_batch = ResultBatch((replace(answer, job=replace(answer.job, sitemap=True)),))
    lose_run(pipeline_harness, one_batch)
    lose_run(pipeline_harness, one_batch)

    (write,) = written(pipeline_harness, pipeline_harness.canonicalize(one_batch))

    assert write.facts["outcome"] == "Unreadable"
    assert pipeline_harness.sent.urls() == []
