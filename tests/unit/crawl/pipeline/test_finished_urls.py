"""Completion messages for callers waiting for a URL, and the arguments of their task."""

import pytest

from aragog.crawl.pipeline.finished_urls import (
    Finished,
    finished_messages,
    make_record_result,
    takedown_results,
)
from aragog.crawl.pipeline.messages import UrlJob
from aragog.errors import InvalidMessage

A, B = "http://a.test/", "http://b.test/"


def test_only_jobs_with_a_waiting_caller_make_a_message():
    jobs = [UrlJob(url=A, then='{"id": "1"}', priority=2), UrlJob(url=B)]

    (message,) = finished_messages(jobs, takedown_results([A, B]))

    assert message.priority == 2
    assert Finished.read(message.message.wire()) == Finished(
        '{"id": "1"}',
        {"url": A, "canonical_url": A, "outcome": "Refused", "reason": "taken down"},
    )


def test_missing_record_gives_an_answer_without_an_outcome():
    assert make_record_result(A, None) == {"url": A, "canonical_url": A}


@pytest.mark.parametrize(
    "wire",
    [
        "http://a.test/",
        {"v": 1},
        {"v": 1, "then": 5, "answer": {"url": A}},
        {"v": 1, "then": "{}", "answer": {}},
    ],
)
def test_invalid_message_is_refused(wire):
    with pytest.raises(InvalidMessage, match="finished"):
        Finished.read(wire)


def test_then_is_passed_on_with_the_job():
    job = UrlJob(url=A, then="x")

    assert UrlJob.read(job.wire()) == job
    assert "then" not in UrlJob(url=A).wire()
