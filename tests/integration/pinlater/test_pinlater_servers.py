"""`pinlater://` with Sentinel, and its warning about a server that evicts."""

import tempfile
from pathlib import Path

import kombu.exceptions
import pytest
import redis

from aragog.standalone.redis_server import RedisServer
from pinlater.cluster import connect_shards
from pinlater.errors import BrokerUnavailable
from pinlater.redis.connect import connect
from tests.support.celery_worker import Worker
from tests.support.pinlater_app import make
from tests.support.redis_variants import free_port, replicas, sentinel
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis

APP = "tests.support.pinlater_app"


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        yield Path(name)


def is_master(client):
    """
    Whether the server is a master; Sentinel closes its clients' connections when it becomes one.
    """
    try:
        return client.info("replication")["role"] == "master"
    except redis.exceptions.ConnectionError:
        return False


def sent(app, text):
    try:
        app.send_task("say", (text,), retry=False)
    except kombu.exceptions.OperationalError:
        return False
    return True


def test_tasks_run_on_the_master_named_by_sentinel_even_after_a_failover(place, folder, tmp_path):
    for name in "ab":
        (folder / name).mkdir()
    first, second = (RedisServer(folder / name, port=free_port()) for name in "ab")
    with first, second, connect(second.url) as replica, sentinel(folder, first.port) as port:
        replica.replicaof("127.0.0.1", first.port)
        wait_until(lambda: replicas(port) == 1)
        broker = f"pinlater+sentinel://127.0.0.1:{port}/main/0"
        app = make(broker)
        env = place.env | {"ARAGOG_TEST_BROKER": broker}
        with Worker(APP, tmp_path / "log", env=env, args=["-P", "threads", "-c2"]):
            assert sent(app, "before")
            wait_until(lambda: "before" in place.notes())
            first.kill()
            wait_until(lambda: is_master(replica))

            wait_until(lambda: sent(app, "after"))
            wait_until(lambda: "after" in place.notes())
        app.close()


def test_worker_waits_for_jobs_at_the_master_named_by_sentinel(folder):
    with RedisServer(folder, port=free_port()) as first, sentinel(folder, first.port) as port:
        (shard,) = connect_shards((f"sentinel://127.0.0.1:{port}/main/0",))
        shard.client.lpush(shard.wake_key("mail"), "1")
        poller = shard.poller()

        poller.send(["mail"], 0.0)

        assert poller.read() == ("mail",)
        poller.drop()


def test_sentinels_without_a_master_are_named_without_their_settings(folder):
    with RedisServer(folder, port=free_port()) as first, sentinel(folder, first.port) as port:
        (shard,) = connect_shards((f"sentinel://127.0.0.1:{port}/other/0",))

        with pytest.raises(BrokerUnavailable) as raised:
            shard.queues()

    assert str(raised.value).endswith(
        "No master found for 'other': no Sentinel answers, or none knows it"
    )


def test_worker_warns_about_a_server_that_evicts_jobs(place, tmp_path):
    place.client.config_set("maxmemory-policy", "allkeys-lru")
    place.client.config_set("maxmemory", 500_000_000)
    log = tmp_path / "log"
    try:
        with Worker(APP, log, env=place.env, args=["-P", "solo"]):
            wait_until(lambda: "evicts jobs" in log.read_text())
    finally:
        place.client.config_set("maxmemory-policy", "noeviction")
        place.client.config_set("maxmemory", 0)

    assert "maxmemory-policy allkeys-lru" in log.read_text()
