"""Flower with aragog's pages on a private redis-server: the smallest system that has them."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from aragog.dashboard.buttons_key import create_key
from aragog.settings import Settings, load_settings
from aragog.standalone.redis_server import RedisServer
from deploy.processes import end
from pinlater.brokers import of_socket
from tests.support.standalone import free_port
from tests.support.waiting import wait_until

FLOWER = ("-m", "celery", "-A", "workers.app", "flower", "--address=127.0.0.1")


@dataclass
class FlowerSystem:
    """A running Flower, and the settings of its system."""

    folder: Path
    environ: dict[str, str]
    settings: Settings
    port: int

    @property
    def url(self) -> str:
        prefix = self.environ.get("FLOWER_URL_PREFIX", "").strip("/")
        return f"http://127.0.0.1:{self.port}{prefix and '/' + prefix}"

    def logs(self) -> str:
        return "\n".join(path.read_text(errors="replace") for path in self.folder.glob("*.log"))

    def answers(self) -> bool:
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            return opener.open(f"{self.url}/healthcheck", timeout=60).status == 200
        except urllib.error.URLError:
            return False


@contextmanager
def flower_system(
    roles: Sequence[str] = (), *, key: bool = False, **environ_of_flower: str
) -> Iterator[FlowerSystem]:
    """Run a redis-server, Flower, and a worker of each role. `key` is True to create a key for buttons."""
    with (
        tempfile.TemporaryDirectory(prefix="ar") as name,
        RedisServer(Path(name)) as server,
        ExitStack() as stack,
    ):
        port = free_port()
        environ = {
            **{k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")},
            "FLOWER_UNAUTHENTICATED_API": "true",
            **environ_of_flower,
            "ARAGOG_DATA_DIR": name,
            "ARAGOG_REDIS__URL": server.url,
            "ARAGOG_BROKER__URL": of_socket(server.socket, 1),
            "ARAGOG_FETCH__USER_AGENT": "aragog-test/1.0 (+http://127.0.0.1/)",
        }
        settings = load_settings(environ=environ).resolved()
        running = FlowerSystem(Path(name), environ, settings, port)
        if key:
            create_key(running.folder / "run", environ)
        for role in roles:
            stack.enter_context(_process(["-m", "workers", role], running, f"{role}.log"))
        flower = [*FLOWER, f"--port={port}", "--logging=warning"]
        stack.enter_context(_process(flower, running, "flower.log"))
        wait_until(running.answers, every_s=0.2, otherwise=running.logs)
        yield running


@contextmanager
def _process(argv: Sequence[str], system: FlowerSystem, log: str) -> Iterator[None]:
    with (system.folder / log).open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, *argv], env=system.environ, stdout=out, stderr=out
        )
        try:
            yield
        finally:
            end(process, within_s=120)
