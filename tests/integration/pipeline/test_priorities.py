"""A job keeps its priority through every stage, and its failures and links inherit it."""

import pytest

from aragog.crawl.pipeline.messages import ResultBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.stages.robots_waits import RulesWait, route_jobs
from aragog.fetch_record.outcome import OutcomeKind
from aragog.urlstore.compression import compress
from tests.support.fetch_results import fetch_result

pytestmark = pytest.mark.redis
URL = "http://site.example/"
PAGE = b"<!doctype html><title>t</title><a href=/next>next</a>"


def test_canonicalize_passes_priority_to_store_and_followed_links(pipeline_harness):
    (token,) = pipeline_harness.spool.put_many([compress(PAGE)])
    answer = fetch_result(
        job=UrlJob(url=URL, priority=1, depth=1),
        outcome=OutcomeKind.FETCHED,
        final_url=URL,
        status=200,
        token=token,
        content_type="text/html",
    )

    (to_store,) = pipeline_harness.canonicalize(ResultBatch((answer,)))

    assert (to_store.destination, to_store.priority) == (Destination.STORE, 1)
    (followed,) = pipeline_harness.sent.messages
    assert (followed.destination, followed.priority) == (Destination.FETCH, 1)
    assert followed.message.jobs[0].priority == 1


def test_robots_passes_priority_to_fetch_and_itself():
    jobs = tuple(UrlJob(url=f"http://{h}.example/", priority=2) for h in "ab")
    batch = RobotsBatch(("http://a.example", "http://b.example"), jobs)

    sends = route_jobs(batch, {"http://b.example": RulesWait(1)}, 1000)

    assert [send.priority for send in sends] == [2, 2]


def test_url_with_a_lost_body_keeps_its_priority_and_counts_attempts(pipeline_harness):
    most = pipeline_harness.settings.pipeline.max_attempts
    jobs = [UrlJob(url=URL, priority=0)]
    attempts = 0
    while True:
        (send,) = pipeline_harness.returning_jobs.refetch(jobs)
        assert send.priority == 0
        if send.destination == Destination.CANONICALIZE:
            break
        jobs = list(send.message.jobs)
        attempts += 1
        assert attempts == jobs[0].attempt

    assert attempts == most - 1
    (answer,) = send.message.results
    assert (answer.fetch.outcome, answer.token) == ("Unreachable", None)
