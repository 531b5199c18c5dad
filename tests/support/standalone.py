"""The standalone system in a temporary folder, with the demo sites."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from aragog.client import Aragog
from aragog.dashboard.buttons_key import create_key
from aragog.settings import Settings, load_settings
from aragog.standalone import system
from aragog.standalone.demo import web
from aragog.standalone.supervisor import Supervisor
from tests.support.ports import free_port
from tests.support.waiting import wait_until


@dataclass
class Standalone:
    """A running system, and its environment."""

    folder: Path
    environ: dict[str, str]
    settings: Settings
    supervisor: Supervisor

    def child(self, name: str):
        """Return the child with that name."""
        return next(c for c in self.supervisor.children if c.name == name)

    def aragog(self, *arguments: str, **options) -> subprocess.CompletedProcess[str]:
        """Run `aragog …` like a user."""
        argv = [sys.executable, "-m", "aragog.cli", *arguments]
        return subprocess.run(
            argv,
            env=self.environ,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **options,
        )

    def finish(self, client: Aragog, *, within_s: float = 300) -> None:
        """Wait until nothing is in flight. Restarts children that died in the meantime."""
        wait_until(
            lambda: not client.in_flight(),
            within_s,
            every_s=0.1,
            meanwhile=self.supervisor.check,
            otherwise=lambda: f"{client.in_flight()} wait; {client.counters()}\n{self.logs()}",
        )

    def logs(self) -> str:
        """Return the end of every child's log."""
        logs = sorted((self.folder / "logs").glob("*.log"))
        return "\n".join(f"== {p.name}\n{p.read_text(errors='replace')[-2000:]}" for p in logs)


@contextmanager
def standalone(
    environ: dict[str, str], *, frontends: tuple[str, ...] = ("beat",), folder: Path | None = None
) -> Iterator[Standalone]:
    """Run the system with these ARAGOG_ variables, by default in a temporary folder."""
    with tempfile.TemporaryDirectory(prefix="ar") as directory:
        data_dir = folder or Path(directory)
        ours = {k: v for k, v in os.environ.items() if not k.startswith("ARAGOG_")}
        full = {
            **ours,
            "ARAGOG_SETTINGS": "",
            **environ,
            "ARAGOG_DATA_DIR": str(data_dir),
            "ARAGOG_SERVING__HTTP_PORT": str(free_port()),
            "ARAGOG_SERVING__THRIFT_PORT": "0",
            "ARAGOG_SERVING__FLOWER_PORT": str(free_port()),
        }
        settings = load_settings(environ=full)
        supervisor = Supervisor(data_dir, {**full, "PYTHONUNBUFFERED": "1"}, system.PRELOAD)
        supervisor.acquire()
        create_key(data_dir / "run", full)  # as `aragog up` does
        try:
            system.start(supervisor, settings, frontends=frontends)
            yield Standalone(data_dir, full, settings, supervisor)
        finally:
            supervisor.stop()


@pytest.fixture(scope="session")
def demo_web() -> Iterator[dict[str, str]]:
    """Run the demo sites. Yields the variables with which they are crawled."""
    with web() as environ:
        yield environ


def open_to_others(folder: Path) -> list[str]:
    """Return the files in `folder` that the file modes let another user read."""
    paths = []
    for path in (folder, *folder.rglob("*")):
        above = [p for p in path.parents if p == folder or folder in p.parents]
        reachable = all(p.lstat().st_mode & 0o005 for p in above)
        if reachable and path.lstat().st_mode & 0o077 and path.is_file():
            paths.append(str(path.relative_to(folder)))
    return paths
