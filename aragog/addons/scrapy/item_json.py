"""The values of items as JSON, which is the format of extracted fields. Pure."""

from __future__ import annotations

import math
from collections.abc import Mapping
from enum import Enum
from typing import Any

import orjson
from itemadapter import ItemAdapter


def value_json(value: Any) -> bytes:
    """
    Return a value as JSON: items and dicts as objects, sequences and sets as arrays.

    Other objects, such as `Decimal`, are written as their text. Equal sets have equal JSON.

    Raises:
        ValueError: JSON has no such value: bytes, NaN and infinity, numbers of more than 64 bits,
            lone surrogates in text, more than 254 levels.
    """
    try:
        return _dumps(_plain(value))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _dumps(plain: Any) -> bytes:
    return orjson.dumps(plain, default=str, option=orjson.OPT_NON_STR_KEYS)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise ValueError("bytes have no JSON: decode them, or write them as base64")  # noqa: TRY004
    if ItemAdapter.is_item(value):
        return _plain_table(ItemAdapter(value))
    if isinstance(value, set | frozenset):
        # The order of a set differs between processes, and would look like a change.
        return sorted((_plain(each) for each in value), key=_dumps)
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value


def _plain_table(table: Mapping[Any, Any]) -> dict[Any, Any]:
    return {
        _finite(key) if isinstance(key, float) else key: _plain(each) for key, each in table.items()
    }


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} has no JSON: use None, or leave the field out")
    return float(value)  # orjson does not know subclasses, such as NumPy's
