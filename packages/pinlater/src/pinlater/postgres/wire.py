"""
Statements' arguments and results in PostgreSQL's binary format.

An argument is a pair of its type's object id and its bytes. Batches are arrays, so the statement is
the same for any number of jobs.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

Argument = tuple[int, bytes | None]

BOOL, BYTEA, INT8, INT2, INT4, TEXT, FLOAT8 = 16, 17, 20, 21, 23, 25, 701
_ARRAY_TYPES = {BYTEA: 1001, INT2: 1005, INT4: 1007, TEXT: 1009, INT8: 1016}
_INTEGERS = {INT2: "!h", INT4: "!i", INT8: "!q"}
_LENGTH = struct.Struct("!i")
MAX_INT8 = (1 << 63) - 1


def text(value: str) -> Argument:
    """Return a string as an argument."""
    return TEXT, value.encode()


def blob(value: bytes) -> Argument:
    """Return bytes as an argument."""
    return BYTEA, value


def int4(value: int) -> Argument:
    """Return a 32-bit number as an argument."""
    return INT4, struct.pack("!i", value)


def int8(value: int) -> Argument:
    """Return a 64-bit number as an argument; clamps it to the range."""
    return INT8, struct.pack("!q", max(-MAX_INT8, min(value, MAX_INT8)))


def float8(value: float) -> Argument:
    """Return a floating point number as an argument."""
    return FLOAT8, struct.pack("!d", value)


def int8s(values: Iterable[int]) -> Argument:
    """Return an array of 64-bit numbers as an argument."""
    return _integers(INT8, values)


def int4s(values: Iterable[int]) -> Argument:
    """Return an array of 32-bit numbers as an argument."""
    return _integers(INT4, values)


def int2s(values: Iterable[int]) -> Argument:
    """Return an array of 16-bit numbers as an argument."""
    return _integers(INT2, values)


def _integers(kind: int, values: Iterable[int]) -> Argument:
    pack = struct.Struct(_INTEGERS[kind]).pack
    return _array(kind, [pack(value) for value in values])


def texts(values: Iterable[str]) -> Argument:
    """Return an array of strings as an argument."""
    return _array(TEXT, [value.encode() for value in values])


def blobs(values: Iterable[bytes | None]) -> Argument:
    """Return an array of bytes as an argument; None is NULL."""
    return _array(BYTEA, list(values))


def _array(kind: int, items: Sequence[bytes | None]) -> Argument:
    if not items:
        return _ARRAY_TYPES[kind], struct.pack("!iii", 0, 0, kind)
    length = _LENGTH.pack
    parts = [struct.pack("!iiiii", 1, int(None in items), kind, len(items), 1)]
    for item in items:
        parts += (length(-1),) if item is None else (length(len(item)), item)
    return _ARRAY_TYPES[kind], b"".join(parts)


def _decode_int(data: bytes) -> int:
    return int.from_bytes(data, "big", signed=True)


def _decode_int8s(data: bytes) -> list[int]:
    if not _decode_int(data[:4]):
        return []
    return [_decode_int(data[start : start + 8]) for start in range(24, len(data), 12)]


_DECODERS: Mapping[int, Callable[[bytes], Any]] = {
    BOOL: lambda data: data != b"\0",
    INT2: _decode_int,
    INT4: _decode_int,
    INT8: _decode_int,
    TEXT: bytes.decode,
    _ARRAY_TYPES[INT8]: _decode_int8s,
}


def decoder(kind: int) -> Callable[[bytes], Any]:
    """Return the function that decodes a type's values; values of other types stay bytes."""
    return _DECODERS.get(kind, bytes)
