"""
The aragog that is running in a data folder, as other processes see it.

It records its settings for them (`aragog.settings.in_use`).
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import orjson

from aragog.errors import ConfigError
from aragog.settings import Settings, plain, settings_file
from aragog.settings.in_use import RECORD_FILE, lock_holder, running_pid, with_absolute_paths
from aragog.standalone.processes import create_private

READY = "ready"


def is_ready(run_dir: Path) -> bool:
    """True if a supervisor holds the lock in `run_dir` and has started everything."""
    return lock_holder(run_dir)[1] == READY


def running_for_s(run_dir: Path) -> float | None:
    """Return how long the supervisor in `run_dir` has been running; None if it is not running."""
    if running_pid(run_dir) is None:
        return None
    try:
        return max(0.0, time.time() - (run_dir / RECORD_FILE).stat().st_mtime)
    except OSError:
        return 0.0  # it has just been started


def stop_running(run_dir: Path, *, timeout_s: float = 120.0) -> bool:
    """
    Stop the running supervisor, and wait until it has exited. Returns False if none is running.

    Raises:
        ConfigError: it cannot be stopped, or takes longer than `timeout_s`.
    """
    pid = running_pid(run_dir)
    if pid is None:
        return False
    try:
        os.kill(pid, signal.SIGTERM)
    except PermissionError as error:
        raise ConfigError(f"process {pid} is running it and belongs to another user") from error
    except ProcessLookupError:
        return False
    deadline_s = time.monotonic() + timeout_s
    while running_pid(run_dir) is not None:
        if time.monotonic() > deadline_s:
            raise ConfigError(f"process {pid} is still stopping; see {run_dir.parent / 'logs'}")
        time.sleep(0.1)
    return True


def record_settings(settings: Settings) -> None:
    """
    Record the settings of the aragog that this process starts.

    Raises:
        ConfigError: the data folder is not writable.
    """
    path = settings.data_dir.absolute() / "run" / RECORD_FILE
    file = settings_file()
    record = {
        "process": os.getpid(),
        "settings_file": str(file) if file else None,
        "settings": plain(with_absolute_paths(settings)),
    }
    new_path = path.with_suffix(".new")
    try:
        with open(new_path, "wb", opener=create_private) as stream:
            stream.write(orjson.dumps(record))
        new_path.replace(path)
    except OSError as error:
        raise ConfigError(
            f"data_dir: {path} cannot be written ({error.strerror}); "
            "set ARAGOG_DATA_DIR to a writable folder"
        ) from error
