"""Stages read bodies that were compressed with a shared dictionary, or fetch their pages again."""

import pytest

from aragog.crawl.pipeline.fetch_results import make_result
from aragog.crawl.pipeline.messages import (
    DICTIONARY_VERSION,
    VERSION,
    PageBatch,
    ResultBatch,
    UrlJob,
)
from aragog.crawl.pipeline.packed_body import pack
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.store import StoreStage
from aragog.fetch_record.outcome import Fetched, OutcomeKind
from aragog.urlstore.compression import dictionary_id
from aragog.urlstore.packs.dictionaries import Dictionary
from tests.support.fetch_results import fetch_result
from tests.support.pack_harness import pack_harness
from tests.support.stores import NOW_MS

URL = "http://a.example/"
HTML = b"<title>t</title>" + b"".join(b"<p>paragraph %d" % n for n in range(40))


@pytest.fixture
def harness():
    """A store with a dictionary in use."""
    harness = pack_harness()
    shared = harness.store.bodies.packs.shared
    dictionary = Dictionary.train([HTML + b"%d" % n * n for n in range(64)])
    shared.records.add(dictionary, ["20261130/101502-0123456789abcdef.warc.zst"])
    shared.records.use(dictionary.id)
    return harness


def fetched(ports, harness):
    """A page as the fetch stage sends it."""
    body = pack(HTML, harness.store.bodies)
    assert dictionary_id(body.blob)
    (token,) = ports.spool.put_many([body.blob])
    return fetch_result(
        job=UrlJob(url=URL), outcome=OutcomeKind.FETCHED, final_url=URL, status=200,
        fetched_at_ms=NOW_MS, content_type="text/html", token=token, body_hash=body.sha256,
        needs_dictionary=body.needs_dictionary,
    )  # fmt: skip


def erase(harness):
    """Erase the dictionary, and return the store as a process sees it that has not used it."""
    records = harness.store.bodies.packs.shared.records
    records.erase(records.in_use())
    return harness.reopened()


def canonicalize(ports, harness, result):
    stage = CanonicalizeStage(
        ports.spool, harness.store, ports.in_flight, ports.marks,
        ports.discovery, ports.returning_jobs, ports.settings,
    )  # fmt: skip
    return stage.run(ResultBatch((result,)))


def store(ports, harness, batch):
    stage = StoreStage(
        ports.spool, harness.store, ports.in_flight, ports.counters, ports.returning_jobs
    )
    begun = stage.begin(batch)
    harness.store.put_pack_if_last(lambda: 0)
    return stage.finish(begun.wait())


def test_body_with_a_dictionary_is_analyzed_and_stored(ports, harness):
    (message,) = canonicalize(ports, harness, fetched(ports, harness))

    assert store(ports, harness, message.message) == []
    assert harness.store.content(URL).body == HTML
    assert harness.store.get(URL).facts["outcome"] == "Fetched"
    assert harness.names()


def test_page_is_fetched_again_if_its_dictionary_was_erased_before_it_was_analyzed(ports, harness):
    result = fetched(ports, harness)

    (message,) = canonicalize(ports, erase(harness), result)

    assert message.destination is Destination.FETCH


def test_page_is_fetched_again_if_its_dictionary_was_erased_before_it_was_stored(ports, harness):
    (message,) = canonicalize(ports, harness, fetched(ports, harness))

    (again,) = store(ports, erase(harness), message.message)

    assert again.destination is Destination.FETCH
    assert harness.store.content(URL) is None


def result_with(body):
    outcome = Fetched(url=URL, status=200, fetched_at_ms=NOW_MS, body=b"")
    return make_result(UrlJob(url=URL), outcome, "token", body)


def test_earlier_workers_return_results_whose_bodies_need_a_dictionary(harness):
    """Regression: in a rolling upgrade, workers without dictionaries lost such pages."""
    wire = ResultBatch((result_with(pack(HTML, harness.store.bodies)),)).wire()

    assert wire["v"] == DICTIONARY_VERSION > VERSION
    assert ResultBatch.read(wire).results[0].needs_dictionary


def test_earlier_workers_can_read_results_whose_bodies_need_no_dictionary():
    wire = ResultBatch((result_with(pack(HTML)),)).wire()

    assert wire["v"] == VERSION
    assert "needs_dictionary" not in wire["results"][0]


def test_page_batch_says_whether_its_bodies_need_a_dictionary(ports, harness):
    (message,) = canonicalize(ports, harness, fetched(ports, harness))
    wire = message.message.wire()

    assert wire["v"] == DICTIONARY_VERSION
    assert PageBatch.read(wire) == message.message
