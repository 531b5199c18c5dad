"""What the tests of the transport share."""

import json
import tempfile
from pathlib import Path

import pytest
import redis

from aragog.pinlater.brokers import of_socket
from aragog.pinlater.redis_shard import RedisShard
from aragog.standalone.redis_server import RedisServer
from tests.support.celery_worker import Worker
from tests.support.pinlater_app import CLAIM_TIMEOUT_S, make


class Place:
    """A broker on a redis-server of this test's, and what ran there."""

    def __init__(self, server):
        self.server = server
        self.broker = of_socket(server.socket)
        self.client = redis.Redis.from_url(server.url)
        self.shard = RedisShard(self.client)
        self.env = {
            "ARAGOG_TEST_BROKER": self.broker,
            "ARAGOG_TEST_NOTES": server.url,
            "ARAGOG_TEST_RESULTS": f"redis+socket://{server.socket}",
        }
        self.app = make(self.broker, self.env["ARAGOG_TEST_RESULTS"])

    def notes(self):
        return [note.decode() for note in self.client.lrange("notes", 0, -1)]

    def running(self, queue="celery"):
        return self.shard.sizes(queue).running

    def expire_claims(self, *queues):
        """End the claims of a killed worker, which may be long so that no living one loses any."""
        for queue in queues or ("celery",):
            key = self.shard.keys(queue).running
            for job_id in self.client.zrange(key, 0, -1):
                self.client.zadd(key, {job_id: 0})

    def close(self):
        self.app.close()
        self.client.close()


@pytest.fixture
def place(redis_server, redis_url):
    a_place = Place(redis_server)
    yield a_place
    a_place.close()


@pytest.fixture(scope="module")
def _staffed():
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as server:
        a_place = Place(server)
        conf = {
            "broker_transport_options": {"claim_timeout_s": CLAIM_TIMEOUT_S},
            "worker_send_task_events": True,
        }
        env = a_place.env | {"ARAGOG_TEST_CONF": json.dumps(conf)}
        with Worker("tests.support.pinlater_app", Path(folder) / "log", env=env, args=["-c2"]):
            yield a_place
        a_place.close()


@pytest.fixture
def staffed(_staffed):
    """A place with a prefork worker whose claims are short; its queue is emptied before."""
    _staffed.shard.drop("celery")
    _staffed.client.delete("notes", "gate is open")
    return _staffed


@pytest.fixture
def own_place(own_redis):
    a_place = Place(own_redis)
    yield a_place
    a_place.close()
