"""The servers of a broker for `bench.crawls`: Redis or PostgreSQL, of which one can stay dead for a while."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aragog.standalone.postgres_server import PostgresServer
from aragog.standalone.processes import PrivateServer
from aragog.standalone.redis_server import RedisServer

KINDS = ("standalone", "redis", "postgres")
"""`standalone`: the private redis-server of `aragog up` has the jobs too."""


class Shards:
    """
    The servers of one broker.

    Args:
        kind: one of `KINDS`.
        count: how many.
        folder: their data.
    """

    def __init__(self, kind: str, count: int, folder: Path) -> None:
        self._servers: dict[str, PrivateServer] = {}
        for number in range(count if kind != "standalone" else 0):
            home, port = folder / f"b{number}", free_port()
            if kind == "redis":
                redis = RedisServer(home, port=port, persistent=True)
                self._servers[redis.url] = redis
            else:
                postgres = PostgresServer(home, port=port)
                self._servers[postgres.tcp_dsn()] = postgres

    def settings(self) -> dict[str, str]:
        """The variables of the environment that name them."""
        if not self._servers:
            return {}
        first, *others = self._servers
        prefix = "pinlater+" if first.startswith("postgresql") else ""
        url = f"{prefix}{first}" if prefix else first.replace("redis://", "pinlater://", 1)
        return {"ARAGOG_BROKER__URL": url, "ARAGOG_BROKER__SHARDS": ",".join(others)}

    def start(self, *, but_last: bool = False) -> None:
        """Start those that do not run; without the last one, if it is to stay dead."""
        servers = list(self._servers.values())
        for server in servers[: -1 if but_last else None]:
            if server.process is None:
                server.start(timeout_s=120.0)

    def kill(self) -> None:
        """Kill all with SIGKILL."""
        for server in self._servers.values():
            server.kill()

    def kill_last(self) -> bool:
        """Kill the last one with SIGKILL; False: there are not several."""
        if len(self._servers) < 2:
            return False
        list(self._servers.values())[-1].kill()
        return True

    def stop(self) -> None:
        """Stop all."""
        for server in self._servers.values():
            server.stop()


@contextmanager
def shards(kind: str, count: int, folder: Path) -> Iterator[Shards]:
    """Servers that run, and are stopped at the end."""
    found = Shards(kind, count, folder)
    try:
        found.start()
        yield found
    finally:
        found.stop()


def free_port() -> int:
    """A port of loopback that nobody uses now."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
