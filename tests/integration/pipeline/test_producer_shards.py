"""A producer continues while a shard of the broker is down, hangs or is full."""

import signal
from dataclasses import dataclass

import pytest
import redis

from aragog.client import Aragog
from aragog.crawl.pipeline.enqueue_results import EnqueueStatus
from aragog.crawl.pipeline.memory_limit import REFUSE_ABOVE_SHARE
from aragog.errors import BrokerFull, BrokerUnavailable, SlowDown
from aragog.settings import Settings, load_settings
from aragog.standalone.redis_server import RedisServer
from pinlater.brokers import of_socket
from tests.support.producer import waiting_urls

pytestmark = pytest.mark.redis


@dataclass
class Servers:
    """`redis.url` and the two broker servers."""

    shared: RedisServer
    first: RedisServer
    second: RedisServer
    settings: Settings

    def waiting(self, server):
        return waiting_urls(server.url)


@pytest.fixture
def servers(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ar")
    shared, first, second = (RedisServer(folder / name).start() for name in "abc")
    environ = {
        "ARAGOG_SETTINGS": "",
        "ARAGOG_DATA_DIR": str(folder),
        "ARAGOG_REDIS__URL": shared.url,
        "ARAGOG_BROKER__URL": of_socket(first.socket),
        "ARAGOG_BROKER__SHARDS": second.url,
        "ARAGOG_FETCH__USER_AGENT": "testbot/1.0 (+https://example.com/bot)",
    }
    yield Servers(shared, first, second, load_settings(environ=environ))
    for server in (shared, first, second):
        if server.process is not None:
            server.process.send_signal(signal.SIGCONT)
        server.stop()


def use(server, share):
    """Fill that share of the server's `maxmemory`."""
    with redis.Redis.from_url(server.url) as client:
        client.config_set("maxmemory", int(client.info("memory")["used_memory"] / share))


def urls(name, count=60):
    # A message has 25 URLs of many hosts, and each message goes to one of the shards.
    return [f"http://{name}{n}.test/" for n in range(count * 25)]


def assert_accepted(results):
    assert {result.status for result in results} == {EnqueueStatus.ACCEPTED}


@pytest.mark.parametrize("lost", ["first", "second"])
def test_lost_shard_stops_no_producer(servers, lost):
    one, other = getattr(servers, lost), servers.second if lost == "first" else servers.first
    with Aragog(servers.settings) as running:
        running.enqueue(["http://before.test/"])
        one.kill()

        assert_accepted(running.enqueue(urls("running")))
        with Aragog(servers.settings) as fresh:
            assert_accepted(fresh.enqueue(urls("fresh")))

        assert set(urls("running") + urls("fresh")) <= set(servers.waiting(other))


@pytest.mark.parametrize("frozen", ["first", "second"])
def test_hung_shard_stops_no_producer(servers, frozen):
    one, other = getattr(servers, frozen), servers.second if frozen == "first" else servers.first
    with Aragog(servers.settings) as running:
        running.enqueue(["http://before.test/"])
        one.process.send_signal(signal.SIGSTOP)

        assert_accepted(running.enqueue(urls("running")))
        with Aragog(servers.settings) as fresh:
            assert_accepted(fresh.enqueue(urls("fresh")))

        assert set(urls("running") + urls("fresh")) <= set(servers.waiting(other))


def test_jobs_of_a_full_shard_go_to_the_other(servers):
    use(servers.second, 1.5)
    with Aragog(servers.settings) as client:
        assert_accepted(client.enqueue(urls("a")))
        assert client.backlog().memory_share == 0.0

    assert set(servers.waiting(servers.first)) == set(urls("a"))
    assert servers.waiting(servers.second) == []


def test_producers_slow_down_when_all_shards_are_full(servers):
    use(servers.first, REFUSE_ABOVE_SHARE + 0.05)
    use(servers.second, REFUSE_ABOVE_SHARE + 0.1)
    with Aragog(servers.settings) as client, pytest.raises(SlowDown, match=r"broker 0.*maxmemory"):
        client.enqueue(urls("a"))
    servers.second.kill()
    with Aragog(servers.settings) as client, pytest.raises(SlowDown, match=r"broker 0.*maxmemory"):
        client.enqueue(urls("a"))
    use(servers.first, 1.5)
    with Aragog(servers.settings) as client, pytest.raises(BrokerFull):
        client.enqueue(urls("a"))


def test_producer_is_refused_without_the_shared_redis_or_any_shard(servers):
    servers.first.kill()
    servers.second.kill()
    with Aragog(servers.settings) as client, pytest.raises(BrokerUnavailable, match="no shard"):
        client.enqueue(urls("a"))
    servers.first.start()
    servers.shared.kill()
    with Aragog(servers.settings) as client, pytest.raises(BrokerUnavailable, match=r"redis\.url"):
        client.enqueue(urls("a"))

    assert servers.waiting(servers.first) == []
