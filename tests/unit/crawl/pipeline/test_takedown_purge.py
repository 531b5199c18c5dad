"""Removal of URLs that were taken down from the queues, the spool and the robots cache."""

import pytest

from aragog.crawl.pipeline.messages import FetchBatch, PageBatch, RobotsBatch, UrlJob
from aragog.crawl.pipeline.routing import Destination
from aragog.crawl.pipeline.takedown import Purge
from pinlater.admin import Admin
from pinlater.cluster import Cluster
from pinlater.models import ClaimRequest, JobState, Nack, NewJob
from pinlater.testing.memory_shard import MemoryShard
from tests.support.jobs import job_of

GONE, KEEP = "http://gone.test/", "http://keep.test/"
JOBS = UrlJob(url=GONE, attempt=2), UrlJob(url=KEEP, attempt=2)


@pytest.fixture
def admin():
    return Admin(Cluster([MemoryShard()]))


@pytest.fixture
def purge(ports, admin):
    ports.store.takedowns.take_down(host="gone.test")
    refused = ports.store.takedowns.refused
    return Purge(refused, ports.robots, ports.spool, ports.in_flight, admin, ports.sent)


def enqueue(admin, stage, message, **options):
    admin.cluster.enqueue(stage.queue, [job_of(stage.task, message.wire(), **options)])


def test_message_is_replaced_by_one_with_the_other_urls(purge, admin, ports):
    ports.in_flight.urls = {GONE, KEEP}
    enqueue(admin, Destination.FETCH, FetchBatch(JOBS), priority=3)

    done = purge.run()

    (sent,) = ports.sent.messages
    assert FetchBatch.read(sent.message.wire()).jobs == JOBS[1:]
    assert (sent.destination, sent.priority) == (Destination.FETCH, 3)
    assert (done.messages, admin.jobs("fetch", JobState.PENDING)) == (1, [])
    assert ports.in_flight.urls == {KEEP}


def test_message_without_other_urls_is_deleted(purge, admin, ports):
    enqueue(admin, Destination.FETCH, FetchBatch(JOBS[:1]))

    assert purge.run().messages == 1
    assert ports.sent.messages == []


def test_unrelated_messages_are_left_alone(purge, admin, ports):
    enqueue(admin, Destination.FETCH, FetchBatch(JOBS[1:]))
    admin.cluster.enqueue("theirs", [job_of("their.task", GONE)])
    admin.cluster.enqueue("fetch", [NewJob(b"no json", name="aragog.fetch")])

    assert purge.run().messages == 0
    assert len(admin.jobs("fetch", JobState.PENDING)) == 2
    assert len(admin.jobs("theirs", JobState.PENDING)) == 1


def test_spooled_pages_are_deleted_and_the_others_fetched_again(purge, admin, ports):
    pages, *bodies = ports.spool.put_many([b"pages", b"gone", b"keep"])
    enqueue(admin, Destination.STORE, PageBatch(pages, JOBS, tuple(bodies)))

    assert purge.run().bodies == 3

    (sent,) = ports.sent.messages
    assert sent.destination is Destination.FETCH
    assert [(job.url, job.attempt) for job in sent.message.jobs] == [(KEEP, 0)]
    assert ports.spool.blobs == {}


def test_failed_message_is_not_repeated_but_its_other_urls_are_fetched(purge, admin, ports):
    message = RobotsBatch(("http://keep.test",), JOBS)
    enqueue(admin, Destination.ROBOTS, message)
    (shard,) = admin.cluster.shards
    (claim,) = shard.claim("robots", ClaimRequest(limit=1, timeout_ms=60_000, worker="w")).claims
    shard.nack("robots", [Nack(claim.job_id, claim.token, "fail", 0, "no")])

    assert purge.run().messages == 1

    (sent,) = ports.sent.messages
    assert (sent.destination, [job.url for job in sent.message.jobs]) == (Destination.FETCH, [KEEP])


def test_robots_rules_of_a_taken_down_site_are_deleted(purge, ports):
    for origin in ("http://gone.test", "http://keep.test"):
        ports.robots.know(origin)

    assert purge.run().origins == 1
    assert list(ports.robots.cached) == ["http://keep.test"]


def test_dead_letters_are_purged_for_other_brokers(ports):
    ports.store.takedowns.take_down(url=GONE)
    letters = [[{"urls": [{"url": GONE}]}], [{"urls": [{"url": KEEP}]}]]
    purge = Purge(
        ports.store.takedowns.refused, ports.robots, ports.spool, ports.in_flight, None,
        ports.sent, lambda names_it: sum(map(names_it, letters)),
    )  # fmt: skip

    assert purge.run().messages == 1
