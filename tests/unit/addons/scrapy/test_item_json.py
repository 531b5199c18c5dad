"""The values of items as JSON."""

from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from enum import Enum, IntEnum

import pytest
import scrapy

from aragog.addons.scrapy.item_json import value_json


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
    """Such as `numpy.float64`."""

    __slots__ = ()


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
    ]
)  # fmt: skip
def test_values_have_the_json_of_their_parts(value, expected):
    assert value_json(value) == expected


def test_equal_sets_have_equal_json():
    one, other = {0, 8}, {8, 0}
    assert [*one] != [*other], "the two are iterated in different orders"

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
def test_a_value_without_json_is_refused(value, within):
    with pytest.raises(ValueError):
        value_json(within(value))


@pytest.mark.parametrize("key", [float("nan"), b"a", (1, 2), "\ud800", 2**70])
def test_a_key_without_json_is_refused(key):
    with pytest.raises(ValueError):
        value_json({key: 1})
