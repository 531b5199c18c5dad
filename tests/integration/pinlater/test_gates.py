"""A gate holds back a worker's claims without polling; what is urgent enough passes."""

import pytest

from aragog.pinlater.claims import gates
from aragog.pinlater.claims.consumer import GATED_LOOK_EVERY_S, JobConsumer
from aragog.pinlater.claims.registry import ClaimRegistry
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.models import NewJob
from aragog.pinlater.shards.redis_shard import RedisShard

pytestmark = pytest.mark.redis


@pytest.fixture
def consumer(redis_client):
    delivered = []
    claims = ClaimRegistry(Cluster([RedisShard(redis_client)]))
    made = JobConsumer(claims, lambda _shard, _queue, job: delivered.append(job.record[-1:]))
    made.delivered = delivered
    made.consume(["q"])
    yield made
    gates.put("q", None)
    made.close()
    claims.stop()


def put(consumer, *priorities):
    jobs = [NewJob(b"%d" % priority, priority=priority) for priority in priorities]
    consumer.claims.cluster.shards[0].enqueue("q", jobs)


def again(consumer):
    """Let a second pass."""
    consumer._look_s = dict.fromkeys(consumer._look_s, 0.0)


def test_a_closed_gate_lets_urgent_jobs_pass_and_leaves_the_others_on_the_server(consumer):
    gates.put("q", lambda: 2)
    put(consumer, 5, 2, 9)

    assert consumer.take(10) == 1
    assert consumer.delivered == [b"2"]
    assert consumer.claims.cluster.shards[0].sizes("q").due == 2

    gates.put("q", lambda: 9)
    again(consumer)
    assert consumer.take(10) == 2


def test_while_nothing_may_be_claimed_the_gate_is_asked_four_times_a_second(consumer):
    asked = []
    gates.put("q", lambda: asked.append(1) or gates.NOTHING)
    put(consumer, 5)
    began_s = consumer._clock.monotonic_s()

    assert [consumer.take(10) for _ in range(100)] == [0] * 100
    assert len(asked) == 1
    assert consumer.next_look_s - began_s >= GATED_LOOK_EVERY_S


def test_a_gate_that_is_nearly_closed_lets_a_few_jobs_pass_at_a_time(consumer):
    gates.put("q", lambda: gates.Opening(gates.EVERYTHING, 2))
    put(consumer, 5, 2, 9)

    assert [consumer.take(10), consumer.take(10)] == [2, 0]
    assert consumer.delivered == [b"2", b"5"]

    again(consumer)
    assert consumer.take(10) == 1


def test_jobs_that_the_gate_holds_back_wake_nobody(consumer, redis_client):
    gates.put("q", lambda: 2)
    put(consumer, 5)
    wake = consumer.claims.cluster.shards[0].wake_key("q")
    redis_client.delete(wake)

    consumer.take(10)

    assert redis_client.llen(wake) == 0
    assert consumer.next_look_s > consumer._clock.monotonic_s()
