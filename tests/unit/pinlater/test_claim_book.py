"""What a process does with the claims that it holds, and with those that others left behind."""

import pytest

from aragog.clock import ManualClock
from aragog.pinlater.book import ClaimBook
from aragog.pinlater.cluster import Cluster
from aragog.pinlater.job import NewJob
from aragog.pinlater.memory import MemoryShard

TIMEOUT_MS = 60_000


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def shard(clock):
    return MemoryShard(clock)


@pytest.fixture
def running():
    return set()


@pytest.fixture
def book(clock, shard, running):
    book = ClaimBook(
        Cluster([shard], clock=clock),
        claim_timeout_ms=TIMEOUT_MS,
        clock=clock,
        still_running=running.__contains__,
    )
    book.watch("q")
    book.stop()  # its thread: here only the test acts
    return book


def hold(book, shard, key):
    shard.enqueue("q", [NewJob(b"x", key=key)])
    [job] = shard.claim("q", limit=1, timeout_ms=TIMEOUT_MS, worker="w").claims
    return book.hold(shard, "q", job, key)


def test_all_that_a_dead_worker_held_goes_back_in_one_round(book, shard, clock):
    shard.enqueue("q", [NewJob(b"x")] * 750)
    for _ in range(5):
        shard.claim("q", limit=150, timeout_ms=TIMEOUT_MS, worker="dead")
    book.sweep()  # hears the server's time, by which claims are judged
    clock.advance_ms(TIMEOUT_MS + 1)

    book.sweep()

    assert shard.sizes("q").due == 750


def test_a_closing_channel_gives_back_what_was_not_begun_and_keeps_what_runs(book, shard, running):
    running.add("begun")
    tags = [hold(book, shard, key) for key in ("begun", "not begun")]

    book.give_back(tags)

    assert [tag in book for tag in tags] == [True, False]
    assert (shard.sizes("q").running, shard.sizes("q").due) == (1, 1)


def test_the_ack_of_a_job_that_ended_while_there_was_no_connection_still_counts(
    book, shard, running, clock
):
    # What was seen: the claim was dropped when the task had ended, before the loop could ack it.
    running.add("k")
    tag = hold(book, shard, "k")
    book.give_back([tag])
    running.clear()
    for _ in range(2):
        book.extend()
        clock.advance_ms(TIMEOUT_MS / 3)

    book.ack(tag)

    assert shard.sizes("q").succeeded == 1


def test_a_job_that_ended_and_is_never_acknowledged_runs_again(book, shard, running, clock):
    running.add("k")
    tag = hold(book, shard, "k")
    book.give_back([tag])
    running.clear()
    for _ in range(8):
        book.extend()
        book.sweep()
        clock.advance_ms(TIMEOUT_MS / 3)

    assert tag not in book
    assert shard.sizes("q").due == 1
