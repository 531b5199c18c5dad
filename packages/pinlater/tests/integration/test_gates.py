"""A gate holds back a worker's claims without polling; sufficiently urgent jobs pass."""

from collections import Counter

import pytest

from pinlater import gates
from pinlater.claims import ClaimRegistry
from pinlater.cluster import Cluster
from pinlater.consumer import JobConsumer
from pinlater.models import NewJob
from pinlater.redis_shard import RedisShard
from pinlater.testing.manual_clock import ManualClock

pytestmark = pytest.mark.redis


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def consuming(redis_client, clock):
    """Makes a consumer of the given number of shards."""
    consumers = []

    def make(shards):
        names = [RedisShard(redis_client, name=str(n), prefix=f"{n}:") for n in range(shards)]
        claims = ClaimRegistry(Cluster(names))
        consumer = JobConsumer(claims, lambda *job: consumer.delivered.append(job), clock)
        consumer.delivered = []
        consumer.consume(["q"])
        consumers.append(consumer)
        return consumer

    yield make
    gates.put("q", None)
    gates.reserve_room("q", None)
    for consumer in consumers:
        consumer.close()
        consumer.claims.stop()


@pytest.fixture
def consumer(consuming):
    return consuming(1)


def delivered(consumer):
    return [job.record[-1:] for _, _, job in consumer.delivered]


def put(consumer, *priorities):
    jobs = [NewJob(b"%d" % priority, priority=priority) for priority in priorities]
    for shard in consumer.claims.cluster.shards:
        shard.enqueue("q", jobs)


def test_closed_gate_lets_only_urgent_jobs_pass(consumer, clock):
    gates.put("q", lambda: 2)
    put(consumer, 5, 2, 9)

    assert consumer.take(10) == 1
    assert delivered(consumer) == [b"2"]
    assert consumer.claims.cluster.shards[0].sizes("q").due == 2

    gates.put("q", lambda: 9)
    clock.advance_ms(1000)
    assert consumer.take(10) == 2


def test_closed_gate_is_asked_four_times_a_second(consumer, clock):
    calls = []
    gates.put("q", lambda: calls.append(1) or gates.NOTHING)
    put(consumer, 5)

    assert [consumer.take(10) for _ in range(100)] == [0] * 100
    assert len(calls) == 1
    assert consumer.next_check_s - clock.monotonic_s() >= gates.GATE_CHECK_EVERY_S


def test_nearly_closed_gate_lets_a_few_jobs_pass_at_a_time(consumer, clock):
    gates.put("q", lambda: gates.Allowance(gates.EVERYTHING, 2))
    put(consumer, 5, 2, 9)

    assert [consumer.take(10), consumer.take(10)] == [2, 0]
    assert delivered(consumer) == [b"2", b"5"]

    clock.advance_ms(1000)
    assert consumer.take(10) == 1


def test_woken_worker_takes_no_more_than_the_gate_allows(consumer):
    """Jobs left in a queue wake the worker that has just claimed from it."""
    gates.put("q", lambda: gates.Allowance(gates.EVERYTHING, 2))
    put(consumer, *range(10))
    [poller] = consumer.pollers
    for _ in range(3):
        consumer.take(10)
        consumer.wait()
        consumer.on_readable(poller, room=10)

    assert delivered(consumer) == [b"0", b"1"]


def test_worker_with_little_room_claims_until_the_allowance_is_used(consumer):
    gates.put("q", lambda: gates.Allowance(gates.EVERYTHING, 3))
    put(consumer, *range(10))

    assert [consumer.take(1) for _ in range(5)] == [1, 1, 1, 0, 0]


def test_allowance_is_shared_by_all_shards(consuming):
    consumer = consuming(3)
    gates.put("q", lambda: gates.Allowance(gates.EVERYTHING, 4))
    put(consumer, *range(10))

    assert [consumer.take(100), consumer.take(100)] == [4, 0]


def test_allowance_of_one_job_starves_no_shard(consuming, clock):
    consumer = consuming(3)
    gates.put("q", lambda: gates.Allowance(gates.EVERYTHING, 1))
    put(consumer, *range(10))
    for _ in range(9):
        assert consumer.take(100) == 1
        clock.advance_ms(300)

    assert Counter(shard.name for shard, _, _ in consumer.delivered) == {"0": 3, "1": 3, "2": 3}


def test_allowance_goes_to_the_shards_that_have_jobs(consuming, clock):
    consumer = consuming(2)
    gates.put("q", lambda: gates.Allowance(gates.EVERYTHING, 1))
    consumer.claims.cluster.shards[1].enqueue("q", [NewJob(b"x")] * 4)
    for _ in range(4):
        assert consumer.take(100) == 1
        clock.advance_ms(300)


