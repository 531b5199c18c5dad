from hypothesis import given
from hypothesis import strategies as st

from pinlater.retry_policy import RetryPolicy


def test_five_delays_grow_by_a_step_and_the_rest_double():
    delays_s = [RetryPolicy().delay_ms(attempt) / 1000 for attempt in range(1, 11)]

    assert delays_s == [10, 20, 30, 40, 50, 100, 200, 400, 800, 1600]


def test_a_delay_never_exceeds_the_cap_but_for_its_jitter():
    policy = RetryPolicy(retry_cap_ms=60_000, retry_jitter=0.1)

    assert policy.delay_ms(1000, 1.0) == 66_000


@given(st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6))
def test_a_delay_is_bounded_and_jitter_stays_in_its_share(attempt, chance, jitter, step_ms):
    policy = RetryPolicy(retry_step_ms=step_ms, retry_jitter=jitter)
    plain = policy.delay_ms(attempt)

    assert 0 <= plain <= policy.retry_cap_ms
    assert abs(policy.delay_ms(attempt, chance) - plain) <= plain * jitter + 1


@given(st.integers(1, 60))
def test_a_later_attempt_never_waits_less(attempt):
    policy = RetryPolicy()

    assert policy.delay_ms(attempt) <= policy.delay_ms(attempt + 1)


def test_a_queue_overrides_what_it_names():
    policy = RetryPolicy.of({"max_attempts": 3.0, "retry_step_ms": 50.0, "rate": 4.0})

    assert policy == RetryPolicy(max_attempts=3, retry_step_ms=50)
