"""
The system that runs in a data folder, for other processes: find it, stop it, read its settings.

A system is often started with variables that another terminal does not have; the demo always is.
A command with other settings would contradict it: another rate, another agent in robots.txt,
another store. So the supervisor records its settings in `run/settings.json`, and commands read
them for as long as it runs. The file contains passwords if the settings do. It is readable only by
its owner, as is its folder.
"""

from __future__ import annotations

import dataclasses
import fcntl
import os
import signal
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from aragog.errors import ConfigError
from aragog.settings import (
    Settings,
    load_settings,
    names_set,
    plain,
    settings_file,
    settings_of,
)
from aragog.standalone.processes import create_private

READY = "ready"
# Running processes read it again after a change of their settings file.
RELOADED = "politeness.blocked_hosts"
RECORD = "settings.json"
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
        return max(0.0, time.time() - (run_dir / RECORD).stat().st_mtime)
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


@dataclass(frozen=True, slots=True)
class SettingsInUse:
    """The settings that hold in a data folder, and whose they are."""

    settings: Settings
    """Of the running system; without one, this process's own."""
    running: int | None = None
    """The process id of the running system; None if there is none, or it recorded no settings."""
    differing: tuple[str, ...] = ()
    """Settings that this process's file or environment gives, and that differ from `settings`."""


def record_settings(settings: Settings) -> None:
    """
    Record the settings of the system that this process runs.

    Raises:
        ConfigError: the data folder cannot be written.
    """
    path = settings.data_dir.absolute() / "run" / RECORD
    file = settings_file()
    record = {
        "process": os.getpid(),
        "settings_file": str(file) if file else None,
        "settings": plain(_absolute(settings)),
    }
    new = path.with_suffix(".new")
    try:
        with open(new, "wb", opener=create_private) as stream:
            stream.write(orjson.dumps(record))
        new.replace(path)
    except OSError as error:
        raise ConfigError(
            f"data_dir: {path} cannot be written ({error.strerror}); "
            "set ARAGOG_DATA_DIR to a folder that can"
        ) from error


def settings_in_use(environ: Mapping[str, str] | None = None) -> SettingsInUse:
    """
    The settings that hold in the data folder of this process's own settings.

    Args:
        environ: None: `os.environ`.

    Raises:
        ConfigError: this process's own settings, or those of the running system, are invalid.
    """
    own = load_settings(environ=environ)
    run_dir = own.data_dir.absolute() / "run"
    pid = running_pid(run_dir)
    record = _read(run_dir / RECORD, pid) if pid else None
    if record is None:
        return SettingsInUse(own)
    running, own = settings_of(record["settings"]), _absolute(own)
    given = names_set(environ=environ)
    file = settings_file(environ)
    if record["settings_file"] == (str(file) if file else None) and RELOADED in given:
        running = _with_value(running, RELOADED, _value(own, RELOADED))
    differing = [name for name in given if _value(own, name) != _value(running, name)]
    return SettingsInUse(running, pid, tuple(differing))


def _read(path: Path, pid: int) -> dict[str, Any] | None:
    """The record of the process with this id; None if it made none."""
    try:
        record = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return record if isinstance(record, dict) and record.get("process") == pid else None


def _absolute(settings: Settings) -> Settings:
    """The settings with absolute paths, for commands that run in other folders."""
    return _with_absolute_paths(settings)  # type: ignore[no-any-return]


def _with_absolute_paths(section: Any) -> Any:
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if isinstance(value, Path):
            changed[field.name] = value.absolute()
        elif dataclasses.is_dataclass(value):
            changed[field.name] = _with_absolute_paths(value)
    return dataclasses.replace(section, **changed)


def _value(settings: Settings, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _with_value(settings: Settings, name: str, value: Any) -> Settings:
    section, key = name.split(".")
    changed = dataclasses.replace(getattr(settings, section), **{key: value})
    return dataclasses.replace(settings, **{section: changed})
