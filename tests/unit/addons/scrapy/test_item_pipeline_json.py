"""Item values as JSON."""

import numbers
from collections import UserString, deque
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum
from fractions import Fraction
from pathlib import PurePosixPath
from types import MappingProxyType

import pytest
import scrapy
from parsel import Selector
from scrapy.http import HtmlResponse

from aragog.addons.scrapy.item_pipeline import value_json


class Lamp(scrapy.Item):
    price = scrapy.Field()


@dataclass
class Chair:
    price: object = 1


class Size(IntEnum):
    SMALL = 1


class Raw(Enum):
    RED = b"red"


class Ratio(float):
    """Similar to `numpy.float64`."""

    __slots__ = ()


class Count:
    """Similar to `numpy.int64`."""

    def __init__(self, value):
        self._value = value

    def __int__(self):
        return self._value


numbers.Integral.register(Count)


class Page:
    """An arbitrary object of a spider."""

    def __str__(self):
        return "<Page>"


def endless():
    values = []
    values.append(values)
    return values


@pytest.mark.parametrize(
    ("value", "expected"), [
        ({"a": (1, 2.5)}, b'{"a":[1,2.5]}'),
        ([Lamp(price=1), Chair(Decimal("1.50"))], b'[{"price":1},{"price":"1.50"}]'),
        ({Size.SMALL: Size.SMALL, 2: None}, b'{"1":1,"2":null}'),
        (datetime(2026, 1, 2, tzinfo=UTC), b'"2026-01-02T00:00:00+00:00"'),
        (Ratio(0.5), b"0.5"),
        (deque([1, 2]), b"[1,2]"),
        ({"b": 1}.values(), b"[1]"),
        ({"b": 1}.keys(), b'["b"]'),
        (MappingProxyType({"a": Decimal(2)}), b'{"a":"2"}'),
        (Fraction(1, 3), b'"1/3"'),
        (UserString("lamp"), b'"lamp"'),
        (PurePosixPath("a/b"), b'"a/b"'),
        (Count(7), b"7"),
        (True, b"true"),
    ]
)  # fmt: skip
def test_values_are_serialized_recursively(value, expected):
    assert value_json(value) == expected


def test_equal_sets_have_equal_json():
    one, other = {0, 8}, {8, 0}
    assert [*one] != [*other], "the sets must iterate in different orders"

    assert value_json(one) == value_json(other)


@pytest.mark.parametrize(
    "value", [
        2**70, b"abc", bytearray(b"abc"), memoryview(b"abc"), Raw.RED,
        float("nan"), float("-inf"), Ratio("nan"), "\ud800", endless(),
    ]
)  # fmt: skip
@pytest.mark.parametrize(
    "within", [lambda v: v, lambda v: [v], lambda v: {"a": v}, lambda v: Lamp(price=v), Chair]
)
def test_unserializable_value_is_refused(value, within):
    with pytest.raises(ValueError):
        value_json(within(value))


@pytest.mark.parametrize("key", [float("nan"), b"a", (1, 2), "\ud800", 2**70])
def test_unserializable_key_is_refused(key):
    with pytest.raises(ValueError):
        value_json({key: 1})


@pytest.mark.parametrize(
    "value", [
        Selector("<p>lamp"), Selector("<p>lamp").css("p"), Selector("<p>lamp").root,
        HtmlResponse("http://a.test/"), scrapy.Request("http://a.test/"), Page(), Page, object(),
        (n for n in range(3)), iter([1]), len, ValueError("no price"), 1j,
    ]
)  # fmt: skip
@pytest.mark.parametrize("within", [lambda v: v, lambda v: [v], lambda v: {"a": (v,)}, Chair])
def test_error_for_an_arbitrary_object_names_its_type(value, within):
    kind = type(value[0] if isinstance(value, list) else value)

    with pytest.raises(ValueError, match=kind.__qualname__):
        value_json(within(value))
