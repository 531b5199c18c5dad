"""The clock of a server, on machines whose own clocks are wrong."""

from aragog.clock import ManualClock
from aragog.politeness.shared_clock import ServerTime


def test_a_machine_whose_clock_is_years_ahead_shows_the_servers_time():
    machine, server = ManualClock(2_000_000_000_000), ManualClock(1_700_000_000_000)
    clock = ServerTime(machine, server.now_ms)

    assert clock.now_ms() == server.now_ms()
    machine.advance_ms(5000)

    assert clock.now_ms() == server.now_ms() + 5000
    assert clock.monotonic_s() == machine.monotonic_s()
