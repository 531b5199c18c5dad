"""Locks that expire."""

import pytest

from aragog.redis_kit.locks import ExpiringLocks
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


@pytest.fixture
def locks(redis_client):
    return ExpiringLocks(redis_client, prefix="lock:", ttl_ms=60_000)


def test_a_lock_is_acquired_once_until_it_is_released(locks):
    assert locks.acquire(["a", "b"]) == [True, True]
    assert locks.acquire(["b", "c"]) == [False, True]

    locks.release(["b", "never acquired"])

    assert locks.acquire(["a", "b"]) == [False, True]


def test_a_lock_that_nobody_releases_expires(locks):
    locks.acquire(["a"])
    assert locks.acquire(["a"]) == [False]
    locks.set_ttl({"a": 1})

    assert wait_until(lambda: locks.acquire(["a"]) == [True])


def test_the_time_that_a_lock_has_left_is_known(locks):
    locks.acquire(["a"])
    locks.set_ttl({"b": 600_000})

    a_ms, b_ms, free_ms = locks.remaining_ms(["a", "b", "free"])

    assert 0 < a_ms <= 60_000 < b_ms <= 600_000
    assert free_ms == 0


def test_no_names_cost_no_round_trip(redis_client):
    locks = ExpiringLocks(redis_client, prefix="lock:", ttl_ms=1)
    before = redis_client.info("stats")["total_commands_processed"]
    locks.set_ttl({})
    locks.release([])

    assert (locks.acquire([]), locks.remaining_ms([])) == ([], [])
    assert redis_client.info("stats")["total_commands_processed"] == before + 1
