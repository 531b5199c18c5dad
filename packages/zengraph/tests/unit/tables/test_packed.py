"""Values of packed rows, in the first reads of a shape and in later ones."""

import pytest

from zengraph.tables import Cell
from zengraph.tables._packed import pack, values_of_rows

ROW = {b"m:a": Cell(b"1", 5), b"m:b": Cell(b"", 6), b"s:c": Cell(b"three", 7)}
READS = 20


@pytest.mark.parametrize(
    ("columns", "values"),
    [
        ((b"s:c", b"m:a"), (b"three", b"1")),
        ((b"m:b", b"m:none", b"m:a"), (b"", None, b"1")),
        ((b"m:a",), (b"1",)),
        ((b"m:a", b"m:a"), (b"1", b"1")),
    ],
)
def test_values_are_the_same_however_often_a_shape_was_read(columns, values):
    for _ in range(READS):
        assert values_of_rows([(b"r", pack(ROW))], columns) == {b"r": values}


def test_row_without_any_of_the_columns_is_omitted_however_often_it_was_read():
    for _ in range(READS):
        assert values_of_rows([(b"r", pack(ROW))], (b"m:x", b"m:y")) == {}


def test_rows_of_alternating_shapes_have_their_own_values():
    other = pack({b"m:a": Cell(b"2", 5)})
    rows = [(b"%d" % n, other if n % 2 else pack(ROW)) for n in range(READS)]
    assert values_of_rows(rows, (b"s:c", b"m:a")) == {
        b"%d" % n: (None, b"2") if n % 2 else (b"three", b"1") for n in range(READS)
    }


def test_more_columns_than_a_call_had_arguments_in_old_pythons():
    columns = tuple(b"m:%03d" % n for n in range(600))
    packed = pack({column: Cell(column, 1) for column in columns})
    for _ in range(READS):
        assert values_of_rows([(b"r", packed)], columns) == {b"r": columns}
