"""Broadcasts to workers that have just started, and callers whose connection was cut."""

from contextlib import suppress

import celery
import pytest
import redis
from kombu import Connection, Consumer, Exchange, Producer, Queue

pytestmark = pytest.mark.redis


@pytest.fixture
def broker(redis_server):
    return "pinlater+socket://" + str(redis_server.socket)


@pytest.fixture
def caller(broker):
    app = celery.Celery(broker=broker, set_as_current=False)
    yield app
    app.close()


def cut_all(server):
    """Cuts idle connections, as a proxy or the server's `timeout` does."""
    with redis.Redis.from_url(server.url) as client:
        for kind in ("normal", "pubsub"):
            client.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def test_broadcast_reaches_a_consumer_that_has_not_polled_yet(broker):
    """Celery reports that a worker is ready before the event loop polls for the first time."""
    exchange, received = Exchange("news", "fanout", durable=False), []
    with Connection(broker) as receiving, Connection(broker) as sending:
        channel = receiving.channel()
        queue = Queue("news.1", exchange, auto_delete=True)
        with Consumer(
            channel, [queue], callbacks=[lambda body, _: received.append(body)], no_ack=True
        ):
            Producer(sending.channel(), exchange).publish({"n": 1})
            Producer(sending.channel(), exchange).publish({"n": 2})
            with suppress(TimeoutError):
                while len(received) < 2:
                    receiving.drain_events(timeout=5)

    assert received == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("command", ["ping", "active", "registered"])
def test_broadcasting_works_after_the_connection_was_cut(redis_server, caller, command):
    def ask():
        return caller.control.broadcast(command, reply=True, timeout=0.2)

    assert ask() == []
    for _ in range(3):
        cut_all(redis_server)
        assert ask() == []


def test_broadcasting_without_a_server_raises_a_connection_error(redis_server, caller):
    assert caller.control.ping(timeout=0.2) == []
    redis_server.stop()
    try:
        with pytest.raises(caller.connection_for_write().connection_errors):
            caller.control.ping(timeout=0.2)
    finally:
        redis_server.start()
