"""Tests of compare-and-put and of counters (`CellTable.check_and_put`, `CellTable.incr`)."""

from __future__ import annotations

import pytest

from zengraph.errors import InvalidArgument
from zengraph.tables import Tables

# SQLite packs the rows of the first table, but not those of the second.
BOTH = pytest.mark.parametrize("name", ["n", "e"])
FAMILY = {"n": b"m:", "e": b"p:"}


class CheckAndPutContract:
    """Part of `CellTableContract`."""

    @BOTH
    def test_check_and_put_writes_only_over_the_expected_value(
        self, tables: Tables, name: str
    ) -> None:
        a, table = FAMILY[name] + b"a", tables[name]

        assert table.check_and_put(b"r", a, None, b"1")
        assert not table.check_and_put(b"r", a, None, b"2")
        assert not table.check_and_put(b"r", a, b"0", b"2")
        assert table.check_and_put(b"r", a, b"1", b"3")
        assert table.get(b"r")[a].value == b"3"

    @BOTH
    def test_check_and_put_rejects_empty_values(self, tables: Tables, name: str) -> None:
        a, table = FAMILY[name] + b"a", tables[name]

        for expected, value in ((b"", b"1"), (None, b""), (b"1", b"")):
            with pytest.raises(InvalidArgument):
                table.check_and_put(b"r", a, expected, value)
        assert table.get(b"r") == {}

    @BOTH
    def test_check_and_put_many_returns_results_in_order(self, tables: Tables, name: str) -> None:
        a, table = FAMILY[name] + b"a", tables[name]
        table.check_and_put(b"\x01", a, None, b"1")

        done = table.check_and_put_many(
            [(b"\x09", a, None, b"9"), (b"\x01", a, None, b"2"), (b"\x01", a, b"1", b"3")]
        )

        assert done == [True, False, True]

    @BOTH
    def test_a_check_sees_the_put_of_the_previous_one(self, tables: Tables, name: str) -> None:
        a, b, table = FAMILY[name] + b"a", FAMILY[name] + b"b", tables[name]
        row, other = b"\x01", b"\x02"

        done = table.check_and_put_many(
            [(row, a, None, b"1"), (other, a, None, b"8"), (row, a, b"1", b"2"),
             (row, b, None, b"9"), (row, a, b"1", b"3"), (other, b, b"1", b"9")]
        )  # fmt: skip

        assert done == [True, True, True, True, False, False]
        assert {column: cell.value for column, cell in table.get(row).items()} == {a: b"2", b: b"9"}
        assert {column: cell.value for column, cell in table.get(other).items()} == {a: b"8"}

    @BOTH
    def test_a_counter_counts_up_and_down(self, tables: Tables, name: str) -> None:
        c, table = {"n": b"c:links", "e": b"p:links"}[name], tables[name]

        assert table.incr(b"r", c, 5) == 5
        assert table.incr(b"r", c, -7) == -2
        assert table.get(b"r")[c].value == (-2).to_bytes(8, signed=True)
