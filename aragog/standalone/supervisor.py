"""
Supervise the processes of the standalone aragog: start them in order, restart them after failures,
and stop them.

Each data folder has one supervisor, which holds a lock on `run/lock`. Its children die with it,
even after kill -9 (on Linux, through the parent-death signal). No work is lost: the redis-server
keeps append-only files, and jobs return to the queue when their claims expire. The signal is
SIGKILL, because a redis-server that shuts down slowly would remove the socket of its successor.
Processes that outlive a supervisor, such as grandchildren, are listed in `run/children`, and the
next supervisor kills them.

If possible, Python processes are forked from one that has imported their modules (`fork_server`).
Once the supervisor runs, errors from the disk or the kernel do not stop it: each `check` retries
restarts and writes that failed.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from aragog.errors import ConfigError
from aragog.settings import LogSettings
from aragog.settings.in_use import running_pid
from aragog.standalone import leftovers
from aragog.standalone.cleanup import Cleanup
from aragog.standalone.fork_server import ForkServer
from aragog.standalone.log_rotation import rotate_all
from aragog.standalone.processes import (
    POLL_INTERVAL_S,
    Process,
    create_private,
    die_with_parent,
    reap_group,
    spawn,
)
from aragog.standalone.running_system import READY

# After a child has run this long, its next restart is immediate.
HEALTHY_LIFETIME_S = 20.0
MAX_BACKOFF_S = 30.0
CHILDREN_FILE = "children"
# A process that checks if aragog runs holds the lock for microseconds.
LOCK_ATTEMPTS = 5
# All states have the same length, so a new one can be written even on a full disk.
STATE_BYTES = 64
# No other user may read the files of the children.
PRIVATE_UMASK = 0o077


@dataclass
class Child:
    """One process and its state."""

    name: str
    argv: Sequence[str]
    group: int = 0
    """
    Higher groups stop earlier. 0 is for servers, 1 for workers, 2 for processes that enqueue or
    serve.
    """
    stop_within_s: float = 10.0
    """Time between SIGTERM and SIGKILL."""
    process: Process | None = None
    started_s: float = 0.0
    restarts: int = 0
    restart_at_s: float = 0.0
    log: Path = field(default_factory=Path)
    stop_signal: signal.Signals = signal.SIGTERM
    after_kill: Callable[[int], Sequence[str]] | None = None
    """Returns the command to run after a signal has killed the process with this id."""


class Supervisor:
    """
    Runs children until it is stopped. Single-threaded: call `check` about once a second.

    Args:
        data_dir: the folder with run/ (lock) and logs/.
        environ: the environment of the children.
        preload: `module:function` that imports what Python children need. If empty, nothing is
            forked.
        logs: when the logs of the children are rotated.
    """

    def __init__(
        self,
        data_dir: Path,
        environ: Mapping[str, str],
        preload: str = "",
        logs: LogSettings = LogSettings(),  # noqa: B008 - frozen
    ) -> None:
        self._logs = logs
        self._run_dir = data_dir / "run"
        self._log_dir = data_dir / "logs"
        self._environ = dict(environ)
        self._cleanup = Cleanup(environ)
        self._preload = preload
        self._fork_server: ForkServer | None = None
        self._lock: IO[bytes] | None = None
        self._recorded_pids: list[int] = []
        self._dead_groups: set[int] = set()
        """Process groups of dead children. Their remaining processes were adopted."""
        self.children: list[Child] = []

    def acquire(self) -> None:
        """
        Become the supervisor of the data folder.

        Raises:
            ConfigError: another supervisor is running, or the folder is not writable.
        """
        with _convert_os_errors(self._run_dir.parent):
            for folder in (self._run_dir, self._log_dir):
                folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                folder.mkdir(mode=0o700, exist_ok=True)
            lock = open(  # noqa: SIM115 - held for as long as the supervisor lives
                self._run_dir / "lock", "r+b", buffering=0, opener=create_private
            )
        if not _try_lock(lock):
            lock.close()
            raise ConfigError(
                f"data_dir: aragog is already running in {self._run_dir.parent} (process "
                f"{running_pid(self._run_dir)}); `aragog down` stops it"
            )
        self._lock = lock
        self._record_state("starting")
        leftovers.end(self._run_dir / CHILDREN_FILE)
        with _convert_os_errors(self._run_dir.parent):
            self._start_fork_server()

    def _start_fork_server(self) -> None:
        """Start the fork server, or restart a killed one. Raises OSError if that fails."""
        previous = self._fork_server
        if self._preload and (
            previous is None or (previous.process is None and previous.has_forked)
        ):
            log = self._log_dir / "fork_server.log"
            self._fork_server = ForkServer(self._preload, self._environ, log, PRIVATE_UMASK)

    def ready(self) -> None:
        """Record that everything has started, for other processes."""
        self._record_state(READY)

    def _record_state(self, state: str) -> None:
        if self._lock is None:
            return
        text = f"{os.getpid()} {state}".encode().ljust(STATE_BYTES)
        with _convert_os_errors(self._run_dir.parent):
            os.pwrite(self._lock.fileno(), text, 0)

    def start(self, child: Child) -> Child:
        """
        Start a child and supervise it from now on.

        Raises:
            ConfigError: the program, its log or the list of children cannot be opened.
        """
        child.log = self._log_dir / f"{child.name}.log"
        self.children.append(child)
        with _convert_os_errors(self._run_dir.parent):
            self._spawn(child)
            self._write_children()
        return child

    def _spawn(self, child: Child) -> None:
        """Run the child. Raises OSError if that fails or its log is not writable."""
        self._start_fork_server()
        forked_process = (
            self._fork_server.fork(child.argv, child.log) if self._fork_server else None
        )
        child.process = forked_process or spawn(
            child.argv,
            self._environ,
            child.log,
            umask=PRIVATE_UMASK,
            start_new_session=True,  # only the supervisor gets Ctrl-C, and stops all in order
            preexec_fn=die_with_parent,  # no threads run here
        )
        child.started_s = time.monotonic()

    def _write_children(self) -> None:
        """Write the list of children if it changed. Raises OSError on a full disk."""
        pids = [c.process.pid for c in (*self.children, self._fork_server) if c and c.process]
        if pids != self._recorded_pids:
            leftovers.write_list(self._run_dir / CHILDREN_FILE, pids)
            self._recorded_pids = pids

    def check(self) -> list[Child]:
        """
        Restart dead children, with growing delays. Returns the children that this call found dead.

        Never raises OSError, because the next call retries a failed start or write.
        """
        now_s = time.monotonic()
        dead_children = []
        for child in self.children:
            if child.process is not None and child.process.poll() is not None:
                dead_children.append(child)
                self._dead_groups.add(child.process.pid)
                self._clean_up(child, child.process)
                child.process = None
                lifetime_s = now_s - child.started_s
                child.restarts = 1 if lifetime_s > HEALTHY_LIFETIME_S else child.restarts + 1
                child.restart_at_s = now_s + _restart_delay_s(child)
            elif child.process is None and now_s >= child.restart_at_s:
                self._restart(child, now_s)
        self._dead_groups = {group for group in self._dead_groups if reap_group(group)}
        self._cleanup.check()
        rotate_all(self._log_dir, max_bytes=self._logs.max_bytes, count=self._logs.kept)
        with contextlib.suppress(OSError):
            self._write_children()
        return dead_children

    def _clean_up(self, child: Child, process: Process) -> None:
        """
        Kill the remaining processes in the session of a killed child, then run the child's
        `after_kill` command.
        """
        if child.after_kill is None or (process.returncode or 0) >= 0:
            return
        # A prefork worker's children may still work on jobs that the command releases.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        self._cleanup.add(child.after_kill(process.pid), child.log)

    def _restart(self, child: Child, now_s: float) -> None:
        try:
            self._spawn(child)
        except OSError:
            child.restarts += 1
            child.restart_at_s = now_s + _restart_delay_s(child)

    def stop(self) -> None:
        """
        Stop the children group by group, the highest group first, then release the data folder.

        All children of a group get SIGTERM before this waits for them.
        """
        for group in sorted({child.group for child in self.children}, reverse=True):
            members = [child for child in self.children if child.group == group]
            for child in members:
                if child.process is not None and child.process.poll() is None:
                    os.kill(child.process.pid, child.stop_signal)
            for child in members:
                _wait(child)
        self._cleanup.stop()
        if self._fork_server is not None:
            self._fork_server.stop()
        self.children = []
        (self._run_dir / CHILDREN_FILE).unlink(missing_ok=True)
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _restart_delay_s(child: Child) -> float:
    """Return the delay before the next restart. It starts with 0.5 s and doubles each time."""
    return float(min(MAX_BACKOFF_S, 0.5 * 2 ** min(child.restarts - 1, 10)))


def _wait(child: Child) -> None:
    if child.process is None:
        return
    try:
        child.process.wait(child.stop_within_s)
    except subprocess.TimeoutExpired:
        with contextlib.suppress(ProcessLookupError):
            # Kill the whole session, because a prefork worker has its own children.
            os.killpg(child.process.pid, signal.SIGKILL)
        child.process.wait()
    child.process = None


def _try_lock(lock: IO[bytes]) -> bool:
    for _ in range(LOCK_ATTEMPTS):
        with contextlib.suppress(OSError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(POLL_INTERVAL_S)
    return False


@contextlib.contextmanager
def _convert_os_errors(data_dir: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ConfigError(
            f"data_dir: cannot write to {data_dir} ({error.strerror}); "
            "set ARAGOG_DATA_DIR to a writable folder"
        ) from error
