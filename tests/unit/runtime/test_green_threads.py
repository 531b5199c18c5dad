"""Green threads: order, concurrency limits, events of other threads, and sockets."""

import socket
import threading
from contextlib import closing

import pytest

from aragog.runtime.green_threads import (
    GreenClock,
    GreenEvent,
    GreenPool,
    wait_readable,
    wait_writable,
)

clock = GreenClock()


def in_batch(*functions, size=10):
    """Returns the results of the functions, run side by side in this thread."""
    with GreenPool(size).batch() as batch:
        return [call.result() for call in [batch.submit(function) for function in functions]]


def test_calls_of_a_batch_run_side_by_side_in_its_thread():
    order = []

    def sleeper(name, *times_s):
        def call():
            for seconds in times_s:
                order.append((name, threading.get_ident()))
                clock.sleep_s(seconds)
            return name

        return call

    assert in_batch(sleeper("a", 0.2, 0), sleeper("b", 0.1, 0.2)) == ["a", "b"]

    assert [name for name, _ in order] == ["a", "b", "b", "a"]
    assert {thread for _, thread in order} == {threading.get_ident()}


def test_calls_continue_while_the_submitting_thread_sleeps():
    done = []
    with GreenPool(1).batch() as batch:
        batch.submit(lambda: clock.sleep_s(0.01) or done.append(1))
        clock.sleep_s(0.2)
        assert done


def test_error_reaches_the_caller_after_all_other_calls_end():
    ended = []

    def fails():
        clock.sleep_s(0.01)
        raise LookupError("here")

    with pytest.raises(LookupError, match="here"):
        in_batch(fails, lambda: clock.sleep_s(0.1) or ended.append(1))

    assert ended == [1]


def test_failed_call_leaves_its_slot_and_thread_usable():
    pool = GreenPool(1)
    for _ in range(3):
        with pool.batch() as batch, pytest.raises(ZeroDivisionError):
            batch.submit(lambda: 1 / 0).result()
    assert in_batch(lambda: 7) == [7]


def test_concurrent_calls_are_limited_across_threads():
    pool, running, most = GreenPool(3), [], []

    def call():
        running.append(1)
        most.append(len(running))
        clock.sleep_s(0.01)
        running.pop()

    def batch():
        with pool.batch() as calls:
            for _ in range(10):
                calls.submit(call)

    threads = [threading.Thread(target=batch) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(most) == 40
    assert max(most) <= 3


@pytest.mark.parametrize("delay_s", [0, 0.05])
def test_another_thread_can_end_a_wait(delay_s):
    event = GreenEvent()
    threading.Timer(delay_s, event.set).start()
    assert in_batch(lambda: event.wait(60), lambda: clock.sleep_s(0.1)) == [True, None]
    assert event.wait(0)


def test_wait_times_out():
    assert in_batch(lambda: GreenEvent().wait(0.01)) == [False]
    assert not GreenEvent().wait(0.01)


def test_waits_that_end_early_leave_no_timers():
    def call():
        for _ in range(3000):
            event = GreenEvent()
            event.set()
            assert event.wait(3600)
            clock.sleep_s(1e-6)

    in_batch(call, call)


def exchange():
    left, right = socket.socketpair()
    with closing(left), closing(right):
        left.setblocking(False)
        wait_writable(left, 60)
        with pytest.raises(TimeoutError):
            wait_readable(left, 0.01)
        right.send(b"x")
        wait_readable(left, 60)
        assert left.recv(1) == b"x"
        right.close()
        wait_readable(left, 60)
        left.close()
        with pytest.raises(OSError, match="closed"):
            wait_readable(left, 60)
    return "done"


def test_sockets_can_be_awaited_inside_and_outside_batches():
    assert exchange() == "done"
    assert in_batch(exchange, exchange) == ["done", "done"]


def test_urgent_call_runs_while_the_pool_is_full():
    pool, order = GreenPool(1, urgent_extra=1), []
    ends = GreenEvent()

    def first() -> None:
        order.append("first")
        ends.wait()

    with pool.batch() as batch:
        batch.submit(first)
        batch.submit(order.append, "second")
        call = batch.submit_urgent(order.append, "urgent")
        call.finish()
        assert order == ["first", "urgent"]
        ends.set()

    assert order == ["first", "urgent", "second"]
