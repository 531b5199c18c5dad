"""The values of items as JSON, which is the format of extracted fields. Pure."""

from __future__ import annotations

import math
import numbers
from collections import UserString
from collections.abc import Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from datetime import timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from ipaddress import IPv4Address, IPv6Address
from pathlib import PurePath
from typing import Any

import orjson
from itemadapter import ItemAdapter

AS_TEXT = (Decimal, Fraction, timedelta, PurePath, IPv4Address, IPv6Address, UserString)
"""Types that JSON lacks and whose text is the value."""


def value_json(value: Any) -> bytes:
    """
    Return a value as JSON: items and dicts as objects, sequences and sets as arrays.

    Values whose text is all of them (`AS_TEXT`, dates) are written as text. Equal sets have equal
    JSON. Scalars and arrays of NumPy are written as the values of Python that they are.

    Raises:
        ValueError: JSON has no such value: bytes, NaN and infinity, numbers of more than 64 bits,
            lone surrogates in text, more than 254 levels, and objects such as a `Selector`, whose
            text describes them and is not what the page says.
    """
    try:
        return _dumps(_plain(value))
    except (TypeError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _dumps(plain: Any) -> bytes:
    return orjson.dumps(plain, default=_text, option=orjson.OPT_NON_STR_KEYS)


def _text(value: Any) -> str:
    if isinstance(value, AS_TEXT):
        return str(value)
    kind = type(value)
    raise TypeError(
        f"a {kind.__module__}.{kind.__qualname__} has no JSON: store its text or its number, such "
        "as selector.get()"
    )


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return _plain(value.value)
    if isinstance(value, float):
        return _finite(value)
    if isinstance(value, bytes | bytearray | memoryview):
        raise ValueError("bytes have no JSON: decode them, or write them as base64")  # noqa: TRY004
    if isinstance(value, numbers.Real) and not isinstance(value, int | Fraction):
        return _number(value)  # of NumPy
    if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
        return _of_numpy(value)
    if ItemAdapter.is_item(value):
        return _plain_table(ItemAdapter(value))
    if isinstance(value, Mapping):
        return _plain_table(value)
    if isinstance(value, AbstractSet):
        # The order of a set differs between processes, and would look like a change.
        return sorted((_plain(each) for each in value), key=_dumps)
    if isinstance(value, Sequence | ValuesView) and not isinstance(value, str | UserString):
        return [_plain(each) for each in value]
    return value


def _plain_table(table: Mapping[Any, Any]) -> dict[Any, Any]:
    return {_key(key): _plain(each) for key, each in table.items()}


def _key(key: Any) -> Any:
    if isinstance(key, float):
        return _finite(key)
    return _plain(key) if type(key).__module__ == "numpy" else key


def _of_numpy(value: Any) -> Any:
    """A scalar or an array, without importing NumPy."""
    if getattr(value, "ndim", 0):
        return [_plain(each) for each in value]
    if value.dtype.kind in "Mm":  # an instant or a duration, which may be finer than Python's
        if str(value) == "NaT":
            raise ValueError("NaT has no JSON: use None, or leave the field out")
        return str(value)
    plain = value.item()
    return _plain(plain) if type(plain).__module__ == "builtins" else plain


def _number(value: numbers.Real) -> int | float:
    return int(value) if isinstance(value, numbers.Integral) else _finite(float(value))


def _finite(value: float) -> float:
    if not math.isfinite(value):
        raise ValueError(f"{value} has no JSON: use None, or leave the field out")
    return float(value)  # orjson does not know subclasses, such as NumPy's
