"""Acks and nacks on their way to the shards."""

import pytest

from pinlater.acks import RETRY_AFTER_S, AckBuffer, Disposition
from pinlater.models import JobState


@pytest.fixture
def acks(cluster, clock):
    return AckBuffer(cluster, clock)


def test_deferred_acks_of_a_queue_are_sent_in_one_call(acks, claimed, shard):
    acks.deferred = True
    for claim in [claimed() for _ in range(10)]:
        acks.add(claim, None)
    assert (shard.calls, len(acks)) == (0, 10)

    acks.flush()

    assert (shard.calls, len(acks)) == (1, 0)
    assert shard.sizes("q").succeeded == 10


def test_acks_are_kept_until_an_unreachable_shard_returns(acks, claimed, shard, clock):
    claim = claimed()
    shard.away = True
    acks.add(claim, None)
    acks.flush()
    assert (shard.calls, len(acks)) == (1, 1)

    shard.away = False
    clock.advance_ms(1000 * RETRY_AFTER_S)
    acks.flush()

    assert len(acks) == 0
    assert shard.sizes("q").succeeded == 1


@pytest.mark.parametrize(
    ("disposition", "states"),
    [
        (Disposition("fail", 0, "broken"), (0, 0, 1)),
        (Disposition("again"), (1, 0, 0)),
        (Disposition("release", 5000), (0, 1, 0)),
        (Disposition("policy"), (0, 1, 0)),
        (Disposition("wait"), (0, 1, 0)),
    ],
)
def test_disposition_decides_the_state_of_the_job(acks, claimed, shard, disposition, states):
    acks.add(claimed(), disposition)

    sizes = shard.sizes("q")
    assert (sizes.due, sizes.later, sizes.failed) == states


def test_only_a_wait_does_not_count_as_an_attempt(acks, claimed, shard):
    for step in ("policy", "wait"):
        acks.add(claimed(step), Disposition(step))

    jobs = [shard.jobs(queue, JobState.PENDING, limit=1)[0] for queue in ("policy", "wait")]
    assert [job.attempts for job in jobs] == [1, 0]
