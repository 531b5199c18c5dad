"""The clock of a server, on machines whose own clocks are wrong, or are set in the meantime."""

import logging

import pytest

from aragog.crawl.politeness.shared_clock import (
    CHECK_EVERY_S,
    MAX_READINGS,
    RECHECK_S,
    ServerTime,
    SharedClock,
)
from aragog.errors import LimiterUnavailable
from aragog.runtime.clock import ManualClock

HOUR_MS = 3_600_000


class Machine(ManualClock):
    """A machine whose wall clock somebody sets, and whose monotonic clock nobody can."""

    step_ms = 0

    def now_ms(self):
        return super().now_ms() + self.step_ms


class Server:
    """A server with a clock of its own, which answers after some time."""

    def __init__(self, machine):
        self.machine = machine
        self.ahead_ms = 300_000
        self.back_ms = []
        """How long the next answers travel back."""
        self.calls = 0
        self.error = None

    def true_ms(self):
        return ManualClock.now_ms(self.machine) + self.ahead_ms

    def __call__(self):
        self.calls += 1
        if self.error:
            raise self.error
        now_ms = self.true_ms()
        self.machine.advance_ms(self.back_ms.pop(0) if self.back_ms else 0)
        return now_ms


@pytest.fixture
def machine():
    return Machine()


@pytest.fixture
def server(machine):
    return Server(machine)


def test_a_machine_whose_clock_is_years_ahead_shows_the_servers_time():
    machine, server = ManualClock(2_000_000_000_000), ManualClock(1_700_000_000_000)
    clock = ServerTime(machine, server.now_ms)

    assert clock.now_ms() == server.now_ms()
    machine.advance_ms(5000)

    assert clock.now_ms() == server.now_ms() + 5000
    assert clock.monotonic_s() == machine.monotonic_s()


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS])
def test_a_step_of_the_machines_clock_changes_no_time(machine, server, step_ms):
    """What was seen: the offset of before the step, added to a time that was read after it."""
    clock = ServerTime(machine, server)
    before_ms = clock.now_ms()
    machine.advance_ms(2000)

    machine.step_ms = step_ms

    assert clock.now_ms() == before_ms + 2000 == server.true_ms()


def test_after_a_sleep_of_the_machine_the_offset_is_measured_at_once(machine, server):
    clock = ServerTime(machine, server)
    clock.now_ms()
    machine.step_ms = HOUR_MS  # the wall clock goes on while the monotonic one stands still
    server.ahead_ms += HOUR_MS

    assert clock.now_ms() == server.true_ms()


def test_the_offset_is_checked_each_minute_and_follows_the_server(machine, server, caplog):
    clock = ServerTime(machine, server)
    clock.now_ms()
    server.ahead_ms -= 5000
    machine.advance_ms((CHECK_EVERY_S - 1) * 1000)
    assert clock.now_ms() == server.true_ms() + 5000
    machine.advance_ms(1000)

    with caplog.at_level(logging.WARNING):
        assert clock.now_ms() == server.true_ms()

    assert "jumped by -5.0 s" in caplog.text


def test_one_slow_answer_makes_no_time_wrong(machine, server):
    """What was seen under load: fetch times up to 12.7 s off."""
    server.back_ms = [25_000, 30]
    clock = SharedClock(machine, server)

    assert abs(clock.server_now_ms() - server.true_ms()) <= clock.bound_ms() <= 16
    assert server.calls == 2


def test_a_server_that_always_answers_slowly_is_asked_again_soon(machine, server, caplog):
    server.back_ms = [4000] * MAX_READINGS
    clock = SharedClock(machine, server)
    assert abs(clock.server_now_ms() - server.true_ms()) <= clock.bound_ms() <= 2001
    assert "is only known to 2001 ms" in caplog.text

    machine.advance_ms(RECHECK_S * 1000)

    assert clock.server_now_ms() == server.true_ms()
    assert clock.bound_ms() == 1


def test_a_measurement_within_the_bounds_of_the_last_one_moves_nothing(machine, server):
    clock = SharedClock(machine, server)
    before_ms = clock.server_now_ms()
    server.back_ms = [20]
    machine.advance_ms(CHECK_EVERY_S * 1000)

    assert clock.server_now_ms() == before_ms + CHECK_EVERY_S * 1000 + 20


def test_a_server_that_does_not_answer_a_check_leaves_the_time_as_it_was(machine, server, caplog):
    clock = ServerTime(machine, server)
    clock.now_ms()
    server.error = LimiterUnavailable("redis", "down")
    machine.advance_ms(CHECK_EVERY_S * 1000)

    assert clock.now_ms() == server.true_ms()
    assert clock.now_ms() == server.true_ms()

    assert caplog.text.count("cannot check the time") == 1


def test_the_first_measurement_fails_loudly(machine, server):
    server.error = LimiterUnavailable("redis", "down")

    with pytest.raises(LimiterUnavailable):
        ServerTime(machine, server).now_ms()
