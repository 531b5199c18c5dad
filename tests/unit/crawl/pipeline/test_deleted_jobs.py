"""The URLs of deleted jobs, which may be enqueued again."""

import pytest

from aragog.crawl.pipeline.deleted_jobs import urls_in_jobs
from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, UrlJob
from pinlater.models import JobState, NewJob
from pinlater.testing.memory_shard import MemoryShard
from tests.support.jobs import job_of

A, B = "http://a.example/", "http://b.example/"
JOBS = (UrlJob(url=A), UrlJob(url=B))


def named(*jobs):
    shard = MemoryShard()
    shard.enqueue("q", jobs)
    return urls_in_jobs(shard.jobs("q", JobState.PENDING, limit=10))


@pytest.mark.parametrize("message", [FetchBatch(JOBS), PageBatch("t", JOBS)])
def test_message_of_any_stage_gives_its_urls(message):
    assert named(job_of("aragog.any", message.wire())) == [A, B]


def test_urls_enqueued_by_other_programs_are_normalized():
    assert named(job_of("aragog.fetch", "HTTP://A.example:80")) == [A]


def test_unreadable_message_gives_no_urls_and_hides_no_other():
    assert named(NewJob(b"no json"), job_of("aragog.fetch", A)) == [A]
