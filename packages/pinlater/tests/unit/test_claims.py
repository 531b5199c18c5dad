"""Claims held by this process, and claims left behind by others."""

from functools import partial
from types import SimpleNamespace

import pytest
from celery import Celery
from kombu import Message

from pinlater.claims import ClaimRegistry
from pinlater.models import ClaimRequest, NewJob
from pinlater.worker import JobRequest

TIMEOUT_MS = 60_000


@pytest.fixture
def running():
    return set()


@pytest.fixture
def claims(clock, cluster, running):
    claims = ClaimRegistry(
        cluster,
        claim_timeout_ms=TIMEOUT_MS,
        clock=clock,
        still_running=running.__contains__,
    )
    claims.watch("q")
    claims.stop()  # stops its thread: here only the test acts
    return claims


def claim_key(claims, shard, queue="q"):
    shard.enqueue(queue, [NewJob(b"x")])
    [job] = shard.claim(queue, ClaimRequest(limit=1, timeout_ms=TIMEOUT_MS, worker="w")).claims
    return claims.add(shard, queue, job)


def test_claims_of_two_queues_with_equal_ids_and_tokens_are_distinct(claims, shard):
    # Regression: the ack of one queue's job finished the running job of another queue.
    [slow, quick] = [claim_key(claims, shard, queue) for queue in ("b", "a")]

    claims.ack(quick)

    assert [slow in claims, quick in claims] == [True, False]
    assert [shard.sizes(q).succeeded for q in ("b", "a")] == [0, 1]


def test_claim_of_a_dropped_queue_does_not_match_a_job_of_the_new_queue(claims, shard):
    old = claim_key(claims, shard)
    shard.drop("q")
    new = claim_key(claims, shard)

    claims.ack(old)

    assert new in claims
    assert shard.sizes("q").running == 1


def test_all_jobs_of_a_dead_worker_are_returned_in_one_round(claims, shard, clock):
    shard.enqueue("q", [NewJob(b"x")] * 750)
    for _ in range(5):
        shard.claim("q", ClaimRequest(limit=150, timeout_ms=TIMEOUT_MS, worker="dead"))
    claims.reaper.reap()  # learns the server's time, by which claims expire
    clock.advance_ms(TIMEOUT_MS + 1)

    claims.reaper.reap()

    assert shard.sizes("q").due == 750


def test_closing_channel_returns_unstarted_jobs_and_keeps_running_ones(claims, shard, running):
    tags = [claim_key(claims, shard) for _ in ("started", "not started")]
    running.add(tags[0])

    claims.on_channel_closed(tags)

    assert [tag in claims for tag in tags] == [True, False]
    assert (shard.sizes("q").running, shard.sizes("q").due) == (1, 1)


def finished(claims, tag):
    """Runs a delivered task to its end as Celery does in a thread; returns the pending acks."""
    app = Celery("t", set_as_current=False)
    acks = []
    request = JobRequest(
        Message(
            channel=SimpleNamespace(claims=claims),
            delivery_tag=tag,
            headers={"task": "t", "id": "1"},
            body="[[], {}, {}]",
            content_type="application/json",
            content_encoding="utf-8",
        ),
        app=app,
        task=SimpleNamespace(acks_late=True, ignore_result=True),
        on_ack=lambda *_: acks.append(partial(claims.ack, tag)),
    )
    request.on_success((False, None, 0.1))
    return acks


def test_job_that_ended_just_before_the_connection_was_lost_does_not_run_again(claims, shard):
    # Regression: each lost connection repeated the finished tasks of a thread pool whose acks the
    # event loop had not sent yet.
    tag = claim_key(claims, shard)
    (ack,) = finished(claims, tag)

    claims.on_channel_closed([tag])
    ack()

    assert (shard.sizes("q").succeeded, shard.sizes("q").due) == (1, 0)


def orphaned(claims, shard, running):
    """The tag of a job that ended after its connection was lost."""
    tag = claim_key(claims, shard)
    running.add(tag)
    claims.on_channel_closed([tag])
    running.clear()
    return tag


def test_ack_of_a_job_that_ended_during_an_outage_counts(claims, shard, running, clock):
    # Regression: the claim was dropped at the end of the task, before the loop could ack it.
    tag = orphaned(claims, shard, running)
    for _ in range(2):
        claims.renewer.renew()
        clock.advance_ms(TIMEOUT_MS / 3)

    claims.ack(tag)

    assert shard.sizes("q").succeeded == 1


def test_finished_job_that_is_never_acknowledged_runs_again(claims, shard, running, clock):
    tag = orphaned(claims, shard, running)
    for _ in range(8):
        claims.renewer.renew()
        claims.reaper.reap()
        clock.advance_ms(TIMEOUT_MS / 3)

    assert tag not in claims
    assert shard.sizes("q").due == 1
