"""NumPy values in items."""

import pytest

from aragog.addons.scrapy.item_pipeline import value_json

numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize(
    ("value", "expected"), [
        (numpy.bool_(True), b"true"),
        ({"in_stock": numpy.bool_(False)}, b'{"in_stock":false}'),
        (numpy.int64(7), b"7"),
        (numpy.float32(0.5), b"0.5"),
        (numpy.str_("lamp"), b'"lamp"'),
        (numpy.datetime64("2026-01-02"), b'"2026-01-02"'),
        (numpy.datetime64("2026-01-02T03:04:05.123456789"), b'"2026-01-02T03:04:05.123456789"'),
        (numpy.array([1.5, 2]), b"[1.5,2.0]"),
        (numpy.array([[True], [False]]), b"[[true],[false]]"),
        (numpy.array(3), b"3"),
        ({numpy.int64(7): 2, numpy.bool_(True): 3, numpy.str_("a"): 4}, b'{"7":2,"true":3,"a":4}'),
    ]
)  # fmt: skip
def test_numpy_values_have_the_same_json_as_python_values(value, expected):
    assert value_json(value) == expected


@pytest.mark.parametrize(
    "value", [
        numpy.float64("nan"), numpy.float32("inf"), numpy.array([float("nan")]), numpy.bytes_(b"a"),
        numpy.datetime64("NaT"), numpy.complex128(1j), numpy.array([b"a"]),
    ]
)  # fmt: skip
def test_unserializable_numpy_values_are_refused(value):
    with pytest.raises(ValueError):
        value_json(value)
