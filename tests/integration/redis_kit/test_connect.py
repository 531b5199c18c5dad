"""A client for each kind of Redis URL, on real servers."""

import os
import select
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest
import redis

from aragog.standalone.redis_server import RedisServer
from pinlater.errors import BrokerFull, BrokerUnavailable, InvalidConfig
from pinlater.redis.connect import connect
from pinlater.redis.errors import redis_errors
from tests.support.redis_variants import free_port, replicas, sentinel, tls_redis
from tests.support.waiting import wait_until

pytestmark = pytest.mark.redis


@pytest.fixture
def folder():
    with tempfile.TemporaryDirectory(prefix="ar") as name:
        yield Path(name)


def test_unix_socket_and_tcp_port_work(redis_url, folder):
    with RedisServer(folder, port=free_port()) as tcp:
        for url in (redis_url, tcp.url, redis_url.replace("unix://", "redis+socket://")):
            with connect(url) as client:
                assert client.ping()


def test_socket_path_that_is_too_long_is_reported(tmp_path):
    path = f"{tmp_path}/{'x' * 108}/redis.sock"
    with pytest.raises(InvalidConfig, match=r"Redis URL: .* is too long for a unix socket"):
        connect(f"unix://{path}")


def test_tls_server_requires_a_client_that_trusts_its_ca(folder):
    with tls_redis(folder) as (url, ca):
        with connect(f"{url}?ssl_ca_certs={ca}") as trusting:
            assert trusting.ping()
        with connect(url, attempts=1) as other, pytest.raises(redis.ConnectionError):
            other.ping()


def test_client_follows_the_master_named_by_sentinel(folder):
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    first = RedisServer(folder / "a", port=free_port())
    second = RedisServer(folder / "b", port=free_port())
    with first, second, connect(second.url) as replica:
        replica.replicaof("127.0.0.1", first.port)
        with sentinel(folder, first.port) as port:
            wait_until(lambda: replicas(port) == 1)
            with connect(f"sentinel://127.0.0.1:{port}/main/1", attempts=2) as client:
                client.set("written", "before")
                wait_until(lambda: replica.dbsize() or replica.info("keyspace").get("db1"))
                first.kill()

                def writes():
                    try:
                        return client.set("written", "after")
                    except redis.RedisError:
                        return False

                wait_until(writes)
                assert client.get("written") == b"after"
        assert replica.info("replication")["role"] == "master"


@pytest.mark.parametrize("attempts", [1, 2])
def test_pooled_connection_survives_a_server_restart(own_redis, attempts):
    with connect(own_redis.url, attempts=attempts) as client:
        client.set("kept", 1)
        own_redis.stop()
        own_redis.start()

        assert client.get("kept") == b"1"


def test_pooled_connection_with_an_unread_response_is_replaced(redis_url):
    with connect(redis_url) as client:
        client.set("kept", 1)
        pool = client.connection_pool
        connection = pool.get_connection()
        connection.send_command("PING")
        select.select([connection._sock], [], [])  # the response has arrived, but nobody reads it
        pool.release(connection)

        assert client.get("kept") == b"1"
        assert client.get("kept") == b"1"


def test_child_process_opens_its_own_connections(redis_url):
    with connect(redis_url) as client:
        parent = client.client_id()
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            try:
                os.write(writing, str(client.client_id()).encode())
            finally:
                os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as numbers:
            assert int(numbers.read()) != parent
        os.waitpid(child, 0)
        assert client.client_id() == parent


def test_threads_share_ready_connections(redis_url):
    with connect(redis_url) as client, ThreadPoolExecutor(4) as threads:
        assert set(threads.map(client.echo, [b"x"] * 200)) == {b"x"}
        with client.pipeline() as pipe:
            assert pipe.get("none").execute() == [None]

        assert client.connection_pool._created_connections <= 5


@pytest.mark.parametrize("transaction", [False, True])
def test_pipeline_returns_each_result_and_raises_its_first_error(redis_url, transaction):
    with connect(redis_url) as client:
        connection = client.client_id()
        with client.pipeline(transaction) as pipe:
            pipe.set("a", b"x" * 100_000).get("a").hgetall("none")
            assert pipe.execute() == [True, b"x" * 100_000, {}]
            assert pipe.execute() == []
        with client.pipeline(transaction) as pipe:
            pipe.set("a", 1).lpush("a", 2).incr("a")
            with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
                pipe.execute()

        assert client.get("a") == b"2"
        assert client.client_id() == connection


def test_interrupted_pipeline_leaves_no_response_to_the_next_command(redis_url):
    class Stop(BaseException):
        pass

    def stop(_response):
        raise Stop

    with connect(redis_url) as client:
        client.set_response_callback("ECHO", stop)
        with client.pipeline(transaction=False) as pipe, pytest.raises(Stop):
            pipe.echo("first").get("none").execute()

        assert client.get("none") is None
        assert client.ping()


def test_pipeline_watches_keys(redis_url):
    with connect(redis_url) as client, client.pipeline() as pipe:
        pipe.watch("watched")
        client.set("watched", "by another")
        pipe.multi()
        pipe.set("watched", "here")
        with pytest.raises(redis.WatchError):
            pipe.execute()
        assert client.get("watched") == b"by another"


def test_pipeline_survives_a_restart_of_the_server(own_redis):
    with connect(own_redis.url) as client:
        client.set("kept", 1)
        own_redis.stop()
        own_redis.start()

        with client.pipeline() as pipe:
            assert pipe.get("kept").execute() == [b"1"]


def test_command_with_a_lost_response_is_repeated_only_with_more_attempts(redis_url):
    for attempts in (1, 2):
        with connect(redis_url, attempts=attempts) as client:
            client.set("count", 0)
            client.connection_pool.connection_class = cutting(client)
            client.connection_pool.disconnect()
            client.connection_pool.reset()
            with suppress(redis.ConnectionError):
                client.incr("count")
            assert int(client.get("count")) == attempts


def cutting(client):
    """A connection class whose first connection breaks after the server has responded."""

    class CutConnection(client.connection_pool.connection_class):  # type: ignore[name-defined]
        cut = True

        def read_response(self, *args, **kwargs):
            response = super().read_response(*args, **kwargs)
            if CutConnection.cut and response == 1:
                CutConnection.cut = False
                self.disconnect()
                raise redis.ConnectionError("the connection broke")
            return response

    return CutConnection


def test_invalid_url_is_reported_by_its_setting_without_its_password():
    with pytest.raises(InvalidConfig) as caught:
        connect("redis://:secret@host:port", setting="politeness.limiter_urls")

    assert "politeness.limiter_urls" in str(caught.value)
    assert "secret" not in str(caught.value)


class CacheUnavailable(BrokerUnavailable):
    """An error class of a caller of these helpers."""


def test_absent_server_raises_the_callers_error(folder):
    with connect(f"unix://{folder}/none", attempts=1) as client:
        for kind in (BrokerUnavailable, CacheUnavailable):
            with pytest.raises(kind, match="the server"), redis_errors("the server", kind):
                client.ping()


def test_full_server_raises_broker_full(folder):
    with RedisServer(folder, max_memory_bytes=1) as server, connect(server.url) as client:
        with pytest.raises(BrokerFull, match="raise its maxmemory"), redis_errors("it"):
            client.set("a", "b")
        with pytest.raises(BrokerFull), redis_errors("it"):
            client.eval("return redis.call('SET', 'a', 'b')", 0)
