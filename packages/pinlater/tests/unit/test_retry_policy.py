from hypothesis import given
from hypothesis import strategies as st

from pinlater.retry_policy import RetryPolicy


def test_first_five_delays_grow_by_a_step_and_the_rest_double():
    delays_s = [RetryPolicy().delay_ms(attempt) / 1000 for attempt in range(1, 11)]

    assert delays_s == [10, 20, 30, 40, 50, 100, 200, 400, 800, 1600]


def test_only_jitter_exceeds_the_cap():
    policy = RetryPolicy(retry_cap_ms=60_000, retry_jitter=0.1)

    assert policy.delay_ms(1000, 1.0) == 66_000


@given(st.integers(1, 10_000), st.floats(0, 1), st.floats(0, 1), st.integers(0, 10**6))
def test_delay_and_its_jitter_stay_within_bounds(attempt, chance, jitter, step_ms):
    policy = RetryPolicy(retry_step_ms=step_ms, retry_jitter=jitter)
    plain = policy.delay_ms(attempt)

    assert 0 <= plain <= policy.retry_cap_ms
    assert abs(policy.delay_ms(attempt, chance) - plain) <= plain * jitter + 1


@given(st.integers(1, 60))
def test_later_attempts_never_wait_less(attempt):
    policy = RetryPolicy()

    assert policy.delay_ms(attempt) <= policy.delay_ms(attempt + 1)


def test_queue_settings_override_the_defaults():
    policy = RetryPolicy.of({"max_attempts": 3.0, "retry_step_ms": 50.0, "rate": 4.0})

    assert policy == RetryPolicy(max_attempts=3, retry_step_ms=50)


def test_delays_after_the_linear_ones_grow_by_the_configured_factor():
    policy = RetryPolicy(linear_attempts=2, retry_step_ms=1000, retry_growth=3)

    assert [policy.delay_ms(n) for n in range(1, 6)] == [1000, 2000, 6000, 18_000, 54_000]


@given(st.integers(1, 10**9), st.floats(1, 10))
def test_delay_stays_capped_for_any_attempt_and_growth(attempt, growth):
    assert RetryPolicy(retry_growth=growth).delay_ms(attempt) <= 3_600_000


def test_job_type_settings_override_the_queue():
    settings = {"max_attempts": 3.0, "max_attempts@mail": 7.0, "retry_step_ms@other": 1.0}

    assert RetryPolicy.of(settings, "mail") == RetryPolicy(max_attempts=7)
    assert RetryPolicy.of(settings, "sms") == RetryPolicy(max_attempts=3)


def test_pinlater_policy_has_ten_retries_including_five_linear_ones():
    policy = RetryPolicy.of(RetryPolicy.PRESETS["pinlater"])
    delays_s = [policy.delay_ms(attempt) / 1000 for attempt in range(1, policy.max_attempts)]

    assert delays_s == [10, 20, 30, 40, 50, 100, 200, 400, 800, 1600]
