"""A real Celery worker as a subprocess, for tests."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Self

from aragog.standalone.fork_server import ForkServer
from aragog.standalone.processes import Process
from tests.support.waiting import WITHIN_S, wait_until

ROOT = Path(__file__).parents[2]
OURS = {"PYTHONPATH": str(ROOT), "C_FORCE_ROOT": "1"}


IMPORTED = (
    "celery.__main__",
    "celery.apps.worker",
    "celery.bin.celery",
    "celery.bin.worker",
    "celery.concurrency.prefork",
    "celery.concurrency.solo",
    "celery.concurrency.thread",
    "celery.worker.consumer",
    "kombu.transport.redis",
)


def preload() -> None:
    """Import Celery and what its workers import at their start."""
    for name in IMPORTED:
        import_module(name)


@cache
def _forks() -> ForkServer:
    """Return the fork server of this test process, which ends with it."""
    return ForkServer(f"{__name__}:preload", os.environ | OURS, Path(os.devnull), 0o077)


class Worker:
    """
    `celery worker` on an app of a module below the project's root.

    Args:
        app: the module, such as `tests.support.pinlater_app`.
        log: the file for the worker's output.
        env: variables that the app's module reads.
    """

    def __init__(
        self, app: str, log: Path, *, env: Mapping[str, str], args: Sequence[str] = ()
    ) -> None:
        self.log = log
        environ = json.dumps(os.environ | OURS | dict(env))
        self._command = [
            sys.executable, "-P", "-m", "tests.support.celery_fork", environ,
            "-A", app, "worker", "-l", "INFO", *args,
        ]  # fmt: skip
        self.process: Process | None = None

    def launch(self) -> None:
        """Start it without waiting until it is ready."""
        self.process = _forks().fork(self._command, self.log)
        if self.process is not None:
            return
        with self.log.open("ab") as out:
            self.process = subprocess.Popen(
                self._command, env=os.environ | OURS, cwd=ROOT, stdout=out,
                stderr=subprocess.STDOUT, start_new_session=True,
            )  # fmt: skip

    def start(self, timeout_s: float = WITHIN_S) -> Self:
        before = self.log.stat().st_size if self.log.exists() else 0
        self.launch()
        wait_until(
            lambda: b" ready." in self.log.read_bytes()[before:] or self.process.poll() is not None,
            timeout_s,
        )
        assert self.process.poll() is None, self.log.read_text()
        return self

    def stop(self, timeout_s: float = WITHIN_S) -> None:
        """Shut down warmly."""
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                self.kill()
                raise
            self.process = None

    def kill(self) -> None:
        """Kill the worker and its pool with SIGKILL, as if the host were gone."""
        if self.process is not None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
            self.process = None

    __enter__ = start

    def __exit__(self, *exc: object) -> None:
        self.stop()
