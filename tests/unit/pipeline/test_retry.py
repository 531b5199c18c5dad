import random

from hypothesis import given
from hypothesis import strategies as st

from aragog.pipeline.messages import UrlJob
from aragog.pipeline.rescheduling import LONGEST_WAIT_MS, next_attempt
from aragog.settings import PipelineSettings


def next_try(attempt=0, wait_at_least_ms=None, **settings):
    job = UrlJob(url="http://a/", attempt=attempt, slot_at_ms=7, target="http://b/")
    return next_attempt(
        job,
        PipelineSettings(**settings),
        wait_at_least_ms=wait_at_least_ms,
        rng=random.Random(1),
    )


def test_a_url_is_given_up_after_its_last_attempt():
    assert next_try(attempt=3, max_attempts=5) is not None
    assert next_try(attempt=4, max_attempts=5) is None


def test_the_next_attempt_starts_from_the_first_url_without_a_slot():
    job, _ = next_try()

    assert (job.attempt, job.slot_at_ms, job.target, job.hops) == (1, None, None, ())


@given(st.integers(0, 30))
def test_waits_double_and_never_pass_a_day(attempt):
    _, wait_ms = next_try(attempt=attempt, max_attempts=100, retry_first_s=30)

    expected_ms = min(30_000 * 2**attempt, LONGEST_WAIT_MS / 1.25)
    assert expected_ms * 0.75 <= wait_ms <= LONGEST_WAIT_MS


@given(st.integers(0, 10**12))
def test_what_the_origin_asks_for_counts_up_to_a_day(asked_ms):
    _, wait_ms = next_try(wait_at_least_ms=asked_ms)

    assert min(asked_ms, LONGEST_WAIT_MS) <= wait_ms <= min(asked_ms, LONGEST_WAIT_MS) + 500
