"""Short reads run on the event loop unless they are slow."""

import asyncio
import threading

import pytest

from aragog.api.server.loop_calls import LoopCalls
from aragog.api.server.threads import ThreadCall


class Time:
    """A clock that is advanced only by reads."""

    def __init__(self):
        self.now = 1000.0

    def now_s(self):
        return self.now


class Read(ThreadCall):
    """A read that records its thread and the size of its group."""

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
def run_turns(time):
    """Submits calls in turns of an event loop; returns for each whether it ran on the loop."""

    def run(*turns):
        async def make_all():
            calls = LoopCalls("test", 2, 1000, now_s=time.now_s)
            for turn in turns:
                for call in turn:
                    calls.submit(call)
                await asyncio.gather(*(call.finished.wait() for call in turn))
            assert calls.call_count == 0
            calls.close()
            return [[call.thread == threading.get_ident() for call in turn] for turn in turns]

        return asyncio.run(make_all())

    return run


def test_reads_of_one_turn_run_together_on_the_event_loop(run_turns, time):
    turn = [Read(time) for _ in range(40)]

    assert run_turns(turn) == [[True] * 40]
    assert [call.together for call in turn] == [32] * 32 + [8] * 8


def test_other_calls_run_in_threads_without_delaying_the_following_reads(run_turns, time):
    assert run_turns([Read(time), Read(time, shares=False), Read(time)]) == [[True, False, True]]


def test_reads_run_in_threads_for_a_second_after_one_hung(run_turns, time):
    hangs, waits = Read(time, takes_s=0.2), Read(time, takes_s=1.0)

    assert run_turns([hangs], [waits], [Read(time)]) == [[True], [False], [True]]


def test_reads_after_one_that_hung_in_the_same_turn_go_to_threads(run_turns, time):
    others = [Read(time) for _ in range(32)]

    (where,) = run_turns([Read(time, takes_s=0.2), *others])

    assert where == [True] * 32 + [False]


def test_three_slow_reads_in_a_row_move_reads_to_threads(run_turns, time):
    slow, quick = {"takes_s": 0.006}, {}
    kinds = [slow, slow, quick, slow, slow, slow, quick]

    assert run_turns(*([Read(time, **kind)] for kind in kinds)) == [[True]] * 6 + [[False]]


def test_read_that_misses_its_deadline_expires(run_turns, time):
    call = Read(time, takes_s=0.02, limit_s=0.01)

    assert run_turns([call]) == [[True]]
    assert call.expired


def test_call_not_started_when_the_server_closes_never_runs(time):
    async def close_at_once():
        calls, call = LoopCalls("test", 2, 1000), Read(time)
        calls.submit(call)
        calls.close()
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turn.set_result, None)
        await turn
        assert calls.call_count == 0
        return call

    call = asyncio.run(close_at_once())

    assert call.expired
    assert call.thread is None
