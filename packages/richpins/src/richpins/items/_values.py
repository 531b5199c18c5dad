from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import datetime
from decimal import Decimal, InvalidOperation
from typing import Any

from richpins.document import normalize_space
from richpins.field_types import BOOLEAN, DECIMAL, INTEGER, NUMBER, TEXT, FieldType
from richpins.values.dates import moment
from richpins.values.numbers import decimal

Clean = Callable[[str], str | None]
"""Applies one cleaning step to a string; returns None if nothing is left."""
Resolve = Callable[[str], str | None]
"""Resolves and normalizes a URL of the page; returns None if it is invalid."""

TYPES: dict[str, FieldType] = {
    "text": TEXT,
    "decimal": DECIMAL,
    "integer": INTEGER,
    "number": NUMBER,
    "date": FieldType("date"),
    "moment": TEXT,
    "url": TEXT,
    "bool": BOOLEAN,
}
"""The JSON types by the names that rules use for them."""
_FALSE = frozenset({"false", "no", "0", "off"})
_MAX_CHARS = 64 * 1024
_REGEX = "regex:"


def parse_step(step: str) -> Clean:
    """
    Return a cleaning step: `strip`, `number` or `regex:PATTERN`.

    Raises:
        ValueError: there is no such step.
    """
    if step == "strip":
        return normalize_space
    if step == "number":
        return _number
    if step.startswith(_REGEX):
        return _regex_step(step.removeprefix(_REGEX))
    raise ValueError(f"{step!r} is not strip, number or regex:PATTERN")


def _number(text: str) -> str | None:
    """Return the number in a string such as `ab 1.299,00 €`; None if it is missing or ambiguous."""
    number = decimal(text[:200])
    return None if number is None else _to_text(number)


def _regex_step(pattern: str) -> Clean:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error

    def clean(text: str) -> str | None:
        match = compiled.search(text[:_MAX_CHARS])
        if match is None:
            return None
        return match[1] if compiled.groups else match[0]

    return clean


def apply_steps(value: Any, steps: Sequence[Clean]) -> Any:
    """Apply all cleaning steps. Returns None if nothing is left."""
    for step in steps:
        if isinstance(value, str):
            value = step(value)
    return None if value == "" else value


def convert(value: Any, kind: str, resolve: Resolve) -> Any:
    """
    Convert a page's value to JSON of the type `kind`. Decimals and dates become strings.

    Raises:
        ValueError: the value is not of that type.
    """
    result = _convert(value, kind, resolve)
    if result is None:
        raise ValueError(f"is not of type {kind}")
    return result


def _convert(value: Any, kind: str, resolve: Resolve) -> Any:
    if kind == "text":
        return value if isinstance(value, str) else str(value)
    if kind == "bool":
        return value if isinstance(value, bool) else str(value).casefold() not in _FALSE
    if kind == "url":
        return resolve(str(value))
    if kind in ("date", "moment"):
        return _time(value, kind)
    number = _parse_exact(value)
    if number is None:
        return None
    if kind == "decimal":
        return _to_text(number)
    is_whole = number == number.to_integral_value()
    if kind == "integer":
        return int(number) if is_whole and abs(number) < 1 << 63 else None
    return int(number) if is_whole else float(number)


def _time(value: Any, kind: str) -> str | None:
    moment_or_date = moment(value)
    if moment_or_date is None:
        return None
    if kind == "date" and isinstance(moment_or_date, datetime):
        return moment_or_date.date().isoformat()
    return moment_or_date.isoformat()


def _parse_exact(value: Any) -> Decimal | None:
    """Return a number in programming notation. The `number` step reads other notations."""
    if isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value).strip()[:64])
    except InvalidOperation:
        return None
    return number if number.is_finite() and -30 < number.adjusted() < 30 else None


def _to_text(number: Decimal) -> str:
    return format(number, "f")
