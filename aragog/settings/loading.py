"""Load settings from a TOML file and the environment."""

from __future__ import annotations

import os
import tomllib
import typing
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from aragog.errors import ConfigError
from aragog.runtime.environment import variable, without_line_end
from aragog.settings.checks import find_problems
from aragog.settings.settings import Settings
from aragog.settings.values import EnvironmentValue, build

ENV_PREFIX = "ARAGOG_"
SETTINGS_FILE = "aragog.toml"

# Variables with the prefix that are not settings: the file's path, test variables, and the token of
# `aragog mcp`.
NON_SETTING_VARIABLES = ("ARAGOG_SETTINGS", "ARAGOG_TEST_", "ARAGOG_CACHE", "ARAGOG_TOKEN")
TABLES = ("extract",)


def load_settings(path: Path | None = None, environ: Mapping[str, str] | None = None) -> Settings:
    """
    Load the settings from a TOML file and the environment. The environment takes precedence.

    >>> settings = load_settings(environ={"ARAGOG_POLITENESS__QPS": "0.5"})
    >>> settings.politeness.qps
    0.5
    >>> load_settings(environ={"ARAGOG_POLITENESS__RATE": "0.5"})
    Traceback (most recent call last):
    aragog.errors.ConfigError: ...

    Args:
        path: the file. None means `$ARAGOG_SETTINGS`, or else `aragog.toml` if it exists.
        environ: None means `os.environ`.

    Raises:
        ConfigError: unknown keys or invalid values, one line each.
    """
    environ = os.environ if environ is None else environ
    problems: list[str] = []
    return build_settings(_read_values(path, environ, problems), problems)


def build_settings(values: Mapping[str, Any], problems: Sequence[str] = ()) -> Settings:
    """
    Return the settings in a table of sections.

    Args:
        values: the table.
        problems: errors from reading the table.

    Raises:
        ConfigError: `problems`, unknown keys or invalid values, one line each.
    """
    all_problems = list(problems)
    settings = build(Settings, values, "", all_problems)
    if settings is not None:
        all_problems += find_problems(settings)
    if all_problems or settings is None:
        raise ConfigError(*all_problems)
    return typing.cast("Settings", settings)


def configured_names(
    path: Path | None = None, environ: Mapping[str, str] | None = None
) -> list[str]:
    """Return the names of the settings in the file or the environment, like `fetch.user_agent`."""
    names = []
    for section, value in _read_values(
        path, os.environ if environ is None else environ, []
    ).items():
        keys = value if isinstance(value, dict) and section not in TABLES else None
        names += [f"{section}.{key}" for key in keys] if keys is not None else [section]
    return names


def _read_values(
    path: Path | None, environ: Mapping[str, str], problems: list[str]
) -> dict[str, Any]:
    values = _read_file(path, environ, problems)
    _apply_environment(values, environ, problems)
    return values


def settings_file(environ: Mapping[str, str] | None = None) -> Path | None:
    """Return the absolute path of the file that `load_settings` reads by default, or None."""
    if path := variable("ARAGOG_SETTINGS", environ):
        return Path(path).absolute()
    file = Path(SETTINGS_FILE).absolute()
    return file if file.exists() else None


def _read_file(
    path: Path | None, environ: Mapping[str, str], problems: list[str]
) -> dict[str, Any]:
    file = path or settings_file(environ)
    if file is None:
        return {}
    try:
        return tomllib.loads(file.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        problems.append(f"{file}: cannot be read: {error}")
    except tomllib.TOMLDecodeError as error:
        problems.append(f"{file}: is not valid TOML: {error}")
    return {}


def _apply_environment(
    values: dict[str, Any], environ: Mapping[str, str], problems: list[str]
) -> None:
    for name, text in environ.items():
        if not name.startswith(ENV_PREFIX) or name.startswith(NON_SETTING_VARIABLES):
            continue
        section, _, key = name.removeprefix(ENV_PREFIX).lower().partition("__")
        value = EnvironmentValue(without_line_end(text), name)
        if not key:
            values[section] = value
            continue
        table = values.setdefault(section, {})
        if isinstance(table, dict):
            table[key] = value
        else:
            problems.append(f"{name}: {section} is not a section")
