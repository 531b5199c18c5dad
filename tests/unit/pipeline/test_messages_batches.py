import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aragog.errors import InvalidMessage
from aragog.fetcher.outcome import Hop, OutcomeKind
from aragog.pipeline.messages import (
    FetchBatch,
    PageBatch,
    ResultBatch,
    RobotsBatch,
    UrlJob,
    into_batches,
)
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
def test_jobs_come_out_of_json_as_they_went_in(some_jobs):
    assert through_json(FetchBatch(some_jobs)) == FetchBatch(some_jobs)
    assert through_json(RobotsBatch(("http://a",), some_jobs, True)) == RobotsBatch(
        ("http://a",), some_jobs, True
    )
    assert through_json(PageBatch("t", some_jobs, ("b",))) == PageBatch("t", some_jobs, ("b",))


@given(st.lists(results, max_size=3).map(tuple))
def test_answers_come_out_of_json_as_they_went_in(some_results):
    assert through_json(ResultBatch(some_results)) == ResultBatch(some_results)


@pytest.mark.parametrize(
    "wire",
    [
        None,
        [],
        {},
        {"v": 2, "urls": []},
        {"v": 1},
        {"v": 1, "urls": "x"},
        {"v": 1, "urls": [{}]},
        {"v": 1, "urls": [{"url": "http://a/", "from_the_future": 1}]},
        {"v": 1, "urls": [None]},
    ],
)
def test_a_message_that_this_version_cannot_read_is_refused(wire):
    with pytest.raises(InvalidMessage):
        FetchBatch.read(wire)


@given(st.lists(jobs), st.integers(1, 30))
def test_batches_hold_every_job_once_and_in_order(some_jobs, size):
    batches = into_batches(some_jobs, size)

    assert [job for batch in batches for job in batch.jobs] == some_jobs
    assert all(0 < len(batch.jobs) <= size for batch in batches)
