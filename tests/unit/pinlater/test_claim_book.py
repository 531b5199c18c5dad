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


def hold(book, shard, queue="q"):
    shard.enqueue(queue, [NewJob(b"x")])
    [job] = shard.claim(queue, limit=1, timeout_ms=TIMEOUT_MS, worker="w").claims
    return book.hold(shard, queue, job)


def test_claims_of_two_queues_with_equal_ids_and_tokens_are_two(book, shard):
    # What was seen: the ack of one queue's job finished the other queue's, which was still at work.
    [slow, quick] = [hold(book, shard, queue) for queue in ("b", "a")]

    book.ack(quick)

    assert [slow in book, quick in book] == [True, False]
    assert [shard.sizes(q).succeeded for q in ("b", "a")] == [0, 1]


def test_the_claim_of_a_dropped_queue_does_not_fit_a_job_of_its_successor(book, shard):
    old = hold(book, shard)
    shard.drop("q")
    new = hold(book, shard)

    book.ack(old)

    assert new in book
    assert shard.sizes("q").running == 1


def test_all_that_a_dead_worker_held_goes_back_in_one_round(book, shard, clock):
    shard.enqueue("q", [NewJob(b"x")] * 750)
    for _ in range(5):
        shard.claim("q", limit=150, timeout_ms=TIMEOUT_MS, worker="dead")
    book.sweep()  # hears the server's time, by which claims are judged
    clock.advance_ms(TIMEOUT_MS + 1)

    book.sweep()

    assert shard.sizes("q").due == 750


def test_a_closing_channel_gives_back_what_was_not_begun_and_keeps_what_runs(book, shard, running):
    tags = [hold(book, shard) for _ in ("begun", "not begun")]
    running.add(tags[0])

    book.give_back(tags)

    assert [tag in book for tag in tags] == [True, False]
    assert (shard.sizes("q").running, shard.sizes("q").due) == (1, 1)


def test_the_ack_of_a_job_that_ended_while_there_was_no_connection_still_counts(
    book, shard, running, clock
):
    # What was seen: the claim was dropped when the task had ended, before the loop could ack it.
    tag = hold(book, shard)
    running.add(tag)
    book.give_back([tag])
    running.clear()
    for _ in range(2):
        book.extend()
        clock.advance_ms(TIMEOUT_MS / 3)

    book.ack(tag)

    assert shard.sizes("q").succeeded == 1


def test_a_job_that_ended_and_is_never_acknowledged_runs_again(book, shard, running, clock):
    tag = hold(book, shard)
    running.add(tag)
    book.give_back([tag])
    running.clear()
    for _ in range(8):
        book.extend()
        book.sweep()
        clock.advance_ms(TIMEOUT_MS / 3)

    assert tag not in book
    assert shard.sizes("q").due == 1
