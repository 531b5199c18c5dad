"""Jobs over Thrift, tested with Apache Thrift's own Python client."""

import pytest

from pinlater.cluster import Cluster, connect_shards
from tests.support.stores import store_harness
from tests.support.tables import memory, sqlite
from tests.support.thrift_server import running


@pytest.fixture(params=[memory, sqlite])
def harness(request):
    another_harness = store_harness(request.param(request))
    another_harness.tables.create()
    yield another_harness
    another_harness.store.close()


@pytest.fixture
def jobs(harness, apache, redis_url):
    cluster = Cluster(connect_shards([redis_url, redis_url.replace("db=0", "db=1")]))
    with (
        running(harness.store, cluster=cluster) as server,
        apache.client(server.port, "PinLater") as client,
    ):
        yield client


@pytest.mark.redis
def test_jobs_are_delivered_once_with_their_bytes_and_acknowledged(jobs, apache):
    bodies = [bytes(range(256)), b"", b"1|2|3|"]
    enqueued = jobs.enqueue(
        "mine", [apache.types.NewJob(body) for body in bodies], apache.types.CallOptions()
    )

    taken = jobs.dequeue("mine", 10, apache.types.DequeueOptions(worker="w"))
    assert {job.job_id: job.body for job in taken} == {
        m.job_id: b for m, b in zip(enqueued, bodies, strict=True)
    }
    assert [job.attempt for job in taken] == [1, 1, 1]
    assert jobs.dequeue("mine", 10, apache.types.DequeueOptions()) == []

    claims = [apache.types.JobClaim(job.job_id, job.claim_token) for job in taken]
    assert jobs.extend("mine", claims, 5000, apache.types.CallOptions()) == [True] * 3
    assert jobs.ack("mine", claims, apache.types.CallOptions()) == [True] * 3
    assert jobs.ack("mine", claims, apache.types.CallOptions()) == [False] * 3
    assert jobs.extend("mine", claims, 5000, apache.types.CallOptions()) == [False] * 3


@pytest.mark.redis
def test_every_job_can_be_acknowledged(jobs, apache):
    # IDs are hexadecimal, and those with letters were refused as malformed.
    bodies = [b"%d" % number for number in range(60)]
    jobs.enqueue("mine", [apache.types.NewJob(body) for body in bodies], apache.types.CallOptions())
    taken = jobs.dequeue("mine", 60, apache.types.DequeueOptions())

    claims = [apache.types.JobClaim(job.job_id, job.claim_token) for job in taken]

    assert jobs.extend("mine", claims, 5000, apache.types.CallOptions()) == [True] * 60
    assert jobs.ack("mine", claims, apache.types.CallOptions()) == [True] * 60


@pytest.mark.redis
def test_claim_of_one_queue_does_not_affect_jobs_of_another(jobs, apache):
    # Both are the first job of their queue, so they have the same ID and claim token.
    taken = {}
    for queue in ("q1", "q2"):
        for body in (b"1", b"2", b"3"):
            jobs.enqueue(queue, [apache.types.NewJob(body)], apache.types.CallOptions())
        taken[queue] = jobs.dequeue(queue, 10, apache.types.DequeueOptions())
    claims = {q: [apache.types.JobClaim(j.job_id, j.claim_token) for j in taken[q]] for q in taken}

    calls = (
        lambda: jobs.ack("q2", claims["q1"], apache.types.CallOptions()),
        lambda: jobs.nack("q2", claims["q1"], apache.types.NackOptions(fail=True)),
        lambda: jobs.extend("q2", claims["q1"], 5000, apache.types.CallOptions()),
    )
    for call in calls:
        with pytest.raises(apache.types.BadInput, match="belongs to queue q1, not to q2"):
            call()

    assert jobs.ack("q2", claims["q2"], apache.types.CallOptions()) == [True] * 3


@pytest.mark.redis
def test_nacked_job_is_delivered_again_and_a_failed_one_is_not(jobs, apache):
    jobs.enqueue("mine", [apache.types.NewJob(b"job")], apache.types.CallOptions())
    for attempt in (1, 2):
        [job] = jobs.dequeue("mine", 10, apache.types.DequeueOptions())
        assert job.attempt == attempt
        claim = apache.types.JobClaim(job.job_id, job.claim_token, job.attempt)
        options = apache.types.NackOptions(reason="no", delay_ms=0, fail=attempt == 2)
        assert jobs.nack("mine", [claim], options) == [True]

    assert jobs.dequeue("mine", 10, apache.types.DequeueOptions()) == []


@pytest.mark.redis
def test_job_with_the_key_of_a_waiting_one_is_not_added(jobs, apache):
    job = apache.types.NewJob(b"job", unique_key="k")

    [first] = jobs.enqueue("mine", [job], apache.types.CallOptions())
    [second] = jobs.enqueue("mine", [job], apache.types.CallOptions())

    assert (first.already_there, second.already_there) == (False, True)
    assert second.job_id == first.job_id


@pytest.mark.redis
@pytest.mark.parametrize("queue", ["", "a b", "../x", "é", "x" * 101])
def test_invalid_queue_name_is_refused(jobs, apache, queue):
    with pytest.raises(apache.types.BadInput, match="queue"):
        jobs.dequeue(queue, 1, apache.types.DequeueOptions())


@pytest.mark.redis
def test_invalid_job_id_is_refused(jobs, apache):
    for job_id in ("", "7", "0-1", "9-1-mine", "0-x-mine", "0-", "0--mine", "0-1-"):
        with pytest.raises(apache.types.BadInput, match="job_id"):
            jobs.ack("mine", [apache.types.JobClaim(job_id, 1)], apache.types.CallOptions())


@pytest.mark.redis
def test_queues_of_the_crawler_cannot_be_used(jobs, apache, redis_url):
    from pinlater.models import NewJob

    Cluster(connect_shards([redis_url])).enqueue("fetch", [NewJob(b"celery")])

    with pytest.raises(apache.types.Unauthorized, match="belongs to a Celery app") as refused:
        jobs.dequeue("fetch", 10, apache.types.DequeueOptions())
    assert refused.value.code == "forbidden"
