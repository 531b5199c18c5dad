"""A limiter server that lost a send: after a crash, or as a replica promoted to master."""

import shutil
import tempfile
from pathlib import Path

import pytest
import redis

from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.slots import SlotRequest
from aragog.settings import PolitenessSettings
from aragog.standalone.redis_server import RedisServer
from tests.support.redis_server import SystemServer
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

INTERVAL_MS = 10_000
SETTINGS = PolitenessSettings(qps=1000 / INTERVAL_MS)


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        yield Path(name)


def reserve(url, domain):
    limiter = Limiter([url], SETTINGS)
    try:
        return limiter.reserve([SlotRequest(domain)])[0].wait_ms
    finally:
        limiter.close()


def send(url, domain):
    limiter = Limiter([url], SETTINGS)
    (slot,) = limiter.reserve([SlotRequest(domain)])
    assert limiter.acquire_permit(slot)
    limiter.release_permit(slot)
    limiter.close()


@pytest.mark.parametrize("kind", [RedisServer, SystemServer])
def test_send_lost_in_a_crash_keeps_its_interval(folder, kind):
    data, earlier = folder / "data", folder / "earlier"
    server = kind(data, persistent=True).start()
    reserve(server.url, "other.example")
    shutil.copytree(data, earlier, ignore=shutil.ignore_patterns("*.sock"))
    send(server.url, "slow.example")
    server.kill()
    shutil.rmtree(data)
    shutil.copytree(earlier, data)

    with server:
        assert reserve(server.url, "slow.example") > INTERVAL_MS * 0.9


@pytest.mark.parametrize("kind", [RedisServer, SystemServer])
def test_send_lost_in_a_failover_keeps_its_interval(folder, kind):
    class Replica(kind):
        def command(self):
            return [*super().command(), "--replicaof", "127.0.0.1", str(master.port)]

    with kind(folder / "master", port=free_port()) as master:
        reserve(master.url, "other.example")
        with Replica(folder / "replica") as replica, redis.Redis.from_url(replica.url) as client:
            wait_until(lambda: client.info("replication")["master_link_status"] == "up")
            client.replicaof("NO", "ONE")
            send(master.url, "slow.example")

            assert reserve(replica.url, "slow.example") > INTERVAL_MS * 0.9
