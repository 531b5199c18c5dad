"""Guessed rules as the text of a settings file. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from richpins.guesses import Guess, GuessedKind


def settings_text(guess: Guess, site: str, agent: str) -> str:
    """
    A settings file with the User-Agent and the guessed rules for a host.

    Pages of one kind that are one item each have rules for fields of pages, others kinds of items.
    """
    lines = ["[fetch]", f"user_agent = {_quoted(agent)}"]
    for kind in guess.kinds:
        lines += ["", *(_flat(kind, site) if is_flat(guess) else _table(kind, site))]
    return "\n".join(lines) + "\n"


def is_flat(guess: Guess) -> bool:
    """Whether the fields are those of pages: all pages are of one kind, and one item each."""
    return len(guess.kinds) == 1 and guess.kinds[0].is_page


def flat_rules(kind: GuessedKind) -> dict[str, str]:
    """The rules of a kind for fields of pages, which have no types."""
    fields = kind.table["fields"]
    return {
        name: rule if isinstance(rule, str) else rule["select"] for name, rule in fields.items()
    }


def _flat(kind: GuessedKind, site: str) -> Iterator[str]:
    yield f"[extract.{_quoted(site)}]"
    for name, rule in flat_rules(kind).items():
        yield f"{name} = {_quoted(rule)}"


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
    """A text in TOML, whose escapes JSON shares; DEL is one of its own."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
