"""Short reads are made on the event loop, unless they are slow."""

import asyncio
import threading

import pytest

from aragog.api.server.loop_calls import LoopCalls
from aragog.api.server.threads import ThreadCall


class Time:
    """A clock that only reads move."""

    def __init__(self):
        self.now = 1000.0

    def now_s(self):
        return self.now


class Read(ThreadCall):
    """A read that notes in which thread it was made, and with how many others."""

    def __init__(self, time, *, takes_s=0.0, shares=True, limit_s=60.0):
        super().__init__(time.now + limit_s)
        self.time, self.takes_s, self.shares = time, takes_s, shares
        self.thread, self.together = None, 0
        self.expired = False
        self.finished = asyncio.Event()

    def run(self):
        self.run_with(())

    def run_with(self, others):
        self.time.now += self.takes_s
        for call in (self, *others):
            call.thread, call.together = threading.get_ident(), 1 + len(others)

    def group_filter(self):
        return (lambda other: other.shares) if self.shares else None

    def finish(self):
        self.finished.set()

    def expire(self):
        self.expired = True


@pytest.fixture
def time():
    return Time()


@pytest.fixture
def made(time):
    """Make calls in turns of an event loop; True for each that was made on it."""

    def run(*turns):
        async def make_all():
            calls = LoopCalls("test", 2, 1000, now_s=time.now_s)
            for turn in turns:
                for call in turn:
                    calls.submit(call)
                await asyncio.gather(*(call.finished.wait() for call in turn))
            assert calls.busy == 0
            calls.close()
            return [[call.thread == threading.get_ident() for call in turn] for turn in turns]

        return asyncio.run(make_all())

    return run


def test_reads_that_came_in_one_turn_are_made_together_on_the_event_loop(made, time):
    turn = [Read(time) for _ in range(40)]

    assert made(turn) == [[True] * 40]
    assert [call.together for call in turn] == [32] * 32 + [8] * 8


def test_other_calls_are_made_in_threads_and_do_not_stop_the_reads_behind_them(made, time):
    assert made([Read(time), Read(time, shares=False), Read(time)]) == [[True, False, True]]


def test_after_a_read_that_hung_reads_are_made_in_threads_for_a_second(made, time):
    hangs, waits = Read(time, takes_s=0.2), Read(time, takes_s=1.0)

    assert made([hangs], [waits], [Read(time)]) == [[True], [False], [True]]


def test_reads_behind_one_that_hung_in_the_same_turn_go_to_threads(made, time):
    others = [Read(time) for _ in range(32)]

    (where,) = made([Read(time, takes_s=0.2), *others])

    assert where == [True] * 32 + [False]


def test_one_slow_read_changes_nothing_and_three_in_a_row_do(made, time):
    slow, quick = {"takes_s": 0.006}, {}
    kinds = [slow, slow, quick, slow, slow, slow, quick]

    assert made(*([Read(time, **kind)] for kind in kinds)) == [[True]] * 6 + [[False]]


def test_a_read_that_misses_its_deadline_is_late(made, time):
    call = Read(time, takes_s=0.02, limit_s=0.01)

    assert made([call]) == [[True]]
    assert call.expired


def test_a_call_that_has_not_begun_when_the_server_ends_is_never_made(time):
    async def close_at_once():
        calls, call = LoopCalls("test", 2, 1000), Read(time)
        calls.submit(call)
        calls.close()
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turn.set_result, None)
        await turn
        assert calls.busy == 0
        return call

    call = asyncio.run(close_at_once())

    assert call.expired
    assert call.thread is None
