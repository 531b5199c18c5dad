"""Leases in Redis and in cells of the store: the shared promises and the differences."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from aragog.crawl.shared_redis.leases import HELD, UNCONFIRMED, Leases
from aragog.runtime.clock import ManualClock
from zengraph.records import CellLeases
from zengraph.tables import Tables
from zengraph.tables.memory import MemoryTables

LEASE_S = 60.0
ROW, COLUMN = b"\x01row", b"i:lease"

ACQUIRE = f"""
import os, signal, sys, redis
from aragog.crawl.shared_redis.leases import Leases
client = redis.Redis.from_url(sys.argv[1])
assert Leases(client, "leases", {LEASE_S}, patience_s=0.01).acquire(["a"]) == [1]
os.kill(os.getpid(), signal.SIGKILL)
"""


@dataclass
class World:
    """One kind of lease, named "a"."""

    acquire: Callable[[], Any]
    """Returns a true value if the caller now holds the lease."""
    renew: Callable[[Any], Any]
    release: Callable[[Any], object]
    expire: Callable[[], None]
    """Lets an acquired lease expire."""


def in_redis(client) -> World:
    leases = Leases(client, "leases", LEASE_S)
    return World(
        lambda: leases.acquire(["a"])[0] > 0,
        lambda _: leases.renew(["a"], 2 * LEASE_S),
        lambda _: leases.release(["a"]),
        lambda: leases.renew(["a"], -1) and None,
    )


def in_cells(tables: Tables) -> World:
    clock = ManualClock()
    leases = CellLeases(tables["u"], COLUMN, int(LEASE_S * 1000), clock)
    return World(
        lambda: leases.acquire(ROW),
        lambda lease: leases.renew(ROW, lease),
        lambda lease: leases.release(ROW, lease),
        lambda: clock.advance_ms(int(LEASE_S * 1000)),
    )


@pytest.fixture(params=[pytest.param("redis", marks=pytest.mark.redis), "cells"])
def world(request: pytest.FixtureRequest, redis_client) -> World:
    """
    Leases of each kind. Cell leases use one engine, because all engines pass the contract of
    tables.
    """
    if request.param == "redis":
        return in_redis(redis_client)
    return in_cells(MemoryTables(ManualClock()))


def test_lease_has_one_holder_until_released(world):
    lease = world.acquire()
    assert lease
    assert not world.acquire()

    world.release(lease)

    assert world.acquire()


def test_unreleased_lease_expires(world):
    assert world.acquire()
    world.expire()

    assert world.acquire()
    assert not world.acquire()


def test_released_lease_cannot_be_renewed(world):
    lease = world.acquire()
    world.release(lease)

    assert not world.renew(lease)
    assert world.acquire()


def test_renewed_lease_keeps_others_out(world):
    lease = world.acquire()

    assert world.renew(lease)

    assert not world.acquire()


# In cells: operations of a process that lost its lease fail


def test_process_that_lost_its_lease_cannot_renew_or_release_it(tables):
    world = in_cells(tables)
    lost = world.acquire()
    world.expire()
    held = world.acquire()

    assert world.renew(lost) is None
    assert not world.release(lost)
    assert world.acquire() is None
    assert world.renew(held).holder == held.holder


def test_only_one_of_two_processes_gets_an_expired_lease(tables):
    clock = ManualClock()
    leases = CellLeases(tables["u"], COLUMN, 1000, clock)
    leases.acquire(ROW)
    clock.advance_ms(1000)
    seen = leases.read(ROW)

    assert leases.take(ROW, seen, b"one").holder == b"one"
    assert leases.take(ROW, seen, b"two") is None
    assert leases.read(ROW).holder == b"one"


# In Redis: many leases at once, confirmation, and fences


@pytest.mark.redis
def test_many_leases_are_acquired_in_one_call(redis_client):
    leases = Leases(redis_client, "leases", LEASE_S)

    assert leases.acquire(["a", "b"]) == [1, 1]
    assert leases.acquire(["b", "c"]) == [UNCONFIRMED, 1]
    leases.release(["b", "never acquired"])
    assert leases.acquire(["a", "b"]) == [UNCONFIRMED, 1]
    assert (leases.acquire([]), leases.remaining_s([]), leases.renew([], 1)) == ([], [], 0)


@pytest.mark.redis
def test_remaining_time_of_a_lease_is_known(redis_client):
    leases = Leases(redis_client, "leases", LEASE_S)
    leases.acquire(["a", "b"])
    leases.renew(["b"], 600)

    a_s, b_s, free_s = leases.remaining_s(["a", "b", "free"])

    assert 0 < a_s <= 60 < b_s <= 600
    assert free_s == 0


@pytest.mark.redis
def test_unconfirmed_lease_is_taken_over_and_a_confirmed_one_is_not(
    redis_client,
):
    leases = Leases(redis_client, "leases", LEASE_S, patience_s=0)
    leases.acquire(["slow", "confirmed"])
    leases.renew(["confirmed"], 10 * LEASE_S)

    assert leases.acquire(["slow", "confirmed"]) == [1, HELD]
    assert leases.acquire(["confirmed"], renewed_s=20 * LEASE_S) == [1]


@pytest.mark.redis
def test_lease_of_a_killed_process_is_taken_over(redis_client, redis_url):
    done = subprocess.run([sys.executable, "-c", ACQUIRE, redis_url], check=False)
    leases = Leases(redis_client, "leases", LEASE_S, patience_s=0)

    assert done.returncode == -signal.SIGKILL
    assert leases.count() == 1
    assert leases.acquire(["a"]) == [1]


@pytest.mark.redis
def test_fence_rises_with_each_holder_up_to_nine_until_released(redis_client):
    leases = Leases(redis_client, "leases", LEASE_S, patience_s=0, fenced=True)

    fences = [leases.acquire(["a"], renewed_s=1e9)[0] for _ in range(11)]
    leases.renew(["a"], LEASE_S)

    assert fences == [1, 2, 3, 4, 5, 6, 7, 8, 9, 9, 9]
    assert leases.acquire(["a"], renewed_s=1e9) == [9]
    leases.release(["a"])
    assert leases.acquire(["a"]) == [1]


@pytest.mark.redis
def test_sweep_deletes_expired_leases_only(redis_client):
    leases = Leases(redis_client, "leases", LEASE_S, fenced=True)
    names = [str(n) for n in range(1200)]
    leases.acquire(names)
    leases.renew(names[:700], -1)

    assert leases.sweep() == 700
    assert leases.count() == 500
    assert leases.sweep() == 0
