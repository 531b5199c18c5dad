"""
The settings of the system that runs in a data folder, for the commands of that folder.

A system is often started with variables that another terminal does not have; the demo always is.
A command with other settings would contradict it: another rate, another agent in robots.txt,
another store. So the supervisor records its settings in `run/settings.json`, and commands read them
for as long as it runs.

The file contains passwords if the settings do. It is readable only by its owner, as is its folder.
"""

from __future__ import annotations

import dataclasses
import os
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
from aragog.standalone.running_system import STARTED as FILE
from aragog.standalone.running_system import running_pid
from aragog.standalone.spawn import create_private

# Running processes read it again after a change of their settings file.
RELOADED = "politeness.blocked_hosts"


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
    path = settings.data_dir.absolute() / "run" / FILE
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
    record = _read(run_dir / FILE, pid) if pid else None
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
