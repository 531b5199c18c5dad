"""The cleaning and the types of the values of items."""

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
"""A text after one step of cleaning; None: nothing is left of it."""
Resolve = Callable[[str], str | None]
"""An address of the page as a normalized URL; None if it is none."""

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
"""The types that rules name, with what their JSON holds."""
_FALSE = frozenset({"false", "no", "0", "off"})
_MOST_CHARS = 64 * 1024
_REGEX = "regex:"


def cleaning_of(step: str) -> Clean:
    """
    One step of cleaning: `strip`, `number` or `regex:PATTERN`.

    Raises:
        ValueError: it is none.
    """
    if step == "strip":
        return normalize_space
    if step == "number":
        return _number
    if step.startswith(_REGEX):
        return _matching(step.removeprefix(_REGEX))
    raise ValueError(f"{step!r} is not strip, number or regex:PATTERN")


def _number(text: str) -> str | None:
    """The number in a text such as `ab 1.299,00 €`; None if it has none, or an ambiguous one."""
    found = decimal(text[:200])
    return None if found is None else _plain(found)


def _matching(pattern: str) -> Clean:
    try:
        compiled = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error

    def clean(text: str) -> str | None:
        match = compiled.search(text[:_MOST_CHARS])
        if match is None:
            return None
        return match[1] if compiled.groups else match[0]

    return clean


def cleaned(value: Any, steps: Sequence[Clean]) -> Any:
    """A value after all steps, which concern texts alone; None: nothing is left."""
    for step in steps:
        if isinstance(value, str):
            value = step(value)
    return None if value == "" else value


def converted(value: Any, kind: str, resolve: Resolve) -> Any:
    """
    A value of a page as JSON of the type `kind`: decimals and dates are texts.

    Raises:
        ValueError: it is not of that type.
    """
    result = _converted(value, kind, resolve)
    if result is None:
        raise ValueError(f"is not of type {kind}")
    return result


def _converted(value: Any, kind: str, resolve: Resolve) -> Any:
    if kind == "text":
        return value if isinstance(value, str) else str(value)
    if kind == "bool":
        return value if isinstance(value, bool) else str(value).casefold() not in _FALSE
    if kind == "url":
        return resolve(str(value))
    if kind in ("date", "moment"):
        return _time(value, kind)
    number = _exact(value)
    if number is None:
        return None
    if kind == "decimal":
        return _plain(number)
    is_whole = number == number.to_integral_value()
    if kind == "integer":
        return int(number) if is_whole and abs(number) < 1 << 63 else None
    return int(number) if is_whole else float(number)


def _time(value: Any, kind: str) -> str | None:
    found = moment(value)
    if found is None:
        return None
    if kind == "date" and isinstance(found, datetime):
        return found.date().isoformat()
    return found.isoformat()


def _exact(value: Any) -> Decimal | None:
    """A number as programs write it; the step `number` reads other notations."""
    if isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value).strip()[:64])
    except InvalidOperation:
        return None
    return number if number.is_finite() and -30 < number.adjusted() < 30 else None


def _plain(number: Decimal) -> str:
    return format(number, "f")
