"""Start processes with private logs, watch them, and let Linux kill them when their parent dies."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, Self

from aragog.errors import ConfigError

PR_SET_PDEATHSIG = 1  # prctl(2)
PR_SET_CHILD_SUBREAPER = 36
POLL_INTERVAL_S = 0.02


class Process(Protocol):
    """A child process, with those methods of `subprocess.Popen` that the supervisor uses."""

    pid: int
    returncode: int | None

    def poll(self) -> int | None:
        """Return the exit code, negative for a signal, or None while the process runs."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code. Raises `subprocess.TimeoutExpired`."""

    def terminate(self) -> None:
        """Send SIGTERM."""

    def kill(self) -> None:
        """Send SIGKILL."""


def wait_or_kill(process: Process, limit_s: float) -> None:
    """Wait for a stopping process, and kill it after `limit_s` seconds."""
    try:
        process.wait(limit_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


class PrivateServer(ABC):
    """A server that belongs to the process that starts it. It runs while its context is open."""

    process: Process | None = None
    """None if the server was not started here or has stopped."""

    @abstractmethod
    def start(self) -> Self:
        """Start the server, and return once it responds."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the server once its data is on disk."""

    def kill(self) -> None:
        """Send SIGKILL, as in a power failure. The server's children exit later."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exc: object) -> None:
        self.stop()


class AdoptedProcess:
    """A child that another process started and the kernel reassigned to this one."""

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """See `Process`."""
        if self.returncode is None:
            with contextlib.suppress(ChildProcessError):
                pid, status = os.waitpid(self.pid, os.WNOHANG)
                if pid:
                    self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """See `Process`."""
        deadline_s = time.monotonic() + (timeout if timeout is not None else float("inf"))
        while (code := self.poll()) is None:
            if time.monotonic() > deadline_s:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0.0)
            time.sleep(POLL_INTERVAL_S)
        return code

    def terminate(self) -> None:
        """See `Process`."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """See `Process`."""
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        # The kernel does not reuse a child's id before `poll` has read its exit code.
        if self.poll() is None:
            os.kill(self.pid, number)


def call_in_child(function: Callable[[], None]) -> None:
    """
    Call a function in a forked child, so that its imports take no memory here.

    The calling process must have only one thread.

    Raises:
        Exception: the function's exception, which must be picklable.
        ConfigError: the child ended without a result.
    """
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.close(read_fd)
            with os.fdopen(write_fd, "wb") as pipe:
                pickle.dump(_call_and_catch(function), pipe)
        finally:
            os._exit(0)
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as pipe:
        pickled_error = pipe.read()
    os.waitpid(child, 0)
    if not pickled_error:
        raise ConfigError(
            "the settings could not be checked: the checking process was killed, perhaps "
            "due to lack of memory; try again"
        )
    error = pickle.loads(pickled_error)  # noqa: S301 - this process's own child wrote it
    if error is not None:
        raise error


def _call_and_catch(function: Callable[[], None]) -> Exception | None:
    try:
        function()
    except Exception as error:  # noqa: BLE001 - the parent raises it
        return error
    return None


def die_with_parent() -> None:
    """Make Linux kill this process when its parent dies. Can be used as `preexec_fn`."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def adopt_orphans() -> bool:
    """Make orphaned descendants children of this process. Returns False if this is impossible."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def _prctl(option: int, value: int) -> bool:
    return sys.platform == "linux" and bool(ctypes.CDLL(None).prctl(option, value) == 0)


def reap_group(group: int) -> bool:
    """Read the exit codes of a group's dead children. Returns False when no children are left."""
    try:
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def spawn(
    argv: Sequence[str], environ: Mapping[str, str], log: Path, **options: Any
) -> subprocess.Popen[bytes]:
    """
    Start `argv` without standard input. Its output is appended to `log`.

    Args:
        argv: the command.
        environ: its environment.
        log: the log, which only its owner can read.
        options: options of `subprocess.Popen`.

    Raises:
        OSError: the process does not start, or the log is not writable.
    """
    with open(log, "ab", opener=create_private) as output:
        return subprocess.Popen(
            argv,
            env=environ,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            **options,
        )


def create_private(path: str, flags: int) -> int:
    """Open a file for `open(opener=…)`. Only its owner can read a new file."""
    return os.open(path, flags | os.O_CREAT, 0o600)
