import random

from hypothesis import given
from hypothesis import strategies as st

from aragog.pipeline.bundles import UrlJob
from aragog.pipeline.retry import LONGEST_WAIT_MS, again
from aragog.settings import PipelineSettings

NOW = 1_700_000_000_000


def next_try(attempt=0, not_before_ms=None, **settings):
    job = UrlJob(url="http://a/", attempt=attempt, slot_at_ms=7, target="http://b/")
    return again(
        job,
        PipelineSettings(**settings),
        now_ms=NOW,
        not_before_ms=not_before_ms,
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
    _, at_ms = next_try(attempt=attempt, max_attempts=100, retry_first_s=30)

    expected_ms = min(30_000 * 2**attempt, LONGEST_WAIT_MS / 1.25)
    assert expected_ms * 0.75 <= at_ms - NOW <= LONGEST_WAIT_MS


@given(st.integers(0, 10**12))
def test_what_the_origin_asks_for_counts_up_to_a_day(wait_ms):
    _, at_ms = next_try(not_before_ms=NOW + wait_ms)

    assert min(wait_ms, LONGEST_WAIT_MS) <= at_ms - NOW <= min(wait_ms, LONGEST_WAIT_MS) + 500
