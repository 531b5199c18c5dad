"""A gate holds back a worker's claims without polling; what is urgent enough passes."""

import pytest

from aragog.pinlater import gates
from aragog.pinlater.claims import ClaimRegistry
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.consumer import GATED_LOOK_EVERY_S, JobConsumer
from aragog.pinlater.models import NewJob
from aragog.pinlater.shard import RedisShard

pytestmark = pytest.mark.redis


@pytest.fixture
def intake(redis_client):
    delivered = []
    claims = ClaimRegistry(Cluster([RedisShard(redis_client)]))
    made = JobConsumer(claims, lambda _shard, _queue, job: delivered.append(job.record[-1:]))
    made.delivered = delivered
    made.consume(["q"])
    yield made
    gates.put("q", None)
    made.close()
    claims.stop()


def put(intake, *priorities):
    jobs = [NewJob(b"%d" % priority, priority=priority) for priority in priorities]
    intake.claims.cluster.shards[0].enqueue("q", jobs)


def again(intake):
    """Let a second pass."""
    intake._look_s = dict.fromkeys(intake._look_s, 0.0)


def test_a_closed_gate_lets_urgent_jobs_pass_and_leaves_the_others_on_the_server(intake):
    gates.put("q", lambda: 2)
    put(intake, 5, 2, 9)

    assert intake.take(10) == 1
    assert intake.delivered == [b"2"]
    assert intake.claims.cluster.shards[0].sizes("q").due == 2

    gates.put("q", lambda: 9)
    again(intake)
    assert intake.take(10) == 2


def test_while_nothing_may_be_claimed_the_gate_is_asked_four_times_a_second(intake):
    asked = []
    gates.put("q", lambda: asked.append(1) or gates.NOTHING)
    put(intake, 5)
    began_s = intake._clock.monotonic_s()

    assert [intake.take(10) for _ in range(100)] == [0] * 100
    assert len(asked) == 1
    assert intake.next_look_s - began_s >= GATED_LOOK_EVERY_S


def test_jobs_that_the_gate_holds_back_wake_nobody(intake, redis_client):
    gates.put("q", lambda: 2)
    put(intake, 5)
    wake = intake.claims.cluster.shards[0].wake_key("q")
    redis_client.delete(wake)

    intake.take(10)

    assert redis_client.llen(wake) == 0
    assert intake.next_look_s > intake._clock.monotonic_s()
