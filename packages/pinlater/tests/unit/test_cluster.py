"""A cluster of shards: what happens to jobs when a shard is lost or full."""

import logging

import pytest
from support.waiting import wait_until

from pinlater.cluster import Cluster
from pinlater.errors import BrokerFull, BrokerUnavailable
from pinlater.models import JobFrame, JobItem, NewJob
from pinlater.testing.manual_clock import ManualClock
from pinlater.testing.memory_shard import MemoryShard

FRAME = JobFrame(prefix=b"[", suffix=b"]", span_ms=1, max_items=5)


class FaultyShard(MemoryShard):
    """A shard that raises `problem` instead of accepting jobs, and on every call if `away`."""

    problem = None
    away = False

    def enqueue(self, queue, jobs):
        if self.problem:
            raise self.problem
        return super().enqueue(queue, jobs)

    def collect(self, queue, frame, items):
        if self.problem:
            raise self.problem
        super().collect(queue, frame, items)

    def ping(self):
        if self.problem and self.away:
            raise self.problem


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def shards(clock):
    return [FaultyShard(clock, name=name) for name in ("0", "1", "2")]


@pytest.fixture
def cluster(shards, clock):
    return Cluster(shards, clock=clock)


def lose(shard):
    shard.problem, shard.away = BrokerUnavailable(f"shard {shard.name}", "is gone"), True


def fill(shard):
    shard.problem = BrokerFull(f"shard {shard.name}", "its memory is full")


def sizes(shards):
    return [shard.sizes("q").pending for shard in shards]


def test_lost_shard_is_probed_every_five_seconds_and_logged(cluster, shards, clock, caplog):
    caplog.set_level(logging.WARNING)
    lose(shards[1])
    cluster.enqueue("q", [NewJob(b"x")] * 50)
    for _ in range(10):
        clock.advance_ms(5000)
        assert not cluster.probe(shards[1])
        cluster.enqueue("q", [NewJob(b"x")] * 50)
    shards[1].problem = None
    assert not cluster.probe(shards[1])  # too early
    clock.advance_ms(5000)

    assert cluster.probe(shards[1])
    assert [record.getMessage() for record in caplog.records] == [
        "shard 1 is out of rotation, and its jobs wait: shard 1: is gone",
        "shard 1 is back after 55 s",
    ]
    assert sum(sizes(shards)) == 550
    assert sizes(shards)[1] == 0


def test_lost_shard_is_probed_in_the_background(cluster, shards, clock):
    lose(shards[1])
    cluster.enqueue("q", [NewJob(b"x")] * 50)
    assert not cluster.is_usable(shards[1])
    shards[1].problem = None
    clock.advance_ms(5000)

    wait_until(lambda: cluster.is_usable(shards[1]))


def test_full_shard_gets_no_new_jobs_but_stays_in_rotation(cluster, shards, clock, caplog):
    caplog.set_level(logging.WARNING)
    fill(shards[1])
    cluster.enqueue("q", [NewJob(b"x")] * 50)
    cluster.collect("q", FRAME, [JobItem(b"%d" % n, n) for n in range(50)])
    assert cluster.is_usable(shards[1])
    assert [s.name for s in cluster.accepting_shards()] == ["0", "2"]
    assert sizes(shards)[1] == 0

    shards[1].problem = None
    clock.advance_ms(5000)
    cluster.enqueue("q", [NewJob(b"x")] * 50)

    assert sizes(shards)[1] > 0
    assert [record.getMessage() for record in caplog.records] == [
        "shard 1 gets no new jobs: its memory is full",
        "shard 1 gets new jobs again",
    ]


def test_jobs_are_refused_when_every_shard_is_full_or_lost(cluster, shards, clock):
    fill(shards[0])
    fill(shards[1])
    lose(shards[2])
    for _ in range(2):
        with pytest.raises(BrokerUnavailable):
            cluster.enqueue("q", [NewJob(b"x")] * 50)
    with pytest.raises(BrokerFull):
        cluster.collect("q", FRAME, [JobItem(b"1", 0)])
    for shard in shards:
        shard.problem = None

    assert len(cluster.enqueue("q", [NewJob(b"x")] * 50)) == 50


def test_full_server_is_not_taken_out_of_rotation(cluster, shards):
    with pytest.raises(BrokerFull), cluster.track(shards[1]):
        raise BrokerFull("shard 1", "its memory is full")

    assert cluster.is_usable(shards[1])
