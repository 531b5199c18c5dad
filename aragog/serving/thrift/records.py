"""Encode records by hand: the replies to `get` and `getMany`, at half the cost of the library."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import Any

from aragog.serving.thrift.contract import Encoded
from aragog.serving.thrift.wire import written
from aragog.urlstore.records import FieldValues

_length = Struct(">i").pack
_SUCCESS_STRUCT = b"\x0c\x00\x00"
_SUCCESS_LIST = b"\x0f\x00\x00\x0c"
_URL, _CANONICAL, _FIELDS, _VERSION = (
    b"\x0b\x00\x01", b"\x0b\x00\x02", b"\x0d\x00\x03\x0b\x0b", b"\x0b\x00\x04",
)  # fmt: skip
_STANDBY = b"\x02\x00\x09\x01"
_STOP = b"\x00"
_FOUND = b"\x08\x00\x01\x00\x00\x00\x00\x0c\x00\x02"
_COUNT_AT = 7
_SHORT = 1024
_LENGTHS = [_length(size) for size in range(_SHORT)]
_STATUS = b"\x08\x00\x01"
_MESSAGE = b"\x0b\x00\x03"


def one(
    values: FieldValues,
    fields: tuple[str, ...],
    *,
    from_standby: bool = False,
    more: Any = None,
) -> Encoded:
    """The value of `get`; `more` is a Record with further members."""
    found = record(values, fields, from_standby=from_standby)
    if more is not None:
        found = found[: -len(_STOP)] + written(more)
    return Encoded(_SUCCESS_STRUCT + found)


def many(results: Iterable[bytes], count: int) -> Encoded:
    """The value of `getMany`: results that `found` and `absent` made."""
    return Encoded(b"".join((_SUCCESS_LIST, _length(count), *results)))


def found(values: FieldValues, fields: tuple[str, ...], *, from_standby: bool = False) -> bytes:
    """A RecordResult with its record."""
    return _FOUND + record(values, fields, from_standby=from_standby) + _STOP


def wrapped(value: Encoded) -> bytes:
    """A RecordResult with what `one` made."""
    return _FOUND + value[len(_SUCCESS_STRUCT) :] + _STOP


def absent(status: int, message: str) -> bytes:
    """A RecordResult without a record."""
    text = message.encode()
    return b"".join((_STATUS, _length(status), _MESSAGE, _length(len(text)), text, _STOP))


def record(values: FieldValues, fields: tuple[str, ...], *, from_standby: bool = False) -> bytes:
    """A Record struct. 2 µs for four fields: no call for each value."""
    canonical = values.canonical_url.encode()
    url = canonical if values.url is values.canonical_url else values.url.encode()
    version = values.version
    parts = [
        _URL, _length(len(url)), url,
        _CANONICAL, _length(len(canonical)), canonical,
        _FIELDS, b"",
    ]  # fmt: skip
    for name, value in zip(_names(fields), values.values):  # noqa: B905 - one value a field
        if value is not None:
            size = len(value)
            parts += (name, _LENGTHS[size] if size < _SHORT else _length(size), value)
    parts[_COUNT_AT] = _length((len(parts) - _COUNT_AT - 1) // 3)
    parts += (_VERSION, _length(len(version)), version, _STANDBY if from_standby else b"", _STOP)
    return b"".join(parts)


@lru_cache(maxsize=1024)
def _names(fields: tuple[str, ...]) -> tuple[bytes, ...]:
    """Each field's name with its length."""
    return tuple(_length(len(name := field.encode())) + name for field in fields)
