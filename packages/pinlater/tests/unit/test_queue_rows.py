"""Rows of the queue and domain pages, and Flower's broker page."""

import asyncio

from pinlater.admin import Admin
from pinlater.cluster import Cluster
from pinlater.flower_pages import PinLaterBroker, broker_for
from pinlater.models import ClaimRequest, JobState, Nack, NewJob
from pinlater.queue_rows import get_problems, job_row, queue_rows
from pinlater.testing.manual_clock import ManualClock
from pinlater.testing.memory_shard import MemoryShard


def admin(*shards):
    return Admin(Cluster(shards or (MemoryShard(),)))


def test_queue_is_shown_by_state_and_priority():
    an_admin = admin()
    an_admin.cluster.enqueue("fetch", [NewJob(b"a"), NewJob(b"b", priority=5, delay_ms=60_000)])
    an_admin.limit("fetch", 3)
    an_admin.pause("fetch")

    (row,) = queue_rows(an_admin)

    assert (row.due, row.later, row.pending, row.running) == (1, 1, 2, 0)
    assert (row.priorities, row.rate, row.paused) == ("0: 1, 5: 1", "3/s", True)


def test_a_failed_job_is_reported_with_its_problem():
    an_admin = admin()
    an_admin.cluster.enqueue("fetch", [NewJob(b"a", name="shop.fetch", key="id-1")])
    (shard,) = an_admin.cluster.shards
    claim = shard.claim("fetch", ClaimRequest(limit=1, timeout_ms=1000, worker="w\x1b[1m")).claims[
        0
    ]
    shard.nack("fetch", [Nack(claim.job_id, claim.token, "fail", 0, "no\nroom")])

    (job,) = an_admin.jobs("fetch", JobState.FAILED)
    row = job_row(job, job.at_ms + 5000)

    assert (row.name, row.task_id, row.attempts) == ("shop.fetch", "id-1", "1")
    assert row.when.endswith("(5 s ago)")
    assert row.problem == "no room"
    assert "\x1b" not in row.worker


def test_healthy_queue_has_no_concerns_and_others_suggest_a_remedy():
    clock = ManualClock()
    an_admin = admin(MemoryShard(clock=clock))
    an_admin.cluster.enqueue("fetch", [NewJob(b"a")])
    (healthy,) = queue_rows(an_admin)
    clock.advance_ms(3_600_000)
    (late,) = queue_rows(an_admin)
    an_admin.pause("fetch")
    (paused,) = queue_rows(an_admin)

    assert get_problems(healthy) == []
    assert get_problems(late) == [
        "a job has been due for 1 h; is a worker with --queues fetch running?"
    ]
    assert get_problems(paused) == ["is paused; `pinlater resume fetch` resumes it"]


def test_broker_page_lists_queues_without_a_consumer():
    an_admin = admin()
    an_admin.cluster.enqueue("orphan", [NewJob(b"a"), NewJob(b"b"), NewJob(b"c", delay_ms=60_000)])
    (shard,) = an_admin.cluster.shards
    shard.claim("orphan", ClaimRequest(limit=1, timeout_ms=1000, worker="w"))

    queues = asyncio.run(PinLaterBroker(an_admin).queues(["fetch"]))

    assert queues == [
        {
            "name": "fetch", "messages": 0, "messages_ready": 0, "messages_unacknowledged": 0,
            "messages_due": 0, "messages_later": 0,
        },
        {
            "name": "orphan", "messages": 3, "messages_ready": 2, "messages_unacknowledged": 1,
            "messages_due": 1, "messages_later": 1,
        },
    ]  # fmt: skip


def test_flower_handles_other_brokers_itself():
    assert broker_for("redis://localhost/0", {}) is None
    assert broker_for("amqp://localhost", None) is None
    assert broker_for("pinlater://a:1,b:2/0", {"shards": ("redis://c:3/0",)}) is not None
