"""Find and stop the system that runs on a data folder, from another process."""

from __future__ import annotations

import fcntl
import os
import signal
import time
from pathlib import Path

from aragog.errors import ConfigError

READY = "ready"
STARTED = "settings.json"
"""A file of `run` that the supervisor writes before it starts the first process."""


def running_pid(run_dir: Path) -> int | None:
    """The process id of the supervisor that holds the lock of `run_dir`; None if there is none."""
    pid, _ = _held(run_dir)
    return pid


def is_ready(run_dir: Path) -> bool:
    """Whether a supervisor holds the lock of `run_dir` and has started everything."""
    return _held(run_dir)[1] == READY


def running_for_s(run_dir: Path) -> float | None:
    """Seconds since the supervisor of `run_dir` began to start the system; None: none runs."""
    if running_pid(run_dir) is None:
        return None
    try:
        return max(0.0, time.time() - (run_dir / STARTED).stat().st_mtime)
    except OSError:
        return 0.0  # it has not come so far


def _held(run_dir: Path) -> tuple[int | None, str]:
    try:
        with (run_dir / "lock").open("r+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                pid, _, state = lock.read().partition(" ")
                return int(pid) or None, state.strip()
    except (OSError, ValueError):
        pass
    return None, ""


def stop_running(run_dir: Path, *, timeout_s: float = 120.0) -> bool:
    """
    End the supervisor that holds the lock, and wait until it has exited. False: none runs.

    Raises:
        ConfigError: it cannot be ended, or takes longer than `timeout_s`.
    """
    pid = running_pid(run_dir)
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGTERM)
    except PermissionError as error:
        raise ConfigError(f"process {pid} runs it and belongs to another user") from error
    except ProcessLookupError:
        return False
    until_s = time.monotonic() + timeout_s
    while running_pid(run_dir) is not None:
        if time.monotonic() > until_s:
            raise ConfigError(f"process {pid} is still stopping; see {run_dir.parent / 'logs'}")
        time.sleep(0.1)
    return True
