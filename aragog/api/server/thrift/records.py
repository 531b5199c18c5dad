"""Records as structs of the contract, and as the encoded replies to `get` and `getMany`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Any

from aragog.api.server.thrift.contract import Encoded, idl
from aragog.api.server.thrift.wire import encode_struct, encode_structs
from aragog.urlstore.records import FieldValues

_length = Struct(">i").pack
_SUCCESS_STRUCT = b"\x0c\x00\x00"
_SUCCESS_LIST = b"\x0f\x00\x00\x0c"


def record(
    values: FieldValues, fields: Sequence[str], *, from_standby: bool = False, **facts: Any
) -> Any:
    """
    A Record.

    Args:
        values: as the store has them.
        fields: their names, in the same order; those whose value is None are left out.
        from_standby: the standby has answered.
        facts: the members that only `facts` asks for.
    """
    present = dict(zip(fields, values.values, strict=True))
    if None in values.values:
        present = {name: value for name, value in present.items() if value is not None}
    standby = from_standby or None
    return idl.Record(
        values.url, values.canonical_url, present, values.version, from_standby=standby, **facts
    )


def one(value: Any) -> Encoded:
    """The value of `get`: a Record."""
    return Encoded(_SUCCESS_STRUCT + encode_struct(value))


def many(encoded: Iterable[bytes], count: int) -> Encoded:
    """The value of `getMany`, from what `results` and `absent` made."""
    return Encoded(b"".join((_SUCCESS_LIST, _length(count), *encoded)))


def results(records: Iterable[Any], unknown: Any) -> list[bytes]:
    """A RecordResult for each Record; `unknown` for None."""
    ok = idl.ItemStatus.OK
    return encode_structs(
        unknown if value is None else idl.RecordResult(ok, value) for value in records
    )


def absent(status: int, message: str) -> Any:
    """A RecordResult without a record."""
    return idl.RecordResult(status, message=message)
