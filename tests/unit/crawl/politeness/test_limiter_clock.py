from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.politeness.nodes.node import ServerClock
from aragog.crawl.politeness.slots import STATE, DomainState, ceil_ms, unpack_state

delays_us = st.floats(0, 5e4)


@given(
    st.lists(st.tuples(delays_us, delays_us, st.floats(0, 1e7)), min_size=1), st.floats(-1e15, 1e15)
)
def test_server_clock_is_always_within_the_bounds(trips, ahead_us):
    clock, now = ServerClock(), 0.0
    for there, back, pause in trips:
        clock.observe(now, now + there + ahead_us, now + there + back)
        now += there + back + pause

    # Half a microsecond is the precision of a double near 1e15.
    assert clock.earliest_us(now) - 0.5 <= now + ahead_us <= clock.latest_us(now) + 0.5


def test_quick_responses_narrow_the_bounds_and_slow_ones_do_not_widen_them():
    clock = ServerClock()
    clock.observe(0, 1_000_050, 100)

    clock.observe(200, 1_000_400, 50_200)

    assert clock.latest_us(50_200) - clock.earliest_us(50_200) < 200


def test_step_of_the_server_clock_is_followed():
    clock = ServerClock()
    clock.observe(0, 1_000_000, 100)

    clock.observe(200, 500_000, 300)

    assert clock.earliest_us(300) <= 500_100
    assert clock.latest_us(300) >= 500_000


def test_bounds_widen_without_responses():
    clock = ServerClock()
    clock.observe(0, 0, 100)

    assert clock.latest_us(10e6) - clock.earliest_us(10e6) > 5_000


def test_unknown_domain_is_at_its_full_rate():
    assert unpack_state(None) == DomainState()
    assert unpack_state(None).factor == 100


@given(st.floats(0, 4e15), st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**32 - 1))
def test_packed_state_round_trips(us, lag, holder):
    state = DomainState(us, us, lag, holder, holder, 3200, 255)

    assert unpack_state(STATE.pack(*state)) == state


def test_state_fits_in_one_redis_allocation():
    # Strings up to 44 bytes share one allocation with their object (OBJ_ENCODING_EMBSTR).
    assert STATE.size <= 44


@given(st.floats(0, 4e15))
def test_rounded_milliseconds_are_never_before_the_instant(us):
    assert ceil_ms(us) * 1000 >= us
    assert ceil_ms(us) * 1000 < us + 1001
