"""Shapes of packed rows are parsed as JSON lists, regardless of what was parsed before."""

import orjson
from hypothesis import given
from hypothesis import strategies as st

from zengraph.tables import _shapes
from zengraph.tables._shapes import columns_of, numbers_in, numbers_of, shape_of

NAMES = st.binary(max_size=4) | st.sampled_from(
    [b"a", b"b", b"c", b'a","b', b"\\", b"\x7f", b"\xe4"]
)
COLUMNS = st.lists(NAMES, unique=True, max_size=6).map(sorted)


def json_of(columns):
    return orjson.dumps([column.decode("latin-1") for column in columns])


@given(COLUMNS)
def test_shape_is_a_json_list_and_round_trips(columns):
    assert shape_of(columns) == json_of(columns)
    assert columns_of(shape_of(columns)) == columns


@given(st.lists(COLUMNS, max_size=12), st.lists(NAMES, max_size=3).map(tuple))
def test_columns_are_found_after_parsing_other_shapes(shapes, columns_read):
    for columns in shapes:
        expected = tuple(columns.index(c) if c in columns else None for c in columns_read)
        assert numbers_of(json_of(columns), columns_read) == expected


def test_shapes_with_a_unique_column_are_not_parsed_again():
    """Every page stored in a pack has such a column, and reads spent most of their time on parsing."""
    shapes = [shape_of([b"m:a", b"s:rec:%d" % number, b"s:url"]) for number in range(1000)]
    wanted = (b"m:a", b"s:url", b"s:none")
    for shape in shapes[:2]:
        numbers_of(shape, wanted)
    parsed = _shapes._parsed.cache_info().misses

    assert {numbers_of(shape, wanted) for shape in shapes} == {(0, 2, None)}
    assert _shapes._parsed.cache_info().misses == parsed
    assert numbers_of(shapes[7], (*wanted, b"s:rec:7")) == (0, 2, None, 1)
    assert numbers_in(shapes[7])[b"s:rec:7"] == 1
