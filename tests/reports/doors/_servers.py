"""Private servers shared by the doors of a test process; they end with that process."""

from __future__ import annotations

import atexit
import tempfile
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import redis

from aragog.standalone.postgres_server import PostgresServer
from aragog.standalone.redis_server import RedisServer
from deploy.hbase.server import HBaseServer
from pinlater.postgres.shard import PostgresShard
from pinlater.redis_shard import RedisShard
from tests.support.flower_server import FlowerSystem, flower_system
from tests.support.hbase_server import running_hbase
from tests.support.postgres_server import start_postgres

_stack = ExitStack()
atexit.register(_stack.close)


def folder() -> Path:
    """A new folder with a short path, for sockets."""
    return Path(_stack.enter_context(tempfile.TemporaryDirectory(prefix="ar")))


@cache
def redis_server() -> RedisServer:
    """One for the process, without persistence."""
    return _stack.enter_context(RedisServer(folder()))


@cache
def postgres_server() -> PostgresServer:
    """One for the process."""
    server = start_postgres(folder())
    _stack.callback(server.stop)
    return server


@cache
def redis_shard() -> RedisShard:
    """The queues of that Redis."""
    client = redis.Redis.from_url(redis_server().url)
    _stack.callback(client.close)
    return RedisShard(client)


@cache
def postgres_shard() -> PostgresShard:
    """The queues of a database on that PostgreSQL."""
    return PostgresShard(postgres_server().create_database("reports"), timeout_s=60)


def hbase_server() -> HBaseServer:
    """One for the process, with two gateways, also used by other tests."""
    return running_hbase()


@cache
def flower(environ: tuple[tuple[str, str], ...]) -> FlowerSystem:
    """A Flower with these variables, and an upkeep worker."""
    return _stack.enter_context(flower_system(["upkeep"], **dict(environ)))
