"""Convert values from a file or the environment to the settings' types."""

from __future__ import annotations

import dataclasses
import difflib
import math
import re
import types
import typing
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from aragog.runtime.secret import Secret, reveal

DURATION = re.compile(r"(\d+(?:\.\d+)?)([smhd])")
UNITS_S = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86_400.0}


class EnvironmentValue(str):
    """An environment variable's unconverted value, with its name."""

    __slots__ = ("name",)
    name: str

    def __new__(cls, text: str, name: str) -> typing.Self:
        result = super().__new__(cls, text)
        result.name = name
        return result


def build(cls: type[Any], values: Mapping[str, Any], prefix: str, problems: list[str]) -> Any:
    """Build the section `cls`. Adds errors to `problems` and returns None if a value is invalid."""
    hints = typing.get_type_hints(cls)
    names = {f.name for f in dataclasses.fields(cls)}
    for key in values.keys() - names:
        name = getattr(values[key], "name", f"{prefix}{key}")
        suggestion = _suggestion(key, names, prefix)
        problems.append(
            f"{name}: is not a setting{suggestion} (docs/settings.md lists all settings)"
        )
    problems_before, fields = len(problems), {}
    for key in names & values.keys():
        value, hint = values[key], hints[key]
        if dataclasses.is_dataclass(hint):
            if isinstance(value, Mapping):
                fields[key] = build(
                    typing.cast("type[Any]", hint), value, f"{prefix}{key}.", problems
                )
            else:
                problems.append(
                    f"{prefix}{key}: is a section, not a value; set one of its keys, such as "
                    f"{prefix}{key}.{dataclasses.fields(hint)[0].name}"
                )
            continue
        name = getattr(value, "name", f"{prefix}{key}")
        try:
            if (entry_class := _get_entry_class(hint)) is not None:
                fields[key] = _build_each(entry_class, value, f"{prefix}{key}", problems)
            else:
                fields[key] = _convert(value, hint)
        except (ValueError, TypeError) as error:
            shown_value = "a hidden value" if _is_secret(hint) else repr(str(value))
            problems.append(f"{name}: must be {error}, got {shown_value}")
    return None if len(problems) > problems_before else cls(**fields)


def _get_entry_class(hint: Any) -> type[Any] | None:
    """Return the dataclass of the entries in a table or list, or None for other types."""
    inner = [part for part in typing.get_args(hint) if dataclasses.is_dataclass(part)]
    return typing.cast("type[Any]", inner[0]) if inner else None


def _build_each(cls: type[Any], value: Any, prefix: str, problems: list[str]) -> Any:
    """Build the sections in a table or list of tables. Raises ValueError for other values."""
    if isinstance(value, Mapping) and all(isinstance(table, Mapping) for table in value.values()):
        return {
            key: build(cls, table, f"{prefix}.{key}.", problems) for key, table in value.items()
        }
    if isinstance(value, list) and all(isinstance(table, Mapping) for table in value):
        numbered_tables = enumerate(value, 1)
        return tuple(build(cls, table, f"{prefix}[{n}].", problems) for n, table in numbered_tables)
    raise ValueError("tables in the settings file")


def plain(value: Any) -> Any:
    """
    Return settings or a section as tables, lists and scalars for `build`.

    Secrets are in plain text. Fields that are None (always the default) are left out.
    """
    if dataclasses.is_dataclass(value):
        items = ((f.name, getattr(value, f.name)) for f in dataclasses.fields(value))
        return {name: plain(item) for name, item in items if item is not None}
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return [plain(item) for item in value]
    if isinstance(value, str):
        return reveal(value)
    return str(value) if isinstance(value, Path) else value


def _suggestion(key: str, names: set[str], prefix: str) -> str:
    matches = difflib.get_close_matches(key, names, n=1)
    return f"; did you mean {prefix}{matches[0]}?" if matches else ""


def _is_secret(hint: Any) -> bool:
    if isinstance(hint, type):
        return issubclass(hint, Secret)
    return any(_is_secret(part) for part in typing.get_args(hint))


def _convert(value: Any, hint: Any) -> Any:
    """Convert `value` to the type `hint`. If that fails, the ValueError says what is allowed."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        inner = next(a for a in args if a is not type(None))
        return None if value in ("", None) else _convert(value, inner)
    if origin is Literal:
        if str(value) not in args:
            raise ValueError("one of " + ", ".join(map(str, args)))
        return str(value)
    if origin is tuple:
        parts = _split_list(value) if isinstance(value, str) else value
        if not isinstance(parts, list):
            raise ValueError("a list")
        return tuple(_convert(part, args[0]) for part in parts)
    if origin is not None and issubclass(origin, Mapping) and args[1] is Any:
        if not isinstance(value, dict) or not all(
            isinstance(v, str | dict) for v in value.values()
        ):
            raise ValueError("a table of strings and tables")
        return value
    if origin is not None and issubclass(origin, Mapping) and typing.get_origin(args[1]):
        if not isinstance(value, dict):
            raise ValueError("a table of tables in the settings file")
        return {key: _convert(table, args[1]) for key, table in value.items()}
    if origin is not None and issubclass(origin, Mapping):
        pairs = _split_pairs(value) if isinstance(value, str) else value
        if not isinstance(pairs, dict) or not all(isinstance(v, str) for v in pairs.values()):
            raise ValueError("a table of strings")
        return {key: _convert(text, args[1]) for key, text in pairs.items()}
    return _convert_scalar(value, hint)


def _convert_scalar(value: Any, hint: Any) -> Any:
    if hint is bool:
        if isinstance(value, bool):
            return value
        booleans = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if isinstance(value, EnvironmentValue) and value.lower() in booleans:
            return booleans[value.lower()]
        raise ValueError("true or false")
    if hint in (int, float):
        is_number = isinstance(value, int if hint is int else (int, float))
        if not isinstance(value, bool) and (is_number or isinstance(value, EnvironmentValue)):
            with suppress(ValueError, OverflowError):
                converted = hint(value)
                if math.isfinite(converted):
                    return converted
        raise ValueError("a whole number" if hint is int else "a number")
    if hint is Path and isinstance(value, str):
        if not value.strip():
            raise ValueError("a path")
        return Path(value).expanduser()
    if isinstance(hint, type) and issubclass(hint, str) and isinstance(value, str):
        return hint(reveal(value))
    raise ValueError("a string")


def _split_pairs(text: str) -> dict[str, str]:
    parts = [part.partition("=") for part in _split_list(text)]
    if not all(separator and name.strip() for name, separator, _ in parts):
        raise ValueError("name=value pairs, separated by commas")
    return {name.strip(): value.strip() for name, _, value in parts}


def _split_list(text: str) -> list[EnvironmentValue]:
    name = getattr(text, "name", "")
    return [EnvironmentValue(part.strip(), name) for part in text.split(",") if part.strip()]


def duration_s(text: str) -> float:
    """
    Return the number of seconds in a string such as `90s`, `6h` or `1.5d`.
    Raises ValueError for anything else.
    """
    match = DURATION.fullmatch(text)
    if match is None:
        raise ValueError(f"a number with s, m, h or d, got {text!r}")
    return float(match[1]) * UNITS_S[match[2]]
