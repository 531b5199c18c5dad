"""Broadcasts to workers that have just begun, and callers whose connection was cut in the meantime."""

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
    """What a proxy or the server's `timeout` does to idle connections."""
    with redis.Redis.from_url(server.url) as client:
        for kind in ("normal", "pubsub"):
            client.execute_command("CLIENT", "KILL", "TYPE", kind, "SKIPME", "yes")


def test_a_broadcast_reaches_a_consumer_that_has_not_polled_yet(broker):
    """Celery reports that a worker is ready before the event loop polls for the first time."""
    exchange, heard = Exchange("news", "fanout", durable=False), []
    with Connection(broker) as reading, Connection(broker) as sending:
        channel = reading.channel()
        queue = Queue("news.1", exchange, auto_delete=True)
        with Consumer(
            channel, [queue], callbacks=[lambda body, _: heard.append(body)], no_ack=True
        ):
            Producer(sending.channel(), exchange).publish({"n": 1})
            Producer(sending.channel(), exchange).publish({"n": 2})
            with suppress(TimeoutError):
                while len(heard) < 2:
                    reading.drain_events(timeout=5)

    assert heard == [{"n": 1}, {"n": 2}]


@pytest.mark.parametrize("command", ["ping", "active", "registered"])
def test_a_caller_whose_connection_was_cut_asks_again(redis_server, caller, command):
    def ask():
        return caller.control.broadcast(command, reply=True, timeout=0.2)

    assert ask() == []
    for _ in range(3):
        cut_all(redis_server)
        assert ask() == []


def test_a_caller_whose_server_is_gone_gets_an_error(redis_server, caller):
    assert caller.control.ping(timeout=0.2) == []
    redis_server.stop()
    try:
        with pytest.raises(caller.connection_for_write().connection_errors):
            caller.control.ping(timeout=0.2)
    finally:
        redis_server.start()
