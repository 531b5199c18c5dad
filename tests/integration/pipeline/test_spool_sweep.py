"""Bodies stay while a message names them, however long it waits; others are freed."""

import pytest
from celery import Celery

from aragog.crawl.pipeline.messages import PageBatch, ResultBatch, UrlJob
from aragog.crawl.pipeline.routing import CelerySender, Destination, OutgoingMessage
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.spool_reclaim import WaitingJobs, sweep
from aragog.fetch_record.outcome import OutcomeKind
from pinlater.admin import Admin
from pinlater.brokers import of_socket
from pinlater.models import ClaimRequest
from tests.support.fetch_results import fetch_result

pytestmark = pytest.mark.redis
JOB = UrlJob(url="http://site.example/")


@pytest.fixture
def broker(redis_server, redis_client):
    url = of_socket(redis_server.socket)
    app = Celery("t", broker=url, set_as_current=False)
    yield CelerySender(app), Admin.connect(url)
    app.close()


def aged(redis_client, spool, count):
    """Tokens of bodies that were not used for an hour."""
    tokens = spool.put_many([b"x"] * count)
    for token in tokens:
        redis_client.zincrby("t:spool.index", -3_600_000, token)
    return tokens


def test_body_of_a_waiting_or_running_batch_is_never_swept(redis_client, broker):
    sender, admin = broker
    spool = Spool(redis_client, prefix="t:")
    rendered, answered, running, page, body, orphan = aged(redis_client, spool, 6)
    for token in (running, answered, rendered):
        answer = fetch_result(job=JOB, outcome=OutcomeKind.FETCHED, final_url=JOB.url, token=token)
        stage = Destination.RENDER if token == rendered else Destination.CANONICALIZE
        sender.send(OutgoingMessage(stage, ResultBatch((answer,))))
    sender.send(OutgoingMessage(Destination.STORE, PageBatch(page, (JOB,), (body,))))
    (shard,) = admin.cluster.shards
    shard.claim("canonicalize", ClaimRequest(limit=1, timeout_ms=60_000, worker="w"))

    assert sweep(spool, WaitingJobs(admin), idle_s=60) == 1
    kept = [rendered, answered, running, page, body]
    assert spool.get_many([*kept, orphan]) == [b"x"] * 5 + [None]


def test_purged_queue_frees_its_space(redis_client, broker):
    sender, admin = broker
    spool = Spool(redis_client, prefix="t:", max_bytes=4000)
    (token,) = aged(redis_client, spool, 1)
    sender.send(OutgoingMessage(Destination.STORE, PageBatch(token, (JOB,))))
    assert spool.put_many([b"y" * 2000])
    assert spool.state().closed

    admin.purge("store")
    redis_client.zinterstore("t:spool.index", {"t:spool.index": 0.5})
    sweep(spool, WaitingJobs(admin), idle_s=60)

    assert not spool.state().closed


def test_new_body_whose_message_is_not_sent_yet_stays(redis_client, broker):
    _, admin = broker
    spool = Spool(redis_client, prefix="t:")
    tokens = spool.put_many([b"x"])

    assert sweep(spool, WaitingJobs(admin), idle_s=60) == 0
    assert spool.get_many(tokens) == [b"x"]


def test_age_decides_if_the_broker_cannot_be_queried(redis_client):
    spool = Spool(redis_client, prefix="t:")
    aged(redis_client, spool, 3)
    spool.put_many([b"young"])

    assert sweep(spool, None, idle_s=600) == 3
