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
    """A Record struct."""
    url, canonical = values.url.encode(), values.canonical_url.encode()
    parts: list[bytes] = []
    for name, value in zip(_names(fields), values.values, strict=True):
        if value is not None:
            parts += (name, _length(len(value)), value)
    return b"".join(
        (
            _URL, _length(len(url)), url,
            _CANONICAL, _length(len(canonical)), canonical,
            _FIELDS, _length(len(parts) // 3), *parts,
            _VERSION, _length(len(values.version)), values.version,
            _STANDBY if from_standby else b"", _STOP,
        )
    )  # fmt: skip


@lru_cache(maxsize=1024)
def _names(fields: tuple[str, ...]) -> tuple[bytes, ...]:
    """Each field's name with its length."""
    return tuple(_length(len(name := field.encode())) + name for field in fields)
