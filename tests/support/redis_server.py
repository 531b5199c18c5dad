"""A private redis-server for tests, on a unix socket in a temporary folder."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from aragog.standalone.redis_server import RedisServer, system_servers
from tests.support.missing_parts import SYSTEM_REDIS, skip_without
from tests.support.standalone import free_port


class SystemServer(RedisServer):
    """The server of the system's packages, usually older than that of the wheel."""

    def command(self) -> list[str]:
        programs = system_servers()
        if not programs:
            skip_without(SYSTEM_REDIS)
        return [str(programs[0].path), *super().command()[1:]]


def _kind() -> type[RedisServer]:
    return SystemServer if os.environ.get("ARAGOG_TEST_REDIS") == "system" else RedisServer


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """
    One server for the whole run, without persistence.

    The newest on this machine, or with ARAGOG_TEST_REDIS=system that of the system's packages.
    """
    # Not tmp_path: a socket's path must stay under 108 bytes.
    with tempfile.TemporaryDirectory(prefix="ar") as folder, _kind()(Path(folder)) as server:
        yield server


@pytest.fixture(scope="session")
def system_redis_server() -> Iterator[RedisServer]:
    """The same for the system's server."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        SystemServer(Path(folder)) as server,
    ):
        yield server


@pytest.fixture
def system_redis_client(system_redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client of that server, which is emptied. Replies are bytes."""
    with redis.Redis.from_url(system_redis_server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def redis_url(redis_server: RedisServer) -> str:
    """The URL of the session's server, which is emptied first."""
    with redis.Redis.from_url(redis_server.url) as client:
        client.flushall()
    return redis_server.url


@pytest.fixture
def redis_client(redis_url: str) -> Iterator[redis.Redis]:
    """A client of the session's server, which is emptied. Replies are bytes."""
    with redis.Redis.from_url(redis_url) as client:
        yield client


@pytest.fixture
def tcp_redis() -> Iterator[RedisServer]:
    """This test's own server, on a free port, without persistence."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as folder,
        _kind()(Path(folder), port=free_port()) as server,
    ):
        yield server


@pytest.fixture
def own_redis() -> Iterator[RedisServer]:
    """This test's own persistent server, which it may stop, kill and start."""
    with tempfile.TemporaryDirectory(prefix="ar") as folder:
        server = _kind()(Path(folder), persistent=True)
        server.start()
        yield server
        server.stop()
