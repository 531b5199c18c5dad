"""
The processes of the standalone system: started in order, restarted when they die, stopped in order.

One supervisor a data folder, held by a lock on `run/lock`. Children end with the supervisor even
when it is killed -9 (Linux: the kernel's parent-death signal), and what they were doing comes back:
the redis-server keeps an append-only file, jobs return to the queue when their claims run out.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from aragog.errors import ConfigError

PR_SET_PDEATHSIG = 1  # prctl(2)
# A child that lived this long had started well; its next restart is immediate again.
HEALTHY_AFTER_S = 20.0
LONGEST_BACKOFF_S = 30.0


@dataclass
class Child:
    """One process and how it is doing."""

    name: str
    argv: Sequence[str]
    group: int = 0
    """Higher groups are stopped earlier: 0 servers, 1 workers, 2 what feeds and shows."""
    stop_within_s: float = 10.0
    """After SIGTERM; then it is killed."""
    process: subprocess.Popen[bytes] | None = None
    started_s: float = 0.0
    restarts: int = 0
    restart_at_s: float = 0.0
    log: Path = field(default_factory=Path)


class Supervisor:
    """
    Runs children until told to stop. Single-threaded: call `check` every second or so.

    Args:
        data_dir: holds run/ (lock) and logs/.
        environ: of the children.
    """

    def __init__(self, data_dir: Path, environ: Mapping[str, str]) -> None:
        self._run_dir = data_dir / "run"
        self._log_dir = data_dir / "logs"
        self._environ = dict(environ)
        self._lock: IO[str] | None = None
        self.children: list[Child] = []

    def acquire(self) -> None:
        """
        Become the supervisor of the data folder.

        Raises:
            ConfigError: another one runs, or the folder cannot be written.
        """
        try:
            self._run_dir.mkdir(parents=True, exist_ok=True)
            self._log_dir.mkdir(parents=True, exist_ok=True)
            lock = (self._run_dir / "lock").open("a+")
        except OSError as error:
            raise ConfigError(f"data_dir: cannot be written: {error}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            lock.close()
            raise ConfigError(
                f"data_dir: aragog runs there already (process {running_pid(self._run_dir)}); "
                "`aragog down` stops it"
            ) from error
        lock.truncate(0)
        lock.write(str(os.getpid()))
        lock.flush()
        self._lock = lock

    def start(self, child: Child) -> Child:
        """Start a child; it is watched from now on."""
        child.log = self._log_dir / f"{child.name}.log"
        self.children.append(child)
        self._spawn(child)
        return child

    def _spawn(self, child: Child) -> None:
        with child.log.open("ab") as log:
            child.process = subprocess.Popen(
                child.argv,
                env=self._environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # ctrl-C is the supervisor's to handle, in order
                preexec_fn=_die_with_parent,  # noqa: PLW1509 - no threads run here
            )
        child.started_s = time.monotonic()

    def check(self) -> list[Child]:
        """Restart what has died, with growing pauses; the children that were found dead now."""
        now_s = time.monotonic()
        died = []
        for child in self.children:
            if child.process is not None and child.process.poll() is not None:
                died.append(child)
                child.process = None
                lived = now_s - child.started_s
                child.restarts = 1 if lived > HEALTHY_AFTER_S else child.restarts + 1
                pause_s = min(LONGEST_BACKOFF_S, 0.5 * 2 ** (child.restarts - 1))
                child.restart_at_s = now_s + pause_s
            elif child.process is None and now_s >= child.restart_at_s:
                self._spawn(child)
        return died

    def stop(self) -> None:
        """
        Stop the children group by group, the highest first, then let go of the data folder.

        What feeds stops before what works, and that before the redis-server. A group is asked
        together and waited for together.
        """
        for group in sorted({child.group for child in self.children}, reverse=True):
            members = [child for child in self.children if child.group == group]
            for child in members:
                if child.process is not None:
                    child.process.terminate()
            for child in members:
                _wait(child)
        self.children = []
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _wait(child: Child) -> None:
    if child.process is None:
        return
    try:
        child.process.wait(child.stop_within_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            # The whole session: a prefork worker has children of its own.
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
    child.process = None


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def running_pid(run_dir: Path) -> int | None:
    """The process id of the supervisor that holds the lock of `run_dir`; None when none does."""
    try:
        with (run_dir / "lock").open("r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                return int(lock.read() or 0) or None
    except (OSError, ValueError):
        pass
    return None


def stop_running(run_dir: Path, *, timeout_s: float = 60.0) -> bool:
    """End the supervisor that holds the lock, and wait until it is gone. False: none runs."""
    pid = running_pid(run_dir)
    if pid is None:
        return False
    os.kill(pid, signal.SIGTERM)
    until_s = time.monotonic() + timeout_s
    while running_pid(run_dir) is not None and time.monotonic() < until_s:
        time.sleep(0.1)
    return running_pid(run_dir) is None
