"""Shapes of packed rows are parsed as JSON lists, regardless of what was parsed before."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from zengraph.tables import _shapes
from zengraph.tables._shapes import make_shape, parse_columns, parse_numbers, read_numbers

NAMES = st.binary(max_size=4) | st.sampled_from(
    [b"a", b"b", b"c", b'a","b', b"\\", b"\x7f", b"\xe4"]
)
COLUMNS = st.lists(NAMES, unique=True, max_size=6).map(sorted)


def json_of(columns):
    return orjson.dumps([column.decode("latin-1") for column in columns])


@given(COLUMNS)
def test_shape_is_a_json_list_and_round_trips(columns):
    assert make_shape(columns) == json_of(columns)
    assert parse_columns(make_shape(columns)) == columns


@given(st.lists(COLUMNS, max_size=12), st.lists(NAMES, max_size=3).map(tuple))
def test_columns_are_found_after_parsing_other_shapes(shapes, columns_read):
    for columns in shapes:
        expected = tuple(columns.index(c) if c in columns else None for c in columns_read)
        assert read_numbers(json_of(columns), columns_read) == expected


def test_shapes_with_a_unique_column_are_not_parsed_again():
    """Every page stored in a pack has such a column, and reads spent most of their time on parsing."""
    shapes = [make_shape([b"m:a", b"s:rec:%d" % number, b"s:url"]) for number in range(1000)]
    wanted = (b"m:a", b"s:url", b"s:none")
    for shape in shapes[:2]:
        read_numbers(shape, wanted)
    parsed = _shapes._parse.cache_info().misses

    assert {read_numbers(shape, wanted) for shape in shapes} == {(0, 2, None)}
    assert _shapes._parse.cache_info().misses == parsed
    assert read_numbers(shapes[7], (*wanted, b"s:rec:7")) == (0, 2, None, 1)
    assert parse_numbers(shapes[7])[b"s:rec:7"] == 1
