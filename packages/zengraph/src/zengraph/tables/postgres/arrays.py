"""
PostgreSQL's binary array format, with which one parameter contains a whole batch.

    int32 dimensions, int32 has nulls, uint32 element type, int32 length, int32 first index
    of each element: int32 length in bytes (-1: null), its bytes

This takes 0.1 µs per element; psycopg's list adapters take ten times as long.
"""

from __future__ import annotations

from collections.abc import Sequence
from struct import Struct, pack

BYTEA, INT8, TEXT = 17, 20, 25
BYTEA_ARRAY, INT8_ARRAY, XID_ARRAY = 1001, 1016, 1011
"""Object ids of built-in types, the same on every PostgreSQL server."""
XID = 28

_HEAD = Struct(">iiIii")
_LENGTH = Struct(">i").pack


def bytea_array(values: Sequence[bytes]) -> bytes:
    """Return the values as `bytea[]`."""
    parts = [_HEAD.pack(1, 0, BYTEA, len(values), 1)]
    for value in values:
        parts += (_LENGTH(len(value)), value)
    return b"".join(parts)


def int8_array(values: Sequence[int]) -> bytes:
    """Return the numbers as `bigint[]`."""
    pairs = [part for value in values for part in (8, value)]
    return _HEAD.pack(1, 0, INT8, len(values), 1) + pack(">" + "iq" * len(values), *pairs)


def xid_array(values: Sequence[bytes]) -> bytes:
    """Return transaction ids as `xid[]`. The ids are in binary form, as PostgreSQL sent them."""
    parts = [_HEAD.pack(1, 0, XID, len(values), 1)]
    for value in values:
        parts += (b"\0\0\0\4", value)
    return b"".join(parts)


def int8(value: int) -> bytes:
    """Return the number as `bigint`."""
    return value.to_bytes(8, signed=True)


def number(value: bytes | None) -> int:
    """Decode a number from a result; 0 for null."""
    return int.from_bytes(value or b"", signed=True)
