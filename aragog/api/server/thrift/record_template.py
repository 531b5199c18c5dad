"""
Encode replies to `get` and `getMany` by filling in a template for each record.

With thriftpy2's encoder, the server would handle a fifth fewer `getMany` calls (docs/adr/0126).
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct
from typing import Any

from aragog.api.server.thrift.contract import EncodedValue
from aragog.api.server.thrift.wire import encode_struct
from aragog.urlstore.records import FieldValues

_pack_length = Struct(">i").pack
_SUCCESS_STRUCT = b"\x0c\x00\x00"
_SUCCESS_LIST = b"\x0f\x00\x00\x0c"
_URL, _CANONICAL, _FIELDS, _VERSION = (
    b"\x0b\x00\x01", b"\x0b\x00\x02", b"\x0d\x00\x03\x0b\x0b", b"\x0b\x00\x04",
)  # fmt: skip
_STANDBY = b"\x02\x00\x09\x01"
_STOP = b"\x00"
_FOUND = b"\x08\x00\x01\x00\x00\x00\x00\x0c\x00\x02"
_TEXT_PLACEHOLDER = b"%b%b"
_CACHED_LENGTHS = 1024
_LENGTHS = [_pack_length(size) for size in range(_CACHED_LENGTHS)]
_STATUS = b"\x08\x00\x01"
_MESSAGE = b"\x0b\x00\x03"


def encode_get(
    values: FieldValues,
    fields: tuple[str, ...],
    *,
    from_standby: bool = False,
    extra_members: Any = None,
) -> EncodedValue:
    """Return the value of `get`. `extra_members` is a Record with additional members."""
    result = encode_record(values, fields, from_standby=from_standby)
    if extra_members is not None:
        result = result[: -len(_STOP)] + encode_struct(extra_members)
    return EncodedValue(_SUCCESS_STRUCT + result)


def encode_get_many(encoded: Iterable[bytes], count: int) -> EncodedValue:
    """Return the value of `getMany`, from encoded RecordResults."""
    return EncodedValue(b"".join((_SUCCESS_LIST, _pack_length(count), *encoded)))


def encode_results(
    records: Iterable[FieldValues | None],
    fields: tuple[str, ...],
    unknown: bytes,
    *,
    from_standby: bool = False,
) -> list[bytes]:
    """Return a RecordResult for each record, and `unknown` for None."""
    template = _FOUND + _template(fields, from_standby) + _STOP
    encoded = []
    for values in records:
        if values is None:
            encoded.append(unknown)
        elif None not in values.values:
            encoded.append(template % _template_values(values, values.values))
        else:
            data = encode_record(values, fields, from_standby=from_standby)
            encoded.append(b"".join((_FOUND, data, _STOP)))
    return encoded


def encode_result(value: EncodedValue) -> bytes:
    """Return a RecordResult with the output of `encode_get`."""
    return _FOUND + value[len(_SUCCESS_STRUCT) :] + _STOP


def encode_missing(status: int, message: str) -> bytes:
    """Return a RecordResult without a record."""
    text = message.encode()
    return b"".join((_STATUS, _pack_length(status), _MESSAGE, _pack_length(len(text)), text, _STOP))


def encode_record(
    values: FieldValues, fields: tuple[str, ...], *, from_standby: bool = False
) -> bytes:
    """Return a Record struct. Filling in the template for four fields takes 1 µs."""
    present_values = values.values
    if None in present_values:
        present = [pair for pair in zip(fields, present_values, strict=True) if pair[1] is not None]
        fields, present_values = tuple(zip(*present, strict=True)) or ((), ())
    return _template(fields, from_standby) % _template_values(values, present_values)


def _template_values(
    values: FieldValues, present_values: tuple[bytes | None, ...]
) -> tuple[bytes | None, ...]:
    """Return lengths and values for `_template`."""
    canonical = values.canonical_url.encode()
    url = canonical if values.url is values.canonical_url else values.url.encode()
    parts: list[bytes | None] = []
    for part in (url, canonical, *present_values, values.version):
        size = len(part)  # type: ignore[arg-type]
        parts.append(_LENGTHS[size] if size < _CACHED_LENGTHS else _pack_length(size))
        parts.append(part)
    return tuple(parts)


@lru_cache(maxsize=256)
def _template(fields: tuple[str, ...], from_standby: bool) -> bytes:
    """Return a template for a Record struct, to be filled with lengths and values."""
    names = [field.encode() for field in fields]
    name_templates = [
        (_pack_length(len(name)) + name).replace(b"%", b"%%") + _TEXT_PLACEHOLDER for name in names
    ]
    count = _pack_length(len(fields)).replace(b"%", b"%%")
    standby = _STANDBY if from_standby else b""
    return b"".join(
        (
            _URL,
            _TEXT_PLACEHOLDER,
            _CANONICAL,
            _TEXT_PLACEHOLDER,
            _FIELDS,
            count,
            *name_templates,
            _VERSION,
            _TEXT_PLACEHOLDER,
            standby,
            _STOP,
        )
    )
