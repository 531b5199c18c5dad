"""Claims of running jobs are extended; others are dropped."""

import pytest

from pinlater.claim_upkeep import ClaimRenewer

TIMEOUT_MS = 60_000


@pytest.fixture
def claims():
    return {}


@pytest.fixture
def running():
    return set()


@pytest.fixture
def renewer(cluster, claims, guards, clock, running):
    return ClaimRenewer(
        cluster=cluster,
        claims=claims,
        guards=guards,
        claim_timeout_ms=TIMEOUT_MS,
        max_claim_ms=10 * TIMEOUT_MS,
        clock=clock,
        still_running=running.__contains__,
    )


@pytest.fixture
def claim(claims, claimed):
    held_claim = claimed()
    claims[held_claim.tag] = held_claim
    return held_claim


def test_a_renewed_claim_is_not_reaped(renewer, claim, shard, clock):
    clock.advance_ms(TIMEOUT_MS - 1)
    renewer.renew()
    clock.advance_ms(TIMEOUT_MS - 1)

    assert shard.sweep(claim.queue, reap_before_ms=clock.now_ms()).returned == 0


def test_claim_older_than_the_limit_is_dropped(renewer, claim, claims, clock):
    clock.advance_ms(10 * TIMEOUT_MS + 1)
    renewer.renew()

    assert not claims


def test_claim_taken_by_another_worker_is_dropped(renewer, claim, claims, shard, clock):
    clock.advance_ms(TIMEOUT_MS + 1)
    shard.sweep(claim.queue, reap_before_ms=clock.now_ms())

    renewer.renew()

    assert not claims


def test_unreachable_shard_loses_no_claims_and_is_not_reaped(renewer, claim, claims, shard, guards):
    shard.away = True
    renewer.renew()

    assert renewer.must_renew_again
    assert guards[shard.name].needs_connecting
    assert claim.tag in claims


@pytest.mark.parametrize("runs", [True, False])
def test_orphan_is_kept_while_it_runs_and_one_timeout_longer(
    renewer, claim, claims, clock, running, runs
):
    claim.is_orphan = True
    if runs:
        running.add(claim.tag)
    kept = []
    for _ in range(4):
        renewer.renew()
        kept.append(claim.tag in claims)
        clock.advance_ms(TIMEOUT_MS / 2)

    assert kept == [True, True, runs, runs]
