"""Which queues other programs may use, and the form in which they get jobs enqueued by others."""

import pytest

from aragog.api.operations.job_queues import dequeue_jobs, enqueue_jobs, nack_jobs
from aragog.api.operations.jobs import JobClaim, Jobs, QueueJob
from aragog.api.operations.operation import Caller, Parts
from aragog.api.operations.steps import Wait
from aragog.bootstrap.api import job_queues
from aragog.crawl.pipeline.routing import Queue
from aragog.errors import AccessDenied, BadInput
from aragog.runtime.clock import ManualClock
from aragog.settings import BrokerSettings, Settings
from pinlater.admin import Admin
from pinlater.brokers import of_socket
from pinlater.cluster import Cluster, connect_shards
from pinlater.models import ClaimRequest, JobState, NewJob
from tests.support.stores import store_harness
from zengraph.tables.memory import MemoryTables

pytestmark = pytest.mark.redis

ENVELOPE = (
    b'{"body": "[[\\"a.png\\"], {}, {}]", "headers": {"task": "t", "id": "1"}, "properties": {}}'
)
BOTH = b'{"body": "[[1], {\\"a\\": 2}, {}]", "headers": {"task": "t", "id": "1"}, "properties": {}}'


@pytest.fixture(params=["redis", "postgres"])
def cluster(request, redis_url):
    url = redis_url if request.param == "redis" else request.getfixturevalue("postgres_dsn")
    return Cluster(connect_shards([url]))


@pytest.fixture
def jobs(cluster):
    jobs = Jobs(cluster, reserved=["fetch"])
    yield jobs
    jobs.close()


def enqueue(jobs, queue, *bodies, door="thrift", **more):
    return jobs.enqueue(queue, [QueueJob(body, **more) for body in bodies], door=door)


def dequeue(jobs, queue, door="thrift"):
    steps = jobs.dequeue(queue, 10, door=door, claim_ms=60_000, worker="w", wait_ms=0)
    try:
        assert isinstance(next(steps), Wait)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def test_queue_has_one_name_for_every_program(jobs, cluster):
    enqueue(jobs, "mail", b"1", content_type="text/plain", name="letter")

    [job] = Admin(cluster).jobs("mail", JobState.PENDING)
    [claimed] = dequeue(jobs, "mail", "http")
    assert job.name == "letter"
    assert (claimed.body, claimed.content_type, claimed.name) == (b"1", "text/plain", "letter")


def test_new_queue_can_be_opened_while_a_shard_is_down(redis_url, tmp_path):
    urls = [redis_url, f"unix://{tmp_path}/none.sock"]
    jobs, later = (Jobs(Cluster(connect_shards(urls))) for _ in range(2))
    try:
        enqueue(jobs, "mail", b"1")
        [job] = dequeue(later, "mail")
    finally:
        jobs.close()
        later.close()
    assert job.body == b"1"


@pytest.mark.parametrize("queue", ["fetch", "jobs.mail"])
def test_no_door_opens_a_queue_of_the_crawler(jobs, cluster, queue):
    Admin(cluster).configure(queue, doors=3)  # not even one that an operator has opened

    for door in ("http", "thrift", ""):
        with pytest.raises(AccessDenied):
            enqueue(jobs, queue, b"", door=door)
        with pytest.raises(AccessDenied):
            dequeue(jobs, queue, door)
    assert jobs.doors.open_queues("http") == ["mail"] * (queue == "jobs.mail")


def test_api_reserves_every_queue_of_the_crawler(redis_url):
    url = of_socket(redis_url.removeprefix("unix://").partition("?")[0])
    served = job_queues(Settings(broker=BrokerSettings(url=url)))
    try:
        for queue in (*Queue, "dead_letters", "celery"):
            with pytest.raises(AccessDenied, match="crawler"):
                enqueue(served, queue, b"")
        assert served.cluster.shards[0].queues() == set()
    finally:
        served.close()


