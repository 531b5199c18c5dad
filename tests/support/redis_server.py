"""A private redis-server for tests, on a unix socket in a temporary folder."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from aragog.standalone.redis_server import RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One server for the whole run, without persistence."""
    # Not tmp_path: a socket's path must stay under 108 bytes.
    with tempfile.TemporaryDirectory(prefix="ar") as folder, RedisServer(Path(folder)) as server:
        yield server


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of the session's server, emptied: it is ours alone."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A client of the session's server, emptied; answers are bytes."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A persistent server of this test's own, to be stopped, killed and started at will."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        server = RedisServer(Path(folder), persistent=True)
        server.start()
        yield server
        server.stop()
