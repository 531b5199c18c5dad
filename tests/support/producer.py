"""A private redis-server for a producer, without workers, and access to its queue."""

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
    """A data folder with its server and waiting jobs."""

    folder: Path
    environ: dict[str, str]
    settings: Settings
    server: RedisServer
    redis: redis.Redis

    def jobs(self) -> list[Any]:
        """Return the waiting jobs of the fetch queue, due or not."""
        return _jobs(f"{self.server.url.partition('?')[0]}?db=1")

    def messages(self) -> list[dict[str, Any]]:
        """Return the jobs' messages, as read by tasks.fetch."""
        return _messages(self.jobs())

    def urls(self) -> list[str]:
        """Return the waiting URLs, each as often as it was sent."""
        return [job["url"] for message in self.messages() for job in message["urls"]]


def waiting_urls(redis_url: str) -> list[str]:
    """Return the URLs waiting in the fetch queue of a shard."""
    return [job["url"] for message in _messages(_jobs(redis_url)) for job in message["urls"]]


def _jobs(redis_url: str) -> list[Any]:
    with redis.Redis.from_url(redis_url) as client:
        return RedisShard(client).jobs("fetch", JobState.PENDING, limit=100_000)


def _messages(jobs: list[Any]) -> list[dict[str, Any]]:
    return [json.loads(b64decode(json.loads(job.body)["body"]))[0][0] for job in jobs]


@contextmanager
def producer_home() -> Iterator[Home]:
    """Run a redis-server in a new data folder."""
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
