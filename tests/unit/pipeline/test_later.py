from hypothesis import given
from hypothesis import strategies as st

from aragog.pipeline.messages import UrlJob
from aragog.pipeline.rescheduling import delayed_batches

timed = st.lists(
    st.tuples(
        st.builds(UrlJob, url=st.text(max_size=5), priority=st.integers(0, 9)),
        st.integers(0, 20_000),
    )
)


@given(timed, st.integers(1, 30), st.integers(0, 3000))
def test_no_job_is_lost_and_none_is_sent_for_later_than_its_time(jobs, size, span_ms):
    sends = delayed_batches(jobs, batch_size=size, span_ms=span_ms)

    sent = [(job, send) for send in sends for job in send.message.jobs]
    assert sorted(job.url for job, _ in sent) == sorted(job.url for job, _ in jobs)
    due = {}
    for job, wait_ms in jobs:
        due.setdefault(id(job), []).append(wait_ms)
    for job, send in sent:
        assert any(0 <= wait_ms - send.delay_ms <= span_ms for wait_ms in due[id(job)])


@given(timed, st.integers(1, 30), st.integers(0, 3000))
def test_a_bundle_is_bounded_and_as_urgent_as_its_most_urgent_job(jobs, size, span_ms):
    for send in delayed_batches(jobs, batch_size=size, span_ms=span_ms):
        assert 0 < len(send.message.jobs) <= size
        assert send.priority == min(job.priority for job in send.message.jobs)


@given(timed, st.integers(0, 30_000))
def test_the_time_since_a_slot_was_given_is_part_of_the_delay(jobs, passed_ms):
    early, late = (
        delayed_batches(jobs, batch_size=5, span_ms=0, passed_ms=ms) for ms in (0, passed_ms)
    )

    assert [s.delay_ms for s in late] == [max(0, s.delay_ms - passed_ms) for s in early]


def test_ten_slots_of_one_second_share_a_message():
    jobs = [(UrlJob(url=f"http://a/{n}"), 5000 + 100 * n) for n in range(10)]

    assert len(delayed_batches(jobs, batch_size=25, span_ms=1000)) == 1
