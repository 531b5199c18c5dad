"""
The settings that hold in a data folder: those of the system that runs there, if one does.

A system is often started with variables that another terminal does not have; the demo always is.
A process with other settings would contradict it: another rate, another agent in robots.txt,
another store. So the supervisor records its settings in `run/settings.json`. Commands, producers
and workers that somebody starts in the same data folder read them for as long as it runs. The file
contains passwords if the settings do. It is readable only by its owner, as is its folder.
"""

from __future__ import annotations

import dataclasses
import fcntl
import logging
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from aragog.settings.loading import load_settings, names_set, settings_file, settings_of
from aragog.settings.settings import Settings

# The setting that running processes read again when the settings file changes.
RELOADED = "politeness.blocked_hosts"
EXTENDED = "fetch.host_map"
"""`aragog up` adds the hosts of the demo web to it in a data folder that has pages of them."""
OF_A_PROCESS = ("logs.", "serving.", "workers.")
"""Settings that concern no other process."""
RECORD = "settings.json"
"""A file of `run` that the supervisor writes before it starts the first process."""


def running_pid(run_dir: Path) -> int | None:
    """The process id of the supervisor that holds the lock of `run_dir`, or None."""
    pid, _ = held(run_dir)
    return pid


def held(run_dir: Path) -> tuple[int | None, str]:
    """The process id of the supervisor that holds the lock of `run_dir`, and its state."""
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


@dataclass(frozen=True, slots=True)
class SettingsInUse:
    """The settings that hold in a data folder, and whose they are."""

    settings: Settings
    """The settings of the running system; without one, this process's own."""
    running: int | None = None
    """The process id of the running system; None if none runs, or it recorded no settings."""
    differing: tuple[str, ...] = ()
    """Settings that this process's file or environment gives, and that differ from `settings`."""

    def difference(self, of: str) -> str:
        """Which settings were given to `of` and do not count, and how to make them count."""
        where, names = self.settings.data_dir, ", ".join(self.differing)
        return (
            f"aragog runs in {where} (process {self.running}) with other values of {names}, which "
            f"{of} uses as well; restart aragog to apply yours"
        )


def process_settings() -> Settings:
    """
    A producer's settings, worker or server that was given none: those of its data folder.

    Its own `logs`, `serving` and `workers` count, because they concern no other process. A warning,
    logged once, names the others that were given to it and differ.

    Raises:
        ConfigError: this process's own settings, or those of the running system, are invalid.
    """
    in_use = settings_in_use()
    settings, own = in_use.settings, load_settings() if in_use.differing else None
    differing = []
    for name in in_use.differing:
        if name.startswith(OF_A_PROCESS):
            settings = _with_value(settings, name, _value(own, name))
        else:
            differing.append(name)
    if differing:
        _warn(dataclasses.replace(in_use, differing=tuple(differing)).difference("this process"))
    return settings


@cache
def _warn(text: str) -> None:
    logging.getLogger(__name__).warning("%s", text)


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
    running, own = settings_of(record["settings"]), with_absolute_paths(own)
    given = names_set(environ=environ)
    file = settings_file(environ)
    if record["settings_file"] == (str(file) if file else None) and RELOADED in given:
        running = _with_value(running, RELOADED, _value(own, RELOADED))
    differing = [name for name in given if not _counts(name, own, running)]
    return SettingsInUse(running, pid, tuple(differing))


def _counts(name: str, own: Settings, running: Settings) -> bool:
    """Whether this setting of `own` holds in the running system too."""
    mine, theirs = _value(own, name), _value(running, name)
    if name == EXTENDED and mine:
        return bool(mine.items() <= theirs.items())
    return bool(mine == theirs)


def _read(path: Path, pid: int) -> dict[str, Any] | None:
    """The record of the process with this id; None if it made none."""
    try:
        record = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return record if isinstance(record, dict) and record.get("process") == pid else None


def with_absolute_paths(section: Any) -> Any:
    """The settings, or a section of them, with absolute paths, for processes in other folders."""
    changed: dict[str, Any] = {}
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if isinstance(value, Path):
            changed[field.name] = value.absolute()
        elif dataclasses.is_dataclass(value):
            changed[field.name] = with_absolute_paths(value)
    return dataclasses.replace(section, **changed)


def _value(settings: Settings | None, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _with_value(settings: Settings, name: str, value: Any) -> Settings:
    section, key = name.split(".")
    changed = dataclasses.replace(getattr(settings, section), **{key: value})
    return dataclasses.replace(settings, **{section: changed})
