"""Fixtures of the claim tests: a shard in memory with a manual clock."""

import pytest

from pinlater.acks import Claim
from pinlater.cluster import Cluster
from pinlater.errors import BrokerUnavailable
from pinlater.health import ReapGuard
from pinlater.models import ClaimRequest, NewJob
from pinlater.testing.manual_clock import ManualClock
from pinlater.testing.memory_shard import MemoryShard

CLAIM_TIMEOUT_MS = 60_000


def switched(name):
    """The method of `MemoryShard`, after a check that the shard is reachable."""

    def call(self, *args, **kwargs):
        self.answer()
        return getattr(MemoryShard, name)(self, *args, **kwargs)

    return call


class SwitchedShard(MemoryShard):
    """A shard that is unreachable while `away` is true."""

    away = False
    calls = 0

    def answer(self):
        self.calls += 1
        if self.away:
            raise BrokerUnavailable(f"shard {self.name}", "is unavailable")

    ack, nack, extend, sweep = map(switched, ("ack", "nack", "extend", "sweep"))


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def shard(clock):
    return SwitchedShard(clock)


@pytest.fixture
def cluster(shard, clock):
    return Cluster([shard], clock=clock)


@pytest.fixture
def guards(shard):
    return {shard.name: ReapGuard(CLAIM_TIMEOUT_MS)}


@pytest.fixture
def claimed(shard, clock):
    """Enqueues a job and claims it."""

    def make(queue="q"):
        shard.enqueue(queue, [NewJob(b"x")])
        answer = shard.claim(queue, ClaimRequest(limit=1, timeout_ms=CLAIM_TIMEOUT_MS, worker="w"))
        [job] = answer.claims
        return Claim(f"{queue}-{job.job_id}", shard, queue, job, clock.monotonic_s())

    return make
