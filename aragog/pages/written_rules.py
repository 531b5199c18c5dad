"""Formats guessed rules as a settings file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from richpins.guesses import Guess, GuessedKind


def settings_text(guess: Guess, site: str, agent: str) -> str:
    """Return a settings file with the User-Agent and a host's guessed kinds of items."""
    lines = ["[fetch]", f"user_agent = {_quoted(agent)}"]
    for kind in guess.kinds:
        lines += ["", *_table(kind, site)]
    return "\n".join(lines) + "\n"


def _table(kind: GuessedKind, site: str) -> Iterator[str]:
    yield f"[extract.{_quoted(site)}.{kind.name}]"
    for key, value in kind.table.items():
        if key != "fields":
            yield f"{key} = {_value(value)}"
    yield ""
    yield f"[extract.{_quoted(site)}.{kind.name}.fields]"
    for name, rule in kind.table["fields"].items():
        yield f"{name} = {_value(rule)}"


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_value(part)}" for key, part in value.items()) + " }"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_value, value)) + "]"
    return _quoted(str(value))


def _quoted(text: str) -> str:
    """TOML has the same escapes as JSON, except for DEL."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
