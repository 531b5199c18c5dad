"""
The effective settings of a data folder. If aragog is running there, these are its settings.

aragog is often started with environment variables that are not set in other terminals, and the demo
always is. A process with different settings would use another rate, agent or store. So the
supervisor records its settings in `run/settings.json`, and other processes in the data folder use
them as long as the supervisor runs. The file may contain passwords, and only its owner can read it.
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

from aragog.settings.loading import build_settings, configured_names, load_settings, settings_file
from aragog.settings.settings import Settings

# The only setting that running processes reload.
RELOADED_SETTING = "politeness.blocked_hosts"
EXTENDED_SETTING = "fetch.host_map"
"""In a demo's data folder, `aragog up` adds the demo sites' hosts to this setting."""
PROCESS_SECTIONS = ("logs.", "serving.", "workers.")
"""Sections that each process reads for itself."""
RECORD_FILE = "settings.json"
"""A file in `run` that the supervisor writes before its first process starts."""


def running_pid(run_dir: Path) -> int | None:
    """Return the process ID of the supervisor that holds `run_dir`'s lock, or None."""
    pid, _ = lock_holder(run_dir)
    return pid


def lock_holder(run_dir: Path) -> tuple[int | None, str]:
    """Return the process ID and state of the supervisor that holds `run_dir`'s lock."""
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
    """The effective settings of a data folder, and where they come from."""

    settings: Settings
    """The running supervisor's settings or, if none is running, this process's settings."""
    running: int | None = None
    """The supervisor's process ID, or None if none is running or it recorded no settings."""
    differing: tuple[str, ...] = ()
    """Names of settings that differ in this process's file or environment."""

    def difference(self, subject: str) -> str:
        """
        Return a message that lists the settings of `subject` that have no effect, and says how to
        apply them.
        """
        data_dir, names = self.settings.data_dir, ", ".join(self.differing)
        return (
            f"aragog runs in {data_dir} (process {self.running}) with other values of {names}, "
            f"which {subject} uses as well; restart aragog to apply yours"
        )


def process_settings() -> Settings:
    """
    Return the effective settings of the data folder, for a producer, worker or server.

    The process keeps its own `logs`, `serving` and `workers`. If other settings differ, a warning
    that lists them is logged once.

    Raises:
        ConfigError: this process's or the supervisor's settings are invalid.
    """
    in_use = settings_in_use()
    settings, own_settings = in_use.settings, load_settings() if in_use.differing else None
    differing = []
    for name in in_use.differing:
        if name.startswith(PROCESS_SECTIONS):
            settings = _with_value(settings, name, _get_value(own_settings, name))
        else:
            differing.append(name)
    if differing:
        _warn_once(
            dataclasses.replace(in_use, differing=tuple(differing)).difference("this process")
        )
    return settings


@cache
def _warn_once(text: str) -> None:
    logging.getLogger(__name__).warning("%s", text)


def settings_in_use(environ: Mapping[str, str] | None = None) -> SettingsInUse:
    """
    Return the effective settings of this process's data folder.

    Args:
        environ: None means `os.environ`.

    Raises:
        ConfigError: this process's or the supervisor's settings are invalid.
    """
    own_settings = load_settings(environ=environ)
    run_dir = own_settings.data_dir.absolute() / "run"
    pid = running_pid(run_dir)
    record = _read_record(run_dir / RECORD_FILE, pid) if pid else None
    if record is None:
        return SettingsInUse(own_settings)
    running, own_settings = build_settings(record["settings"]), with_absolute_paths(own_settings)
    names = configured_names(environ=environ)
    file = settings_file(environ)
    if record["settings_file"] == (str(file) if file else None) and RELOADED_SETTING in names:
        running = _with_value(running, RELOADED_SETTING, _get_value(own_settings, RELOADED_SETTING))
    differing = [name for name in names if not _is_in_effect(name, own_settings, running)]
    return SettingsInUse(running, pid, tuple(differing))


def _is_in_effect(name: str, own_settings: Settings, running: Settings) -> bool:
    own_value, running_value = _get_value(own_settings, name), _get_value(running, name)
    if name == EXTENDED_SETTING and own_value:
        return bool(own_value.items() <= running_value.items())
    return bool(own_value == running_value)


def _read_record(path: Path, pid: int) -> dict[str, Any] | None:
    """Return the settings that process `pid` recorded, or None."""
    try:
        record = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return None
    return record if isinstance(record, dict) and record.get("process") == pid else None


def with_absolute_paths(section: Any) -> Any:
    """Return settings, or a section, with absolute paths, for processes in other folders."""
    changes: dict[str, Any] = {}
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if isinstance(value, Path):
            changes[field.name] = value.absolute()
        elif dataclasses.is_dataclass(value):
            changes[field.name] = with_absolute_paths(value)
    return dataclasses.replace(section, **changes)


def _get_value(settings: Settings | None, name: str) -> Any:
    value: Any = settings
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _with_value(settings: Settings, name: str, value: Any) -> Settings:
    section, key = name.split(".")
    new_section = dataclasses.replace(getattr(settings, section), **{key: value})
    return dataclasses.replace(settings, **{section: new_section})
