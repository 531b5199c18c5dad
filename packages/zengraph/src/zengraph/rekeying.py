"""
Replace node ids in rows that are copied into tables of another format.

Ordering keys belong to the caller, so ids in them are not replaced. Rows without ids are unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping

from zengraph._codec import ID_BYTES, bucket_of
from zengraph._indexes import ID_COLUMN, OWNER_COLUMN
from zengraph._leases import Lease
from zengraph.tables import Cell, Row

_EXPIRY_BYTES = 8


def find_ids(table: str, key: bytes, row: Row) -> tuple[bytes, ...]:
    """Return the node ids in a row's key or, for a unique value's row, its owner's id."""
    if table in ("n", "o"):
        return (key,)
    if table == "e":
        return key[:ID_BYTES], key[-ID_BYTES:]
    if table in ("d", "h", "i"):
        return (key[-ID_BYTES:],)
    owner = Lease.of(row, OWNER_COLUMN) if table == "u" else None
    return (owner.holder,) if owner else ()


def rekey_row(
    table: str, key: bytes, row: Row, new_ids: Mapping[bytes, bytes]
) -> tuple[bytes, Row]:
    """Return a row with ids replaced as `new_ids` says; other ids stay."""
    ids = [new_ids.get(old, old) for old in find_ids(table, key, row)]
    if table in ("n", "o"):
        return ids[0], row
    if table == "e":
        return ids[0] + key[ID_BYTES:-ID_BYTES] + ids[1], row
    if table in ("d", "h", "i"):
        moved = bytes([bucket_of(ids[0])]) + key[1:-ID_BYTES] + ids[0]
        return moved, _replace_value(row, ID_COLUMN, ids[0]) if ID_COLUMN in row else row
    if ids:
        expiry = row[OWNER_COLUMN].value[:_EXPIRY_BYTES]
        return key, _replace_value(row, OWNER_COLUMN, expiry + ids[0])
    return key, row


def _replace_value(row: Row, column: bytes, value: bytes) -> Row:
    return {**row, column: Cell(value, row[column].at_ms)}
