"""A job's priority travels with it through every stage, and its failures and links inherit it."""

from dataclasses import replace

import pytest

from aragog.fetcher.outcome import OutcomeKind
from aragog.pipeline.messages import FetchResult, ResultBatch, RobotsBatch, UrlJob
from aragog.pipeline.refetch import from_the_beginning
from aragog.pipeline.routing import Destination
from aragog.pipeline.spool.spool import Spool
from aragog.pipeline.stages.canonicalize import canonicalize_batch
from aragog.pipeline.stages.robots import _onward, _Wait
from aragog.urlstore.content.compression import compress

pytestmark = pytest.mark.redis
URL = "http://site.example/"
PAGE = b"<!doctype html><title>t</title><a href=/next>next</a>"


@pytest.fixture
def stand(pipeline_stand, redis_client):
    spool = Spool(redis_client, prefix="t:")
    pipeline_stand.services = replace(pipeline_stand.services, spool=spool)
    return pipeline_stand


def test_canonicalize_hands_it_on_to_store_and_to_the_links_it_follows(stand):
    (token,) = stand.services.spool.put_many([compress(PAGE)])
    answer = FetchResult(
        job=UrlJob(url=URL, priority=1, depth=1),
        outcome=OutcomeKind.FETCHED,
        final_url=URL,
        status=200,
        token=token,
        content_type="text/html",
    )

    (to_store,) = canonicalize_batch(ResultBatch((answer,)), stand.services)

    assert (to_store.destination, to_store.priority) == (Destination.STORE, 1)
    (followed,) = stand.sent.messages
    assert (followed.destination, followed.priority) == (Destination.FETCH, 1)
    assert followed.message.jobs[0].priority == 1


def test_robots_hands_it_back_to_fetch_and_to_itself(stand):
    jobs = tuple(UrlJob(url=f"http://{h}.example/", priority=2) for h in "ab")
    batch = RobotsBatch(("http://a.example", "http://b.example"), jobs)

    sends = _onward(batch, {"http://b.example": _Wait(1)}, stand.services)

    assert [send.priority for send in sends] == [2, 2]


def test_a_url_whose_body_was_lost_keeps_it_and_each_time_counts_as_an_attempt(stand):
    most = stand.services.settings.pipeline.max_attempts
    jobs = [UrlJob(url=URL, priority=0)]
    attempts = 0
    while True:
        (send,) = from_the_beginning(jobs, stand.services)
        assert send.priority == 0
        if send.destination == Destination.CANONICALIZE:
            break
        jobs = list(send.message.jobs)
        attempts += 1
        assert attempts == jobs[0].attempt

    assert attempts == most - 1
    (answer,) = send.message.results
    assert (answer.outcome, answer.token) == ("Unreachable", None)
