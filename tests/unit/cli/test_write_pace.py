"""The rate of `aragog store import` and `aragog reextract`."""

from aragog.cli.write_pace import WritePace


class StoppedClock:
    """A clock that moves only while somebody sleeps."""

    def __init__(self):
        self.now_s = 100.0
        self.slept_s = 0.0

    def sleep(self, seconds):
        self.now_s += seconds
        self.slept_s += seconds


def pace(max_per_second, clock):
    return WritePace(max_per_second, now_s=lambda: clock.now_s, sleep_s=clock.sleep)


def test_items_are_spread_over_the_time_of_their_rate():
    clock = StoppedClock()

    assert list(pace(50, clock).each(range(101))) == list(range(101))
    assert round(clock.slept_s, 6) == 2


def test_batch_delays_the_next_one_by_its_size():
    clock = StoppedClock()
    limited = pace(50, clock)
    limited.wait(200)
    assert clock.slept_s == 0

    limited.wait(1)
    assert clock.slept_s == 4


def test_idle_time_allows_no_burst_afterward():
    clock = StoppedClock()
    limited = pace(1, clock)
    limited.wait()
    clock.now_s += 60

    assert list(limited.each("abc")) == list("abc")
    assert clock.slept_s == 2


def test_no_limit_never_waits():
    clock = StoppedClock()

    assert list(pace(None, clock).each("abc")) == list("abc")
    assert clock.slept_s == 0
