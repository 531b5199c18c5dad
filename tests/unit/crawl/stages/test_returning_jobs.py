"""When jobs come back, and which of them share a message."""

import random

from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.messages import UrlJob
from aragog.crawl.stages.returning_jobs import MAX_WAIT_MS, delayed_batches, next_attempt
from aragog.settings import PipelineSettings

timed = st.lists(
    st.tuples(
        st.builds(UrlJob, url=st.text(max_size=5), priority=st.integers(0, 9)),
        st.integers(0, 20_000),
    )
)


@given(timed, st.integers(1, 30), st.integers(0, 3000))
def test_no_job_is_lost_or_sent_after_its_time(jobs, size, span_ms):
    sends = delayed_batches(jobs, batch_size=size, span_ms=span_ms)

    sent = [(job, send) for send in sends for job in send.message.jobs]
    assert sorted(job.url for job, _ in sent) == sorted(job.url for job, _ in jobs)
    due = {}
    for job, wait_ms in jobs:
        due.setdefault(id(job), []).append(wait_ms)
    for job, send in sent:
        assert any(0 <= wait_ms - send.delay_ms <= span_ms for wait_ms in due[id(job)])


@given(timed, st.integers(1, 30), st.integers(0, 3000))
def test_batch_is_limited_and_has_the_priority_of_its_most_urgent_job(jobs, size, span_ms):
    for send in delayed_batches(jobs, batch_size=size, span_ms=span_ms):
        assert 0 < len(send.message.jobs) <= size
        assert send.priority == min(job.priority for job in send.message.jobs)


@given(timed, st.integers(0, 30_000))
def test_time_since_the_slot_was_assigned_shortens_the_delay(jobs, elapsed_ms):
    early, late = (
        delayed_batches(jobs, batch_size=5, span_ms=0, elapsed_ms=ms) for ms in (0, elapsed_ms)
    )

    assert [s.delay_ms for s in late] == [max(0, s.delay_ms - elapsed_ms) for s in early]


def test_ten_slots_within_one_second_share_a_message():
    jobs = [(UrlJob(url=f"http://a/{n}"), 5000 + 100 * n) for n in range(10)]

    assert len(delayed_batches(jobs, batch_size=25, span_ms=1000)) == 1


def next_try(attempt=0, min_wait_ms=None, **settings):
    job = UrlJob(url="http://a/", attempt=attempt, slot_at_ms=7, target="http://b/")
    return next_attempt(
        job,
        PipelineSettings(**settings),
        min_wait_ms=min_wait_ms,
        rng=random.Random(1),
    )


def test_url_fails_after_its_last_attempt():
    assert next_try(attempt=3, max_attempts=5) is not None
    assert next_try(attempt=4, max_attempts=5) is None


def test_next_attempt_starts_from_the_first_url_without_a_slot():
    job, _ = next_try()

    assert (job.attempt, job.slot_at_ms, job.target, job.hops) == (1, None, None, ())


@given(st.integers(0, 30))
def test_waits_double_up_to_a_day(attempt):
    _, wait_ms = next_try(attempt=attempt, max_attempts=100, retry_first_s=30)

    expected_ms = min(30_000 * 2**attempt, MAX_WAIT_MS / 1.25)
    assert expected_ms * 0.75 <= wait_ms <= MAX_WAIT_MS


@given(st.integers(0, 10**12))
def test_wait_requested_by_the_origin_counts_up_to_a_day(asked_ms):
    _, wait_ms = next_try(min_wait_ms=asked_ms)

    assert min(asked_ms, MAX_WAIT_MS) <= wait_ms <= min(asked_ms, MAX_WAIT_MS) + 500
