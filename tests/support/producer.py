"""A private redis-server as a producer meets it, without any worker, and a look into its queue."""

from __future__ import annotations

import json
import os
import tempfile
from base64 import b64decode
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import redis

from aragog.settings import Settings, load_settings
from aragog.standalone.redis_server import RedisServer
from pinlater.models import JobState
from pinlater.redis_shard import RedisShard


@dataclass
class Home:
    """The data folder's server and what waits on it."""

    folder: Path
    environ: dict[str, str]
    settings: Settings
    server: RedisServer
    redis: redis.Redis

    def jobs(self) -> list[Any]:
        """The jobs that wait in the fetch queue, whatever their time."""
        return _jobs(f"{self.server.url.partition('?')[0]}?db=1")

    def messages(self) -> list[dict[str, Any]]:
        """What the jobs say, as tasks.fetch reads it."""
        return _messages(self.jobs())

    def urls(self) -> list[str]:
        """The URLs that wait, each as often as it was sent."""
        return [job["url"] for message in self.messages() for job in message["urls"]]


def waiting_urls(redis_url: str) -> list[str]:
    """The URLs that wait in the fetch queue of a shard."""
    return [job["url"] for message in _messages(_jobs(redis_url)) for job in message["urls"]]


def _jobs(redis_url: str) -> list[Any]:
    with redis.Redis.from_url(redis_url) as client:
        return RedisShard(client).jobs("fetch", JobState.PENDING, limit=100_000)


def _messages(jobs: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(b64decode(json.loads(job.body)["body"]))[0][0] for job in jobs]


@contextmanager
def producer_home() -> Iterator[Home]:
    """A data folder with a redis-server of its own."""
    with tempfile.TemporaryDirectory(prefix="ar") as directory:
        folder = Path(directory)
        server = RedisServer(folder / "redis", persistent=True)
        environ = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")}
        environ |= {
            "ARAGOG_DATA_DIR": directory,
            "ARAGOG_SETTINGS": "",
            "ARAGOG_FETCH__USER_AGENT": "testbot/1.0 (+https://example.com/bot)",
        }
        with server, redis.Redis.from_url(server.url) as client:
            yield Home(folder, environ, load_settings(environ=environ), server, client)
