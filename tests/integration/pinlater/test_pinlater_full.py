"""
A full Redis refuses new jobs and processes existing ones, and no worker ends.

"Unrecoverable error: OutOfMemoryError" used to end workers, and a task whose retry could not be
sent was FAILED at its first attempt.
"""

import json
import tempfile
from pathlib import Path

import kombu.exceptions
import pytest
import redis

from aragog.standalone.redis_server import RedisServer
from pinlater.errors import BrokerUnavailable
from pinlater.models import ClaimRequest, JobState, Nack, NewJob
from pinlater.redis_shard import RedisShard
from tests.support.celery_worker import Worker
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

APP = "tests.support.pinlater_app"


@pytest.fixture(params=["redis_client", "system_redis_client"])
def client(request):
    server = request.getfixturevalue(request.param)
    yield server
    server.config_set("maxmemory", 0)


def claimed(shard, limit=1):
    return shard.claim("q", ClaimRequest(limit=limit, timeout_ms=60_000, worker="w")).claims


def test_jobs_on_a_full_server_can_be_claimed_acknowledged_and_returned(client):
    shard = RedisShard(client)
    shard.enqueue("q", [NewJob(b"x") for _ in range(4)])
    shard.configure("q", {"rate": 1000.0})
    client.config_set("maxmemory", 1)

    done, again, bad = claimed(shard, 3)

    assert shard.ack("q", [(done.job_id, done.token)]) == [True]
    assert shard.nack(
        "q",
        [
            Nack(again.job_id, again.token, "again", 1000, "not yet"),
            Nack(bad.job_id, bad.token, "fail", 0, "bad"),
        ],
    ) == [JobState.PENDING, JobState.FAILED]
    (last,) = claimed(shard)
    assert shard.extend("q", [(last.job_id, last.token)], timeout_ms=1) == [True]
    assert shard.delete("q", JobState.FAILED, limit=10) == 1
    assert claimed(shard) == ()
    assert shard.sweep("q", reap_before_ms=1 << 60).failed == 0


def test_full_server_refuses_new_jobs_with_the_remedy(client):
    shard = RedisShard(client)
    shard.enqueue("q", [NewJob(b"x")])
    client.config_set("maxmemory", 1)

    with pytest.raises(BrokerUnavailable, match="memory is full: raise its maxmemory"):
        shard.enqueue("q", [NewJob(b"y")])

    assert shard.sizes("q").pending == 1


@pytest.mark.parametrize("pool", ["threads", "prefork"])
def test_full_server_stops_no_worker_and_loses_no_retries(own_place, tmp_path, pool):
    app, client = own_place.app, own_place.client
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as other:
        notes = redis.Redis.from_url(other.url)
        env = own_place.env | {
            "ARAGOG_TEST_NOTES": other.url,
            "ARAGOG_TEST_RESULTS": "",
            "ARAGOG_TEST_CONF": json.dumps({"task_publish_retry_policy": {"max_retries": 0}}),
        }
        with Worker(APP, tmp_path / "log", env=env, args=["-P", pool, "-c2"]) as worker:
            own_place.shard.configure("celery", {"retry_step_ms": 300, "max_attempts": 2})
            app.send_task("dogged", ("first",), countdown=1)
            app.send_task("say", ("second",), countdown=1)
            client.config_set("maxmemory", 1)

            with pytest.raises(kombu.exceptions.OperationalError, match="memory is full"):
                app.send_task("say", ("refused",))
            wait_until(lambda: notes.llen("notes") >= 4)
            assert own_place.shard.sizes("celery").failed == 0
            client.config_set("maxmemory", 0)
            notes.set("enough", 1)
            app.send_task("say", ("third",))

            # A job being returned is neither waiting nor running for a moment, so check its notes.
            expected = {b"second", b"third", b"first done"}
            wait_until(lambda: expected <= set(notes.lrange("notes", 0, -1)))
            assert worker.process.poll() is None
        text = [note.decode() for note in notes.lrange("notes", 0, -1)]
        notes.close()

    assert own_place.shard.sizes("celery").failed == 0
    assert {"second", "third", "first done"} <= set(text)
    log = (tmp_path / "log").read_text()
    assert (
        log.count("messages cannot be sent, jobs are returned to their queues") <= 2
    )  # one process each
    assert "its memory is full" in log
    assert "Traceback" not in log
    assert text.count("first") >= 3


def test_worker_started_on_a_full_server_works_once_space_is_free(own_place, tmp_path):
    own_place.app.send_task("say", ("at last",))
    env = own_place.env | {"ARAGOG_TEST_RESULTS": ""}
    worker = Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c1"])
    own_place.client.config_set("maxmemory", 1)
    worker.launch()
    wait_until(lambda: b"memory" in worker.log.read_bytes() or worker.process.poll() is not None)

    assert worker.process.poll() is None, worker.log.read_text()
    own_place.client.config_set("maxmemory", 0)
    wait_until(lambda: own_place.notes() == ["at last"])
    worker.stop()
