"""Expired claims of dead workers are returned to the queue."""

import pytest

from pinlater.claim_upkeep import Reaper

TIMEOUT_MS = 60_000


@pytest.fixture
def reaper(cluster, guards, clock):
    a_reaper = Reaper(cluster, guards, clock=clock, renew=lambda: None)
    a_reaper.watch("q")
    a_reaper.reap()  # learns the server's time, by which claims expire
    return a_reaper


def test_only_expired_claims_of_watched_queues_are_returned(reaper, claimed, shard, clock):
    for queue in ("q", "not watched"):
        claimed(queue)
    clock.advance_ms(TIMEOUT_MS + 1)

    reaper.reap()

    assert shard.sizes("q").due == 1
    assert shard.sizes("not watched").running == 1


def test_unexpired_claim_is_kept(reaper, claimed, shard, clock):
    claimed()
    clock.advance_ms(TIMEOUT_MS / 2)

    reaper.reap()

    assert shard.sizes("q").running == 1


def test_nothing_is_reaped_right_after_an_outage(reaper, claimed, shard, guards, clock):
    claimed()
    clock.advance_ms(TIMEOUT_MS + 1)
    shard.away = True
    reaper.reap()
    shard.away = False
    assert guards[shard.name].needs_connecting

    reaper.reap()

    assert shard.sizes("q").running == 1
