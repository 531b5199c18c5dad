"""The standalone system and an origin on loopback, for `bench.crawls` and `bench.shares`."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from aragog.bootstrap.crawls import crawl_control
from aragog.errors import BrokerUnavailable, ConfigError
from aragog.settings import load_settings
from aragog.settings.in_use import running_pid
from aragog.standalone.redis_server import RedisServer
from bench.crawl_shards import Shards, free_port

PAGE = b"<!doctype html><title>a page</title><p>some words of a page"


@dataclass
class Origin:
    """Counts requests by path. Every page has the same words."""

    seen: Counter[str] = field(default_factory=Counter)
    last_s: dict[str, float] = field(default_factory=dict)
    """When each path was last requested (monotonic)."""
    port: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer the requests of one connection."""
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                if path == "/robots.txt":
                    response = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
                else:
                    self.seen[path] += 1
                    self.last_s[path] = time.monotonic()
                    length = len(PAGE) + len(path)
                    response = (
                        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s%s"
                        % (length, PAGE, path.encode())
                    )
                writer.write(response)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


@contextmanager
def origin() -> Iterator[Origin]:
    """Run an origin in a thread."""
    started, loop = Origin(), asyncio.new_event_loop()
    server = loop.run_until_complete(asyncio.start_server(started.serve, "127.0.0.1", 0))
    started.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    yield started
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)


class System:
    """`aragog up` in its own folder, which can be killed with all its processes."""

    def __init__(
        self, folder: Path, port: int, broker: Shards, *, qps: float | None = None
    ) -> None:
        self.folder = folder
        self.broker = broker
        os.environ.update(broker.settings())
        os.environ.update({
            "ARAGOG_SETTINGS": "",
            "ARAGOG_DATA_DIR": str(folder),
            "ARAGOG_FETCH__HOST_MAP": f"*.test=127.0.0.1:{port}",
            "ARAGOG_FETCH__ALLOWED_NETWORKS": "127.0.0.0/8",
            "ARAGOG_FETCH__USER_AGENT": "aragog-bench/1.0 (+http://127.0.0.1/)",
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
            "ARAGOG_SERVING__THRIFT_PORT": "0",
            "ARAGOG_BROKER__CLAIM_TIMEOUT_S": "10",
        })  # fmt: skip
        if qps is not None:
            os.environ["ARAGOG_POLITENESS__QPS"] = str(qps)
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, *, without_last: bool = False) -> None:
        """
        Start it and wait until it runs, without the broker's last server if that must
        stay dead.
        """
        self.broker.start(without_last=without_last)
        with (self.folder / "up.log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "aragog.cli", "up"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        wait_for(self._is_ready, 60)

    def _is_ready(self) -> bool:
        if running_pid(self.folder / "run") is None:
            return False
        try:
            crawl_control(load_settings()).registry.read()
        except (ConfigError, BrokerUnavailable):
            return False
        return True

    def kill(self) -> None:
        """Kill every process with SIGKILL."""
        assert self._process is not None
        os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait(30)
        wait_for(lambda: running_pid(self.folder / "run") is None, 60)
        self.broker.kill()

    @contextmanager
    def servers_alone(self) -> Iterator[None]:
        """Run the servers without any other process. They are killed at the end."""
        self.broker.start()
        redis = RedisServer(self.folder / "redis", persistent=True)
        redis.start(timeout_s=300.0)
        try:
            yield
        finally:
            redis.kill()
            self.broker.kill()

    def stop(self) -> None:
        """Stop it like an operator."""
        assert self._process is not None
        self._process.terminate()
        self._process.wait(120)


def wait_for(condition: Callable[[], bool], within_s: float) -> None:
    """Wait until the condition is true. Raises `TimeoutError`."""
    deadline_s = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline_s:
            raise TimeoutError(condition)
        time.sleep(0.1)


class Clock:
    """Prints events with their time."""

    def __init__(self) -> None:
        self._started_s = time.monotonic()

    def __call__(self, text: str) -> None:
        print(f"{time.monotonic() - self._started_s:5.0f} s  {text}", flush=True)
