"""Jobs due at nearly the same time share a message."""

from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.pipeline.messages import FetchBatch, UrlJob
from aragog.crawl.stages.returning_jobs import delayed_batches, one_message_per_priority


@given(
    st.lists(
        st.tuples(
            st.builds(UrlJob, url=st.text(max_size=5), priority=st.integers(0, 9)),
            st.integers(0, 20_000),
        )
    ),
    st.integers(0, 30_000),
)
def test_delayed_jobs_share_one_message_per_priority(jobs, elapsed_ms):
    sends = one_message_per_priority(jobs, batch_size=25, span_ms=1000, elapsed_ms=elapsed_ms)

    assert len({send.priority for send in sends}) == len(sends)
    received = []
    for send in sends:
        assert isinstance(send.message, FetchBatch)
        assert send.collect is not None
        assert {job.priority for job in send.message.jobs} == {send.priority}
        received += zip(send.message.jobs, send.collect.delays_ms, strict=True)
    expected = [(job, max(0, wait_ms - elapsed_ms)) for job, wait_ms in jobs]
    assert sorted(received, key=repr) == sorted(expected, key=repr)


def test_no_jobs_make_no_message():
    assert one_message_per_priority([], batch_size=25, span_ms=1) == delayed_batches(
        [], batch_size=25, span_ms=1
    )
