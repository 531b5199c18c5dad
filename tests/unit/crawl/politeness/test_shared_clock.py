"""The clock of a server, on machines whose own clocks are wrong or adjusted."""

import logging

import pytest

from aragog.crawl.politeness.shared_clock import (
    CHECK_INTERVAL_S,
    MAX_READINGS,
    RECHECK_S,
    ServerTime,
    SharedClock,
)
from aragog.errors import LimiterUnavailable
from aragog.runtime.clock import ManualClock

HOUR_MS = 3_600_000


class Machine(ManualClock):
    """A machine with an adjustable wall clock and a steady monotonic clock."""

    step_ms = 0

    def now_ms(self):
        return super().now_ms() + self.step_ms


class Server:
    """A server with its own clock and delayed responses."""

    def __init__(self, machine):
        self.machine = machine
        self.ahead_ms = 300_000
        self.back_ms = []
        """The delays of the next responses."""
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


def test_machine_whose_clock_is_years_ahead_shows_the_server_time():
    machine, server = ManualClock(2_000_000_000_000), ManualClock(1_700_000_000_000)
    clock = ServerTime(machine, server.now_ms)

    assert clock.now_ms() == server.now_ms()
    machine.advance_ms(5000)

    assert clock.now_ms() == server.now_ms() + 5000
    assert clock.monotonic_s() == machine.monotonic_s()


@pytest.mark.parametrize("step_ms", [-HOUR_MS, HOUR_MS])
def test_step_of_the_machine_clock_changes_no_time(machine, server, step_ms):
    """Regression: the offset from before a step was added to a time read after it."""
    clock = ServerTime(machine, server)
    before_ms = clock.now_ms()
    machine.advance_ms(2000)

    machine.step_ms = step_ms

    assert clock.now_ms() == before_ms + 2000 == server.true_ms()


def test_offset_is_measured_immediately_after_the_machine_slept(machine, server):
    clock = ServerTime(machine, server)
    clock.now_ms()
    machine.step_ms = HOUR_MS  # during sleep, the wall clock runs and the monotonic clock stops
    server.ahead_ms += HOUR_MS

    assert clock.now_ms() == server.true_ms()


def test_offset_is_checked_every_minute_and_follows_the_server(machine, server, caplog):
    clock = ServerTime(machine, server)
    clock.now_ms()
    server.ahead_ms -= 5000
    machine.advance_ms((CHECK_INTERVAL_S - 1) * 1000)
    assert clock.now_ms() == server.true_ms() + 5000
    machine.advance_ms(1000)

    with caplog.at_level(logging.WARNING):
        assert clock.now_ms() == server.true_ms()

    assert "jumped by -5.0 s" in caplog.text


def test_one_slow_response_does_not_distort_the_time(machine, server):
    """Regression: under load, fetch times were up to 12.7 s off."""
    server.back_ms = [25_000, 30]
    clock = SharedClock(machine, server)

    assert abs(clock.server_now_ms() - server.true_ms()) <= clock.max_error_ms() <= 16
    assert server.calls == 2


def test_server_that_always_responds_slowly_is_asked_again_soon(machine, server, caplog):
    server.back_ms = [4000] * MAX_READINGS
    clock = SharedClock(machine, server)
    assert abs(clock.server_now_ms() - server.true_ms()) <= clock.max_error_ms() <= 2001
    assert "is only known to 2001 ms" in caplog.text

    machine.advance_ms(RECHECK_S * 1000)

    assert clock.server_now_ms() == server.true_ms()
    assert clock.max_error_ms() == 1


def test_measurement_within_the_bounds_of_the_last_one_changes_nothing(machine, server):
    clock = SharedClock(machine, server)
    before_ms = clock.server_now_ms()
    server.back_ms = [20]
    machine.advance_ms(CHECK_INTERVAL_S * 1000)

    assert clock.server_now_ms() == before_ms + CHECK_INTERVAL_S * 1000 + 20


def test_failed_check_leaves_the_time_unchanged(machine, server, caplog):
    clock = ServerTime(machine, server)
    clock.now_ms()
    server.error = LimiterUnavailable("redis", "down")
    machine.advance_ms(CHECK_INTERVAL_S * 1000)

    assert clock.now_ms() == server.true_ms()
    assert clock.now_ms() == server.true_ms()

    assert caplog.text.count("cannot check the time") == 1


def test_failed_first_measurement_raises(machine, server):
    server.error = LimiterUnavailable("redis", "down")

    with pytest.raises(LimiterUnavailable):
        ServerTime(machine, server).now_ms()