def test_room_reserved_for_urgent_jobs_takes_no_others(consumer, clock):
    gates.reserve_room("q", gates.ReservedRoom(2, lowest=2))
    put(consumer, 5, 5, 5, 5)

    assert [consumer.take(4), consumer.take(2)] == [2, 0]

    put(consumer, 2, 9)
    clock.advance_ms(1000 * gates.URGENT_CHECK_EVERY_S)
    assert consumer.take(2) == 1
    assert delivered(consumer) == [b"5", b"5", b"2"]


def test_worker_with_room_again_claims_the_remaining_jobs_immediately(consumer):
    gates.reserve_room("q", gates.ReservedRoom(2, lowest=2))
    put(consumer, 5, 5, 5)

    assert [consumer.take(4), consumer.take(2), consumer.take(3)] == [2, 0, 1]


def test_worker_with_room_for_urgent_jobs_only_leaves_wake_tokens_to_others(consumer, redis_client):
    gates.reserve_room("q", gates.ReservedRoom(2, lowest=2))
    [poller] = consumer.pollers
    consumer.take(3)
    consumer.wait()
    put(consumer, 5)

    consumer.on_readable(poller, room=2)
    assert consumer.take(2) == 0
    consumer.wait()

    assert redis_client.llen(poller.shard.wake_key("q")) == 1
    assert poller.waiting_since_s is None


def test_jobs_held_back_by_the_gate_wake_no_worker(consumer, redis_client, clock):
    gates.put("q", lambda: 2)
    put(consumer, 5)
    wake = consumer.claims.cluster.shards[0].wake_key("q")
    redis_client.delete(wake)

    consumer.take(10)

    assert redis_client.llen(wake) == 0
    assert consumer.next_check_s > clock.monotonic_s()


@pytest.fixture
def limited(consumer):
    """A consumer of the queues `slow`, limited to two jobs at once, and `q`."""
    gates.limit("slow", 2)
    consumer.consume(["slow", "q"])
    yield consumer
    gates.limit("slow", None)


def taken_from(consumer):
    return Counter(queue for _, queue, _ in consumer.delivered)


def claim_all(consumer, room):
    """Claims as many jobs as fit, as a channel does; returns the number taken from each queue."""
    consumer.delivered.clear()
    while taken := consumer.take(room):
        room -= taken
        for shard, queue, job in consumer.delivered:
            consumer.claims.add(shard, queue, job)
    return taken_from(consumer)


def test_limited_queue_leaves_room_for_the_others(limited, clock):
    (shard,) = limited.claims.cluster.shards
    shard.enqueue("slow", [NewJob(b"s")] * 9)
    shard.enqueue("q", [NewJob(b"q")] * 9)

    assert claim_all(limited, 12) == {"slow": 2, "q": 9}
    shard.enqueue("q", [NewJob(b"q")])
    clock.advance_ms(1000)
    assert claim_all(limited, 1) == {"q": 1}
    assert limited.claims.count_held("slow") == 2


def test_next_job_of_a_limited_queue_is_claimed_when_one_ends(limited):
    (shard,) = limited.claims.cluster.shards
    shard.enqueue("slow", [NewJob(b"s")] * 3)
    claim_all(limited, 6)
    first = limited.delivered[0]
    assert claim_all(limited, 6) == {}

    limited.claims.ack(limited.claims.add(*first))

    assert claim_all(limited, 6) == {"slow": 1}


def test_limit_may_depend_on_the_number_of_jobs_held(limited, clock):
    (shard,) = limited.claims.cluster.shards
    shard.enqueue("slow", [NewJob(b"s")] * 9)
    asked = []
    gates.limit("slow", lambda held: asked.append(held) or 3 + held)

    assert claim_all(limited, 5) == {"slow": 5}

    assert asked[:2] == [0, 3]


def test_worker_at_the_limit_of_one_queue_waits_for_jobs_of_the_others(limited, redis_client):
    (shard,), [poller] = limited.claims.cluster.shards, limited.pollers
    shard.enqueue("slow", [NewJob(b"s")] * 3)
    claim_all(limited, 6)
    claim_all(limited, 6)
    limited.wait()
    shard.enqueue("slow", [NewJob(b"s")])
    assert redis_client.llen(shard.wake_key("slow"))

    shard.enqueue("q", [NewJob(b"q")])
    limited.on_readable(poller, room=6)

    assert claim_all(limited, 6) == {"q": 1}
    assert redis_client.llen(shard.wake_key("slow"))


def test_gate_can_be_removed():
    gates.put("q", lambda: 2)
    assert gates.has_gate("q")
    assert gates.allowance("q").lowest == 2

    gates.put("q", None)
    assert not gates.has_gate("q")
