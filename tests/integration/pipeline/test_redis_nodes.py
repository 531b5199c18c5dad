"""
The in-flight set and the spool on three Redis servers: distributed by key, one set for callers.
"""

import tempfile
from contextlib import ExitStack
from pathlib import Path

import pytest
import redis

from aragog.client import Aragog
from aragog.crawl.pipeline.in_flight import InFlightSet, done_channel
from aragog.crawl.pipeline.spool import OVERHEAD_BYTES, Spool
from aragog.crawl.shared_redis.nodes import RedisNodes
from aragog.settings import BrokerSettings, RedisSettings, Settings
from aragog.standalone.redis_server import RedisServer
from tests.support.waiting import wait_until
from urlspelling import url_key

pytestmark = pytest.mark.redis

URLS = [f"http://d{n}.example/{n}" for n in range(300)]
BODY = bytes(10_000 - OVERHEAD_BYTES)


@pytest.fixture(scope="module")
def three_urls():
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(prefix="ar")) for _ in range(3)]
        yield [stack.enter_context(RedisServer(Path(folder))).url for folder in folders]


@pytest.fixture
def nodes(three_urls):
    nodes = RedisNodes.connect(three_urls, redis.Redis.from_url)
    for client in nodes.clients:
        client.flushall()
    yield nodes
    nodes.close()


@pytest.fixture
def in_flight(nodes):
    return InFlightSet(nodes, prefix="t:")


def spool_of(nodes, max_bytes=1_000_000):
    return Spool(nodes, prefix="t:", max_bytes=max_bytes)


def sizes(nodes, key):
    return [client.hlen(key) for client in nodes.clients]


def test_urls_in_flight_are_distributed_over_the_servers(nodes, in_flight):
    assert in_flight.mark(URLS) == [True] * 300

    assert sum(sizes(nodes, "t:in_flight")) == in_flight.count() == 300
    assert min(sizes(nodes, "t:in_flight")) > 30


def test_url_is_in_flight_for_every_process_in_any_server_order(nodes, in_flight, three_urls):
    in_flight.mark(URLS)
    in_flight.confirm(URLS)
    others = RedisNodes.connect(three_urls[::-1], redis.Redis.from_url)
    other = InFlightSet(others, prefix="t:")

    assert other.mark([*URLS[::-1], "http://new.example/"]) == [*[False] * 300, True]
    assert all(other.contains(url) for url in URLS)
    others.close()


def test_cleared_urls_leave_all_servers_and_are_reported_on_the_first(nodes, in_flight):
    in_flight.mark(URLS)
    listener = nodes.first.pubsub(ignore_subscribe_messages=True)
    listener.subscribe(done_channel("t:"))
    wait_until(lambda: nodes.first.pubsub_numsub(done_channel("t:"))[0][1])

    in_flight.clear(URLS)

    assert in_flight.count() == 0
    message = wait_until(lambda: listener.get_message(timeout=0.1))
    assert message["data"] == b"".join(map(url_key, URLS))
    listener.close()


def test_sweep_removes_expired_entries_on_every_server(nodes, in_flight):
    in_flight.mark(URLS)
    for client in nodes.clients:
        for key in client.hkeys("t:in_flight"):
            client.hset("t:in_flight", key, 1)

    assert in_flight.sweep().expired == 300
    assert sizes(nodes, "t:in_flight") == [0, 0, 0]


def test_bodies_are_distributed_and_returned_in_order(nodes):
    spool = spool_of(nodes)
    bodies = [[b"%d-%d" % (put, n) for n in range(3)] for put in range(60)]
    tokens = [token for some in bodies for token in spool.put_many(some)]

    assert min(client.zcard("t:spool.index") for client in nodes.clients) > 15
    assert spool.get_many(tokens[::-1]) == [body for some in bodies for body in some][::-1]
    assert spool.state().used_bytes == sum(len(b) + OVERHEAD_BYTES for some in bodies for b in some)
    spool.free(tokens)
    assert spool.state().used_bytes == 0
    assert [client.keys("t:*") for client in nodes.clients] == [[], [], []]


def test_bodies_replace_their_reservation(nodes):
    spool = spool_of(nodes)
    for _ in range(20):
        reservation = spool.reserve(1, urgent=False)
        assert reservation
        spool.offer_many([BODY], reservation)

    assert spool.state().used_bytes == 20 * 10_000


def test_fetching_waits_when_one_server_is_full(nodes):
    spool = spool_of(nodes, max_bytes=100_000)
    assert not spool.state().closed
    while not any(state.used_bytes >= 50_000 for state in map(spool._read_state, nodes.clients)):
        spool.offer_many([BODY])

    assert spool.state().closed
    assert spool.bounds().max_bytes == 300_000


def test_idle_bodies_are_found_and_freed_on_every_server(nodes):
    spool = spool_of(nodes)
    tokens = [spool.put_many([BODY])[0] for _ in range(30)]
    spool.touch(tokens)

    assert sorted(spool.idle_tokens(0, 100)) == sorted(tokens)
    assert len(spool.idle_tokens(0, 7)) == 7
    assert spool.free_idle(tokens, 3600) == 0
    assert spool.free_idle(tokens, 0) == 30


def test_producer_distributes_its_urls_over_the_servers(nodes, three_urls, tmp_path):
    first, *others = three_urls
    settings = Settings(
        data_dir=tmp_path,
        broker=BrokerSettings(url=first.replace("unix://", "pinlater+socket://")),
        redis=RedisSettings(url=first, nodes=tuple(others), prefix="t:"),
    )
    with Aragog(settings) as client:
        client.enqueue(URLS)

        assert client.in_flight() == 300
    assert min(sizes(nodes, "t:in_flight")) > 30
