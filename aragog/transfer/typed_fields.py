"""
Convert field values for files: to JSON with real numbers, lists and records, and to typed columns.

A field's type comes from extraction, its rule, or its declared format. If a typed value does not
restore the exact stored bytes (a price of 19.90 in a column of doubles, JSON with spaces), the file
also contains the bytes, so every import restores them.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from datetime import date
from decimal import Decimal
from functools import lru_cache
from typing import Any

import orjson

from aragog.pages.stored_fields import stored_types
from aragog.urlstore.field_formats import FieldFormats, Number, json_bytes, parse
from richpins.field_types import (
    ANY,
    DECIMAL,
    INTEGER,
    TEXT,
    FieldType,
)

_INT64 = 2**63
_MAX_DIGITS = 300
"""Maximum number of digits; longer numbers are written as bytes."""
_DIGITS = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?")
_WHOLE = re.compile(rb"0|-?[1-9][0-9]*")
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_QUOTED_DECIMAL = re.compile(rb'"((?:0|[1-9][0-9]*)(?:\.[0-9]+)?)"')


class TypedFields:
    """
    The types of fields, and conversions of their values.

    Args:
        formats: the field formats of the store (`UrlStore.formats`).
        types: types by field name, such as those of rules. Extracted fields have built-in types.
    """

    def __init__(
        self, formats: FieldFormats | None = None, types: Mapping[str, FieldType] | None = None
    ) -> None:
        self._formats = formats or FieldFormats()
        self._types = {**stored_types(), **(types or {})}
        self.type_of = lru_cache(maxsize=4096)(self._type_of)

    def _type_of(self, name: str) -> FieldType | None:
        kind = self._formats.of(name)
        if kind == "json":
            return self._types.get(name, ANY)
        return {"text": TEXT, "integer": INTEGER, "decimal": DECIMAL, "bytes": None}[kind]

    def known(self) -> list[str]:
        """Return the fields of known types, in order."""
        return sorted(name for name in self._types if self._formats.of(name) == "json")

    def to_json(self, name: str, value: bytes) -> tuple[Any, bool]:
        """
        Return a value for `orjson.dumps`, and True if `from_json` restores its exact bytes.

        Raises:
            ValueError: the value does not match its type.
        """
        if self._formats.of(name) == "json":
            return _typed_json(value, self._types.get(name, ANY))
        match self._type_of(name):
            case None:
                raise ValueError("bytes")
            case FieldType("text"):
                return value.decode(), True
            case FieldType("integer") if _matches(_WHOLE, value):
                return orjson.Fragment(value), True
            case FieldType("decimal") if _matches(_NUMBER, value) and value != b"-0":
                return orjson.Fragment(value), True
        raise ValueError("does not match the field's format")

    def from_json(self, name: str, value: Any) -> bytes:
        """
        Return the bytes for a value that `field_formats.parse` returned.

        Raises:
            ValueError: the value does not match the field's format.
        """
        if self._formats.of(name) == "json":
            return json_bytes(_from_numbers(value, self._types.get(name, ANY)))
        return self._formats.from_json(name, value)

    def to_column(self, name: str, value: bytes) -> tuple[Any, bool]:
        """
        Return a value for a column of the field's type, and True if `from_column` restores its
        bytes.

        Raises:
            ValueError: it does not match the column's type.
        """
        field_type = self.type_of(name)
        if field_type is None:
            return value, True
        if self._formats.of(name) != "json":
            cell = _parse_cell(value.decode(), field_type)
        elif field_type.kind == "any":
            orjson.loads(value)
            return value.decode(), True
        else:
            cell = to_cell(orjson.loads(value), field_type)
        try:
            return cell, self.from_column(name, cell) == value
        except TypeError as error:  # such as an integer of more than 64 bits
            raise ValueError(str(error)) from error

    def from_column(self, name: str, value: Any) -> bytes:
        """
        Return the bytes of a column's value, which another program may have written.

        Raises:
            ValueError, TypeError: the value cannot be stored in a field.
        """
        if isinstance(value, bytes):
            return value
        field_type = self.type_of(name)
        if field_type is None or field_type.kind == "any" or self._formats.of(name) != "json":
            return _cell_bytes(value, field_type)
        plain = _stored_json(value, field_type)
        return orjson.dumps(plain, option=orjson.OPT_SORT_KEYS)


def _matches(pattern: re.Pattern[bytes], value: bytes) -> bool:
    return len(value) <= _MAX_DIGITS and pattern.fullmatch(value) is not None


def _typed_json(value: bytes, field_type: FieldType) -> tuple[Any, bool]:
    if field_type.kind == "decimal":
        if (match := _QUOTED_DECIMAL.fullmatch(value)) and len(value) <= _MAX_DIGITS:
            return orjson.Fragment(match[1]), True
    elif not field_type.has_decimals:
        try:
            if orjson.dumps(orjson.loads(value)) == value:
                return orjson.Fragment(value), True
        except orjson.JSONDecodeError:
            pass  # such as an integer of more than 64 bits
    stored = parse(value)
    typed = json_bytes(_to_numbers(stored, field_type))
    is_exact = json_bytes(_from_numbers(parse(typed), field_type)) == value
    return orjson.Fragment(typed), is_exact


def _to_numbers(value: Any, field_type: FieldType) -> Any:
    """Return a stored value with decimals as numbers; parts of another type stay unchanged."""
    if field_type.kind == "decimal":
        is_decimal = (
            isinstance(value, str) and len(value) <= _MAX_DIGITS and _DIGITS.fullmatch(value)
        )
        return Number(value) if is_decimal else value
    return _convert_parts(value, field_type, _to_numbers)


def _from_numbers(value: Any, field_type: FieldType) -> Any:
    """Undo `_to_numbers`."""
    if field_type.kind == "decimal":
        if isinstance(value, Number):
            return value.text
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value
    return _convert_parts(value, field_type, _from_numbers)


def _convert_parts(value: Any, field_type: FieldType, convert: Any) -> Any:
    if isinstance(value, list) and field_type.kind == "list":
        return [convert(part, field_type.item) for part in value]
    if isinstance(value, dict) and field_type.kind == "map":
        return {name: convert(part, field_type.item) for name, part in value.items()}
    if isinstance(value, dict) and field_type.kind == "record":
        members = field_type.members
        return {name: convert(part, members.get(name, ANY)) for name, part in value.items()}
    return value


def to_cell(value: Any, field_type: FieldType) -> Any:
    """
    Convert a stored JSON value for a column of its type.

    Raises:
        ValueError: it does not match the type.
    """
    match field_type.kind, value:
        case ("text", str()) | ("boolean", bool()):
            return value
        case "integer", int() if not isinstance(value, bool) and -_INT64 <= value < _INT64:
            return value
        case "number", int() | float() if not isinstance(value, bool):
            return float(value)
        case "decimal", str() if len(value) <= _MAX_DIGITS and _DIGITS.fullmatch(value):
            return float(value)
        case "date", str() if len(value) == len("2024-05-01"):
            return date.fromisoformat(value)
        case "list", list():
            return [to_cell(part, _item_type(field_type)) for part in value]
        case "map", dict():
            return [(name, to_cell(part, _item_type(field_type))) for name, part in value.items()]
        case "record", dict() if value.keys() <= field_type.members.keys():
            return {name: to_cell(part, field_type.members[name]) for name, part in value.items()}
        case "any", _:
            return orjson.dumps(value).decode()
    raise ValueError(f"{value!r:.80} does not match the type {field_type.kind}")


def _item_type(field_type: FieldType) -> FieldType:
    return field_type.item or ANY


def _parse_cell(text: str, field_type: FieldType) -> Any:
    if field_type is TEXT:
        return text
    if len(text) > _MAX_DIGITS:
        raise ValueError("has too many digits")
    if field_type is INTEGER:
        return to_cell(int(text), INTEGER)
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("is not a finite number")
    return number


def _cell_bytes(value: Any, field_type: FieldType | None) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if field_type in (INTEGER, DECIMAL):
        return _number_text(value).encode()
    return orjson.dumps(value)


def _number_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        raise TypeError(f"{value!r:.80} is not a number")
    number = value if isinstance(value, Decimal) else Decimal(repr(value))
    if not number.is_finite():
        raise ValueError(f"{value} is not a finite number")
    return f"{int(number)}" if number == number.to_integral_value() else f"{number:f}"


def _stored_json(value: Any, field_type: FieldType) -> Any:
    """Return a column's value as stored JSON. Values of other types stay unchanged."""
    kind = field_type.kind
    if kind == "decimal" and not isinstance(value, str):
        return _number_text(value)
    if kind in ("integer", "number") and isinstance(value, float | Decimal):
        return int(value) if value == int(value) else float(value)
    if kind == "list" and isinstance(value, list):
        return [_stored_json(part, _item_type(field_type)) for part in value]
    if kind == "map" and isinstance(value, list | dict):
        pairs: Iterable[tuple[str, Any]] = value.items() if isinstance(value, dict) else value
        return {name: _stored_json(part, _item_type(field_type)) for name, part in pairs}
    if kind == "record" and isinstance(value, dict):
        types = field_type.members
        return {
            name: _stored_json(part, types.get(name, ANY))
            for name, part in value.items()
            if part is not None
        }
    return value
