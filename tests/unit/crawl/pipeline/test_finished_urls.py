"""What is said to those who wait for a URL, and what a task of the caller's gets."""

import pytest

from aragog.crawl.pipeline.finished_urls import (
    Finished,
    answer_of_record,
    answers_of_taken_down,
    finished,
)
from aragog.crawl.pipeline.messages import UrlJob
from aragog.errors import InvalidMessage

A, B = "http://a.test/", "http://b.test/"


def test_only_jobs_that_somebody_waits_for_make_a_message():
    jobs = [UrlJob(url=A, then='{"id": "1"}', priority=2), UrlJob(url=B)]

    (message,) = finished(jobs, answers_of_taken_down([A, B]))

    assert message.priority == 2
    assert Finished.read(message.message.wire()) == Finished(
        '{"id": "1"}',
        {"url": A, "canonical_url": A, "outcome": "Refused", "reason": "taken down"},
    )


def test_a_url_that_is_not_stored_has_an_answer_without_outcome():
    assert answer_of_record(A, None) == {"url": A, "canonical_url": A}


@pytest.mark.parametrize(
    "wire",
    [
        "http://a.test/",
        {"v": 1},
        {"v": 1, "then": 5, "answer": {"url": A}},
        {"v": 1, "then": "{}", "answer": {}},
    ],
)
def test_any_other_message_is_invalid(wire):
    with pytest.raises(InvalidMessage, match="finished"):
        Finished.read(wire)


def test_what_follows_travels_with_a_job_through_its_messages():
    job = UrlJob(url=A, then="x")

    assert UrlJob.read(job.wire()) == job
    assert "then" not in UrlJob(url=A).wire()