def test_celery_queue_is_open_to_the_doors_of_its_section(jobs, cluster):
    cluster.enqueue("images", [NewJob(ENVELOPE, name="resize")])
    with pytest.raises(AccessDenied, match="belongs to a Celery app"):
        enqueue(jobs, "images", b"")
    assert jobs.doors.open_queues("") == []

    Admin(cluster).configure("images", doors=2)

    [claimed] = dequeue(jobs, "images", "thrift")
    assert (claimed.body, claimed.content_type) == (b'["a.png"]', "application/json")
    with pytest.raises(AccessDenied):
        dequeue(jobs, "images", "http")
    assert jobs.doors.open_queues("thrift") == ["images"]


def test_celery_only_message_is_failed_and_not_delivered(jobs, cluster):
    Admin(cluster).configure("images", doors=3)
    cluster.enqueue("images", [NewJob(BOTH, name="resize")])

    assert dequeue(jobs, "images") == []
    [job] = Admin(cluster).jobs("images", JobState.FAILED)
    assert "can be run only by Celery" in job.problem


def test_jobs_of_the_last_release_are_delivered_and_acknowledged(jobs, cluster):
    bodies = [b"{}", b"\x01text/plain\nx", b"\x00\xff"]
    [first, *_] = cluster.enqueue("jobs.mail", [NewJob(body) for body in bodies])
    [held] = cluster.shards[0].claim(
        "jobs.mail", ClaimRequest(limit=1, timeout_ms=60_000, worker="old")
    ).claims  # fmt: skip
    enqueue(jobs, "mail", b"new")

    claimed = dequeue(jobs, "mail")

    assert [job.body for job in claimed] == [*bodies[1:], b"new"]
    assert {job.content_type for job in claimed} == {"application/octet-stream"}
    of_old_server = JobClaim(f"{first.job_id}-mail", held.token)
    claims = [of_old_server, *(job.claim for job in claimed)]
    assert jobs.extend("mail", claims, 60_000, door="thrift") == [True] * 4
    assert jobs.ack("mail", claims, door="thrift") == [True] * 4


def test_old_queue_with_a_reserved_name_can_still_be_emptied(jobs, cluster):
    cluster.enqueue("jobs.fetch", [NewJob(b"old")])

    [job] = dequeue(jobs, "fetch")

    assert jobs.ack("fetch", [job.claim], door="thrift") == [True]
    with pytest.raises(AccessDenied):
        enqueue(jobs, "fetch", b"")


def test_claim_belongs_to_the_queue_in_its_id(jobs):
    enqueue(jobs, "a", b"")
    [job] = dequeue(jobs, "a")

    for queue, job_id in (("b", job.job_id), ("a", "0-1"), ("a", "0-zz:a")):
        with pytest.raises(BadInput, match="job_id"):
            jobs.ack(queue, [JobClaim(job_id, job.claim_token)], door="http")


def test_delay_after_a_nack_is_that_of_the_job_type(jobs, cluster):
    policy = {"retry_jitter": 0, "retry_step_ms": 1000, "retry_step_ms@slow": 3_600_000}
    enqueue(jobs, "mail", b"", name="slow")
    enqueue(jobs, "mail", b"", name="quick")
    Admin(cluster).configure("mail", **policy)
    claims = [job.claim for job in dequeue(jobs, "mail")]

    jobs.nack("mail", claims, door="http", reason="no", delay_ms=None, fail=False)

    waits = {job.name: job.at_ms for job in Admin(cluster).jobs("mail", JobState.PENDING)}
    assert 3_590_000 < waits["slow"] - waits["quick"] < 3_610_000


def test_operations_identify_their_door(jobs, cluster):
    Admin(cluster).configure("mail", doors=1)
    parts = Parts(store=store_harness(MemoryTables(ManualClock())).store, jobs=jobs)
    web, other = Caller(parts, door="http"), Caller(parts, door="thrift")

    added = enqueue_jobs.run(web, enqueue_jobs.request("mail", [QueueJob(b"1")]))

    assert added[0].job_id.endswith(":mail")
    with pytest.raises(AccessDenied):
        list(dequeue_jobs.run(other, dequeue_jobs.request("mail")))
    with pytest.raises(AccessDenied):
        nack_jobs.run(other, nack_jobs.request("mail", [JobClaim(added[0].job_id, 1)]))
