"""
Converts the bytes of fields to JSON and back without loss.

A field is stored as bytes. Its declared format says what they mean; without one, they are text.
Bytes that do not fit the field's format become `{"base64": "..."}`.

| format | bytes | JSON |
|---|---|---|
| text | UTF-8 | a string |
| integer | decimal digits | a number with exactly these digits |
| decimal | decimal digits | a string with exactly these characters |
| json | JSON in UTF-8 | the same JSON, byte for byte |
| bytes | anything | `{"base64": "..."}` |
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Any, Literal, cast

import orjson

from aragog.errors import InvalidField
from richpins import page_types

Format = Literal["text", "integer", "decimal", "json", "bytes"]

# The values of these fields are JSON (`richpins.rich_pins`; `site`: aragog/pages/selectors.py;
# `items`: aragog/pages/items.py). The last three are reserved for page types that are not extracted
# yet.
EXTRACTED = frozenset(
    {"page", "site", "items", *page_types.NAMES, "person", "organization", "event"}
)


DECIMAL_FIELDS = frozenset(
    ["product.price", "product.price_high", "product.list_price", "app.price"]
)
"""Rich Pin fields whose value is a JSON string with a decimal number."""


def is_extracted(name: str) -> bool:
    """Return True if the extractor writes the field."""
    return name.partition(".")[0] in EXTRACTED


def patterns(name: str) -> Iterator[str]:
    """Yield the keys that may declare a field's format: first its name, then each `prefix.*`."""
    yield name
    while "." in name:
        name = name.rpartition(".")[0]
        yield f"{name}.*"


_INTEGER = re.compile(rb"0|-?[1-9][0-9]*")
_DECIMAL = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True, repr=False)
class Number:
    """A JSON number that is not an integer, with all its digits."""

    text: str

    def __repr__(self) -> str:
        return self.text


class FieldFormats:
    """
    The field registry: the format of each field.

    Args:
        declared: format by field name or `prefix.*` (`store.field_formats`); overrides the
            formats of extracted fields.
    """

    def __init__(self, declared: Mapping[str, str] | None = None) -> None:
        self._declared = {f"{kind}.*": "json" for kind in EXTRACTED} | dict(declared or {})
        self.of = lru_cache(maxsize=4096)(self._of)

    def _of(self, name: str) -> Format:
        formats = (self._declared.get(pattern) for pattern in patterns(name))
        return cast("Format", next(filter(None, formats), "text"))

    def to_json(self, name: str, value: bytes) -> Any:
        """Return the JSON value of a field's bytes, for `orjson.dumps`; see the table above."""
        reader = _READERS[self.of(name)]
        try:
            return reader(value)
        except ValueError:
            return _base64(value)

    def to_value(self, name: str, value: bytes) -> Any:
        """
        Like `to_json`, but for `json.dumps`: integers may have any length.

        `orjson.dumps` rejects integers above 64 bits.
        """
        kind = self.of(name)
        try:
            if kind == "json":
                return json.loads(value)
            decoded = _READERS[kind](value)
            return int(value) if kind == "integer" else decoded
        except (ValueError, RecursionError):
            return _base64(value)

    def decode(self, name: str, value: bytes) -> Any:
        """
        Return a field's value: `str`, `int`, `Decimal`, or parsed JSON.

        JSON numbers that are not integers become `Decimal`, and so do Rich Pin prices. Bytes that
        do not fit the format stay bytes.
        """
        kind = self.of(name)
        try:
            if kind == "json":
                decoded = json.loads(value, parse_float=Decimal, parse_constant=_reject_constant)
                return Decimal(decoded) if name in DECIMAL_FIELDS else decoded
            return _DECODERS[kind](value)
        except (ValueError, TypeError, RecursionError, InvalidOperation):
            return value

    def from_json(self, name: str, value: Any) -> bytes:
        """
        Return the bytes that store a JSON value (from `parse`) in a field.

        Raises:
            InvalidField: the value does not fit the field's format.
        """
        if isinstance(value, dict) and value.keys() == {"base64"}:
            return _from_base64(name, value["base64"])
        kind = self.of(name)
        try:
            return _WRITERS[kind](value)
        except (ValueError, TypeError) as error:
            raise InvalidField(name, f"its format is {kind}: {error}") from error


def parse(text: bytes) -> Any:
    """
    Parse JSON, keeping every digit. Integers have any length, and other numbers are `Number`.

    Raises:
        ValueError: the text is not JSON in UTF-8, is nested too deeply, or a number is too long.
    """
    try:
        return json.loads(text.decode(), parse_float=Number, parse_constant=_reject_constant)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _reject_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _base64(value: bytes) -> dict[str, str]:
    return {"base64": base64.b64encode(value).decode()}


def _from_base64(name: str, text: Any) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError, TypeError) as error:
        raise InvalidField(name, f"base64: {error}") from error


def _read_json(value: bytes) -> orjson.Fragment:
    orjson.loads(value)
    return orjson.Fragment(value)


def _read_integer(value: bytes) -> orjson.Fragment:
    if not _INTEGER.fullmatch(value):
        raise ValueError("not an integer")
    return orjson.Fragment(value)


def _read_decimal(value: bytes) -> str:
    if not _DECIMAL.fullmatch(value):
        raise ValueError("not a decimal number")
    return value.decode()


def _write_text(value: Any) -> bytes:
    if not isinstance(value, str):
        raise TypeError('write a string, or {"base64": "..."}')
    return value.encode()


def _write_integer(value: Any) -> bytes:
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError("write a whole number")
    return str(value).encode()


def _write_decimal(value: Any) -> bytes:
    if isinstance(value, Number):
        value = value.text
    text = str(value).encode() if isinstance(value, str | int) else b""
    if isinstance(value, bool) or not _DECIMAL.fullmatch(text):
        raise TypeError('write a number or a string such as "1.10"')
    return text


def json_bytes(value: Any) -> bytes:
    """
    Serialize what `parse` returned as JSON without spaces; numbers keep their digits.

    Raises:
        ValueError: the value is nested too deeply, or has a lone surrogate.
    """
    parts: list[str] = []
    try:
        _write_part(value, parts.append)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    return "".join(parts).encode()


def _write_part(value: Any, write: Callable[[str], None]) -> None:
    if isinstance(value, Number):
        write(value.text)
    elif isinstance(value, dict):
        separator = "{"
        for name, item in value.items():
            write(f"{separator}{json.dumps(name, ensure_ascii=False)}:")
            _write_part(item, write)
            separator = ","
        write("}" if value else "{}")
    elif isinstance(value, list):
        separator = "["
        for item in value:
            write(separator)
            _write_part(item, write)
            separator = ","
        write("]" if value else "[]")
    else:
        write(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _write_bytes(_value: Any) -> bytes:
    raise TypeError('write {"base64": "..."}')


_READERS: dict[Format, Callable[[bytes], Any]] = {
    "text": bytes.decode,
    "integer": _read_integer,
    "decimal": _read_decimal,
    "json": _read_json,
    "bytes": _base64,
}
_DECODERS: dict[Format, Callable[[bytes], Any]] = {
    "text": bytes.decode,
    "integer": int,
    "decimal": lambda value: Decimal(value.decode()),
    "bytes": bytes,
}
_WRITERS: dict[Format, Callable[[Any], bytes]] = {
    "text": _write_text,
    "integer": _write_integer,
    "decimal": _write_decimal,
    "json": json_bytes,
    "bytes": _write_bytes,
}
