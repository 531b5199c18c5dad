import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.message_hops import hops_to_wire, pop_hops
from aragog.crawl.pipeline.messages import (
    DICTIONARY_VERSION,
    VERSION,
    FetchBatch,
    PageBatch,
    ResultBatch,
    RobotsBatch,
    UrlJob,
    split_into_batches,
)
from aragog.crawl.stages.reextract import ReextractBatch
from aragog.crawl.stages.watch import WatchBatch
from aragog.crawl.stages.webhooks import Delivery
from aragog.errors import InvalidMessage, NewerMessage
from aragog.fetch_record.outcome import Hop, OutcomeKind
from tests.support.fetch_results import fetch_result

hops = st.builds(Hop, st.text(), st.sampled_from([301, 302, 307, 308]), st.text())
jobs = st.builds(
    UrlJob,
    url=st.text(),
    depth=st.integers(0, 9),
    refresh=st.booleans(),
    priority=st.integers(0, 9),
    attempt=st.integers(0, 9),
    slot_at_ms=st.none() | st.integers(0, 2**50),
    target=st.none() | st.text(),
    given=st.none() | st.text(),
    target_given=st.none() | st.text(),
    hops=st.lists(hops, max_size=3).map(tuple),
)
results = st.builds(
    fetch_result,
    job=jobs,
    outcome=st.sampled_from([OutcomeKind.FETCHED, OutcomeKind.GONE]),
    final_url=st.text(),
    status=st.none() | st.integers(100, 599),
    headers=st.lists(st.tuples(st.text(), st.text()), max_size=3).map(tuple),
    hops=st.lists(hops, max_size=3).map(tuple),
    fetched_at_ms=st.integers(0, 2**50),
    token=st.none() | st.text(),
)


def through_json(message):
    return type(message).read(json.loads(json.dumps(message.wire())))


@given(st.lists(jobs, max_size=4).map(tuple))
def test_jobs_round_trip_through_json(some_jobs):
    assert through_json(FetchBatch(some_jobs)) == FetchBatch(some_jobs)
    assert through_json(RobotsBatch(("http://a",), some_jobs, True)) == RobotsBatch(
        ("http://a",), some_jobs, True
    )
    assert through_json(PageBatch("t", some_jobs, ("b",))) == PageBatch("t", some_jobs, ("b",))


@given(st.lists(results, max_size=3).map(tuple))
def test_results_round_trip_through_json(some_results):
    assert through_json(ResultBatch(some_results)) == ResultBatch(some_results)


@pytest.mark.parametrize(
    "wire",
    [
        None,
        [],
        {},
        {"v": 0, "urls": []},
        {"v": "2", "urls": []},
        {"v": 1},
        {"v": 1, "urls": "x"},
        {"v": 1, "urls": [{}]},
        {"v": 1, "urls": [None]},
    ],
)
def test_unreadable_message_is_refused(wire):
    with pytest.raises(InvalidMessage) as caught:
        FetchBatch.read(wire)
    assert not isinstance(caught.value, NewerMessage)


BATCHES = {
    FetchBatch: {"urls": []},
    RobotsBatch: {"urls": []},
    ResultBatch: {"results": []},
    PageBatch: {"urls": []},
    ReextractBatch: {"urls": []},
    WatchBatch: {"urls": [], "owner": "o", "watch": True, "at_ms": 1},
    Delivery: {"webhook": "w", "cursor": "c", "changes": [], "attempt": 0},
}


@pytest.mark.parametrize("kind", BATCHES, ids=lambda kind: kind.__name__)
def test_newer_version_is_reported_and_newer_fields_are_ignored(kind):
    wire = BATCHES[kind]
    newest = DICTIONARY_VERSION if kind in (ResultBatch, PageBatch) else VERSION

    assert kind.read({**wire, "v": VERSION, "from_the_future": 1})
    assert kind.read({**wire, "v": newest, "from_the_future": 1})
    with pytest.raises(NewerMessage, match=f"version {newest + 1} is not {newest}"):
        kind.read({**wire, "v": newest + 1})


NEWER_JOB = {"url": "http://a/", "campaign": "c", "weights": [1, 2]}
NEWER_HOP = ["http://a/", 301, "http://b/", [["Location", "/b"]], 1.5, "one more"]


def test_unknown_job_fields_are_passed_on():
    """Regression: after one new field, every canonicalize job of older workers failed."""
    batch = FetchBatch.read({"v": 1, "urls": [{**NEWER_JOB, "hops": [NEWER_HOP]}]})

    later = replace(batch.jobs[0], attempt=1)

    assert later.url == "http://a/"
    assert later.wire() == {**NEWER_JOB, "attempt": 1, "hops": later.wire()["hops"]}
    assert later.hops == (Hop("http://a/", 301, "http://b/", 1.5, (("Location", "/b"),)),)


def test_unknown_fetch_fields_and_outcomes_are_passed_on():
    wire = {
        "job": NEWER_JOB, "outcome": "Parked", "final_url": "http://a/", "status": 200,
        "token": "t", "colour": "red", "nested": {"a": [1]},
    }  # fmt: skip

    (result,) = ResultBatch.read({"v": 1, "results": [wire]}).results

    assert (result.fetch.outcome.value, str(result.fetch.outcome)) == ("Parked", "Parked")
    assert result.fetch.outcome not in set(OutcomeKind)
    assert json.loads(json.dumps(result.wire())) == wire
    changed = replace(result, fetch=replace(result.fetch, rendering="rendered"))
    assert changed.wire() == {**wire, "rendering": "rendered"}


@given(st.lists(jobs), st.integers(1, 30))
def test_batches_contain_every_job_once_and_in_order(some_jobs, size):
    batches = split_into_batches(some_jobs, size)

    assert [job for batch in batches for job in batch.jobs] == some_jobs
    assert all(0 < len(batch.jobs) <= size for batch in batches)


@given(st.lists(hops, max_size=3).map(tuple))
def test_hops_round_trip_and_are_left_out_if_there_are_none(some_hops):
    fields = hops_to_wire(some_hops)

    assert bool(fields) == bool(some_hops)
    assert pop_hops(fields) == some_hops
    assert fields == {}
