"""Formats guessed rules as a settings file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from richpins.guesses import Guess, GuessedKind


def settings_text(guess: Guess, site: str, agent: str) -> str:
    """Return a settings file with the User-Agent and a host's guessed kinds of items."""
    lines = ["[fetch]", f"user_agent = {_to_string(agent)}"]
    for kind in guess.kinds:
        lines += ["", *_table_lines(kind, site)]
    return "\n".join(lines) + "\n"


def _table_lines(kind: GuessedKind, site: str) -> Iterator[str]:
    yield f"[extract.{_to_string(site)}.{kind.name}]"
    for key, value in kind.table.items():
        if key != "fields":
            yield f"{key} = {_to_toml(value)}"
    yield ""
    yield f"[extract.{_to_string(site)}.{kind.name}.fields]"
    for name, rule in kind.table["fields"].items():
        yield f"{name} = {_to_toml(rule)}"


def _to_toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_to_toml(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_to_toml, value)) + "]"
    return _to_string(str(value))


def _to_string(text: str) -> str:
    """Return a TOML string. TOML has the same escapes as JSON, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
