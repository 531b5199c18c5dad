"""The sockets on which a worker's event loop waits for wake tokens."""

from contextlib import closing
from dataclasses import dataclass

import pytest
from kombu.asynchronous import Hub

from pinlater.claims import ClaimRegistry
from pinlater.cluster import Cluster
from pinlater.consumer import JobConsumer
from pinlater.postgres.shard import PostgresShard
from pinlater.redis_shard import RedisShard
from pinlater.shard import ShardPoller
from pinlater.transport.poller import Poller

pytestmark = pytest.mark.redis


@dataclass(eq=False)
class Channel:
    """The part of a channel that waits for tokens and has no room for jobs."""

    consumer: JobConsumer
    active_queues: tuple[str, ...] = ()
    next_work_s: float = float("inf")

    @property
    def pollers(self) -> list[ShardPoller]:
        return self.consumer.pollers

    def work(self, *, at_most: int) -> int:
        self.consumer.consume(self.active_queues)
        self.consumer.wait()
        return 0


@pytest.fixture(params=["redis", "postgres"])
def shard(request):
    if request.param == "redis":
        yield RedisShard(request.getfixturevalue("redis_client"))
        return
    a_shard = PostgresShard(request.getfixturevalue("postgres_dsn"), timeout_s=60)
    a_shard.configure("b", {})  # nobody waits for a queue that does not exist
    yield a_shard
    a_shard.links.close()


@pytest.fixture
def channel(shard):
    claims = ClaimRegistry(Cluster([shard]))
    with closing(JobConsumer(claims, claims.add)) as consumer:
        yield Channel(consumer)
    claims.stop()


def is_readable(poll, fd):
    return any(readable == fd for readable, _ in poll(10))


def test_worker_is_woken_for_jobs_of_an_added_queue(channel, shard):
    # After `add_consumer`, every job started a second late, and the log said every five seconds
    # that the server did not respond: the new connection had the old one's number.
    hub, poller = Hub(), Poller()
    poller.attach(hub)
    poller._channels.add(channel)
    channel.active_queues = ("a",)
    poller.run_iteration()
    channel.active_queues = ("a", "b")
    poller.run_iteration()

    poller._on_wake()  # the poller's own socket is not meant
    shard.wake("b")

    assert is_readable(hub.poller.poll, channel.pollers[0].fileno)
    poller.detach()
    hub.close()


def test_added_queue_is_heard_without_an_event_loop(channel, shard):
    poller = Poller()
    poller._channels.add(channel)
    channel.active_queues = ("a",)
    channel.work(at_most=1)
    poller._watch_sockets()
    channel.active_queues = ("a", "b")
    channel.work(at_most=1)
    poller._watch_sockets()

    shard.wake("b")

    assert is_readable(poller.poller.poll, channel.pollers[0].fileno)
