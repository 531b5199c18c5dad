"""What the tests of claims share: a shard in memory on a clock that stands still."""

import pytest

from aragog.clock import ManualClock
from aragog.errors import BrokerUnavailable
from aragog.pinlater.claims.claim import Claim
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.health import ReapGuard
from aragog.pinlater.memory import MemoryShard
from aragog.pinlater.models import NewJob

CLAIM_TIMEOUT_MS = 60_000


class SwitchedShard(MemoryShard):
    """A shard that does not answer while `away`."""

    away = False
    calls = 0

    def _answer(self):
        self.calls += 1
        if self.away:
            raise BrokerUnavailable(f"shard {self.name}", "is away")

    def ack(self, *args, **kwargs):
        self._answer()
        return super().ack(*args, **kwargs)

    def nack(self, *args, **kwargs):
        self._answer()
        return super().nack(*args, **kwargs)

    def extend(self, *args, **kwargs):
        self._answer()
        return super().extend(*args, **kwargs)

    def sweep(self, *args, **kwargs):
        self._answer()
        return super().sweep(*args, **kwargs)


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
    """A function that makes a job and claims it."""

    def make(queue="q"):
        shard.enqueue(queue, [NewJob(b"x")])
        answer = shard.claim(queue, limit=1, timeout_ms=CLAIM_TIMEOUT_MS, worker="w")
        [job] = answer.claims
        return Claim(f"{queue}-{job.job_id}", shard, queue, job, clock.monotonic_s())

    return make
