"""
The broker servers for `bench.crawls`: Redis or PostgreSQL, one of which can stay dead
for a while.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aragog.standalone.postgres_server import PostgresServer
from aragog.standalone.redis_server import RedisServer

KINDS = ("standalone", "redis", "postgres")
"""With `standalone`, the private redis-server of `aragog up` also stores the jobs."""


class Shards:
    """
    The servers of one broker.

    Args:
        kind: one of `KINDS`.
        count: the number of servers.
        folder: the folder for their data.
    """

    def __init__(self, kind: str, count: int, folder: Path) -> None:
        self._servers: dict[str, RedisServer | PostgresServer] = {}
        for number in range(count if kind != "standalone" else 0):
            data_folder, port = folder / f"b{number}", free_port()
            if kind == "redis":
                redis = RedisServer(data_folder, port=port, persistent=True)
                self._servers[redis.url] = redis
            else:
                postgres = PostgresServer(data_folder, port=port)
                self._servers[postgres.tcp_dsn()] = postgres

    def settings(self) -> dict[str, str]:
        """Return the environment variables that name them."""
        if not self._servers:
            return {}
        first, *others = self._servers
        prefix = "pinlater+" if first.startswith("postgresql") else ""
        url = f"{prefix}{first}" if prefix else first.replace("redis://", "pinlater://", 1)
        return {"ARAGOG_BROKER__URL": url, "ARAGOG_BROKER__SHARDS": ",".join(others)}

    def start(self, *, without_last: bool = False) -> None:
        """Start servers that are not running, without the last one if it must stay dead."""
        servers = list(self._servers.values())
        for server in servers[: -1 if without_last else None]:
            if server.process is None:
                server.start(timeout_s=120.0)

    def kill(self) -> None:
        """Kill all servers with SIGKILL."""
        for server in self._servers.values():
            server.kill()

    def kill_last(self) -> bool:
        """Kill the last server with SIGKILL. Returns False if there is only one."""
        if len(self._servers) < 2:
            return False
        list(self._servers.values())[-1].kill()
        return True

    def stop(self) -> None:
        """Stop all servers."""
        for server in self._servers.values():
            server.stop()


@contextmanager
def shards(kind: str, count: int, folder: Path) -> Iterator[Shards]:
    """Run servers, and stop them at the end."""
    servers = Shards(kind, count, folder)
    try:
        servers.start()
        yield servers
    finally:
        servers.stop()


def free_port() -> int:
    """Return an unused port on loopback."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
