"""
Tests for every engine of `CellTable`.

    class TestMyTables(CellTableContract):
        @pytest.fixture
        def make_tables(self): ...  # returns a function that returns new, empty tables
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zengraph.tables import TABLES, Cell, CellSize, Tables
from zengraph.tables.memory import MemoryTables
from zengraph.testing import examples
from zengraph.testing.cell_table_checks import BOTH, FAMILY, CheckAndPutContract

HISTORIES = 30

ROW = st.sampled_from([b"\x00a", b"\x00b", b"\x11", b"\xff\xff"])
COLUMN = st.sampled_from([b"m:a", b"m:\xc3\xa4", b"s:b"])
VALUE = st.binary(max_size=5)
AT = st.integers(1, 9)
STEP = st.one_of(
    st.tuples(st.just("put"), ROW, st.dictionaries(COLUMN, VALUE, min_size=1), AT),
    st.tuples(st.just("delete"), ROW, st.none() | st.lists(COLUMN, min_size=1), AT),
)


class CellTableContract(CheckAndPutContract):
    """
    The contract for cell tables.

    The subclass provides this fixture:
        make_tables: a function without arguments that returns empty tables. It may be called
            again; the tables from the earlier call are then no longer used.
    """

    @pytest.fixture
    def tables(self, make_tables: Callable[[], Tables]) -> Tables:
        return make_tables()

    @BOTH
    def test_a_row_that_was_put_is_read_with_its_timestamp(self, tables: Tables, name: str) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"

        tables[name].put(b"r1", {a: b"1", b: b""}, at_ms=1000)

        assert tables[name].get(b"r1") == {a: Cell(b"1", 1000), b: Cell(b"", 1000)}
        assert tables[name].get(b"r1", [b]) == {b: Cell(b"", 1000)}
        assert tables[name].get(b"r2") == {}
        assert tables[name].get_many([b"r1", b"r2"], [a]) == {b"r1": {a: Cell(b"1", 1000)}}

    @BOTH
    def test_cells_that_a_guide_shows_to_be_unneeded_may_be_empty(
        self, tables: Tables, name: str
    ) -> None:
        guide, *columns = [FAMILY[name] + b"%02d" % number for number in range(90)]
        cells = {column: b"value of " + column for column in (guide, *columns)}
        tables[name].put_many([(row, cells, 1000) for row in (b"r1", b"r2", b"\xff")])
        tables[name].delete(b"r2", [guide], at_ms=1000)
        skipped = {guide, *columns[::2]}
        calls: set[tuple[bytes, bytes]] = set()

        def unneeded(row: bytes, value: bytes) -> set[bytes]:
            calls.add((row, value))
            return skipped

        rows = tables[name].get_many_needed([b"\xff", b"r1", b"r2", b"r3"], guide, unneeded)

        assert rows.keys() == {b"r1", b"r2", b"\xff"}
        assert rows[b"r2"] == tables[name].get(b"r2")
        for row in (b"r1", b"\xff"):
            assert rows[row].keys() == cells.keys()
            needed = {column: cell for column, cell in rows[row].items() if column not in skipped}
            assert needed == {column: Cell(cells[column], 1000) for column in columns[1::2]}
        assert calls <= {(b"r1", cells[guide]), (b"\xff", cells[guide])}

    @BOTH
    def test_names_of_all_cells_come_with_the_value_of_one(self, tables: Tables, name: str) -> None:
        column, *others = [FAMILY[name] + b"%02d" % number for number in range(5)]
        cells = {one: b"value of " + one for one in (column, *others)}
        rows = [b"r%02d" % number for number in range(40)]
        tables[name].put_many([(row, cells, 1000) for row in rows])
        tables[name].delete(b"r01", [column], at_ms=1000)
        tables[name].delete(b"r02", at_ms=1000)

        found = tables[name].get_many_names([*rows, b"r99"], column)

        assert found.keys() == {*rows} - {b"r02"}
        assert found[b"r01"].keys() == {*others}
        for row in found.keys() - {b"r01"}:
            assert found[row].keys() == cells.keys()
            assert found[row][column].value == cells[column]
            assert {found[row][other].value for other in others} <= {b"", *cells.values()}
        assert tables[name].get_many_names([], column) == {}

    @BOTH
    def test_sizes_match_the_values(self, tables: Tables, name: str) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"
        tables[name].put_many([(b"r1", {a: b"123", b: b""}, 1000), (b"r2", {a: b"1"}, 1000)])
        tables[name].put(b"r1", {a: b"12345"}, at_ms=2000)

        assert tables[name].sizes_many([b"r1", b"r2", b"r3"]) == {
            b"r1": {a: CellSize(5, 2000), b: CellSize(0, 1000)}, b"r2": {a: CellSize(1, 1000)},
        }  # fmt: skip

    @BOTH
    def test_an_extent_is_never_smaller_than_its_row(self, tables: Tables, name: str) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"
        tables[name].put_many([(b"r1", {a: b"123", b: b""}, 1000), (b"r2", {a: b"1"}, 1000)])
        tables[name].put(b"r1", {a: b"12345"}, at_ms=2000)
        tables[name].put(b"r2", {b: bytes(2_000_000)}, at_ms=2000)

        extents = tables[name].extents_many([b"r1", b"r2", b"r3"])

        assert extents.keys() == {b"r1", b"r2"}
        assert 5 <= extents[b"r1"].size_bytes <= 500
        assert 2 <= extents[b"r1"].cells <= 4
        assert extents[b"r2"] == (2_000_001, 2)

    @BOTH
    def test_one_call_puts_and_deletes_different_rows(self, tables: Tables, name: str) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"
        table = tables[name]
        table.put_many([(row, {a: b"old", b: b"old"}, 1000) for row in (b"\0", b"r1", b"\xff")])

        table.put_and_delete_many(
            [(b"r2", {a: b"new"}, 1000), (b"r3", {b: b"new"}, 3000)],
            [(b"\0", None, 1000), (b"r1", [a], 2000), (b"\xff", None, 999)],
        )
        table.put_and_delete_many([], [(b"r3", None, 2999)])

        assert dict(table.scan(b"", None)) == {
            b"r1": {b: Cell(b"old", 1000)},
            b"r2": {a: Cell(b"new", 1000)},
            b"r3": {b: Cell(b"new", 3000)},
            b"\xff": {a: Cell(b"old", 1000), b: Cell(b"old", 1000)},
        }

    @BOTH
    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("limit", [1, 3, 150])
    def test_one_call_gets_a_row_and_then_scans_a_range(
        self, tables: Tables, name: str, limit: int, reverse: bool
    ) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"
        table = tables[name]
        keys = [b"r%03d" % number for number in range(100)]
        table.put_many([(key, {a: key, b: b"x"}, 1000) for key in [b"q", *keys, b"s"]])

        row, scan = table.get_then_scan(b"q", [b], b"r", b"s", limit=limit, reverse=reverse)
        none, empty = table.get_then_scan(b"none", [b], b"t", b"u", limit=limit, reverse=reverse)

        assert row == {b: Cell(b"x", 1000)}
        assert [key for key, _ in scan] == (keys[::-1] if reverse else keys)[:limit]
        assert (none, list(empty)) == ({}, [])

    def test_rows_are_returned_in_the_requested_order(self, tables: Tables) -> None:
        edges = tables["e"]
        edges.put_many([(row, {b"p:a": row, b"p:b": b"x"}, 1000) for row in (b"1", b"2")])

        first, second = ({b"p:a": Cell(row, 1000)} for row in (b"1", b"2"))
        found = edges.get_each([b"2", b"none", b"1", b"2"], [b"p:a"])
        assert found == [second, {}, first, second]
        assert edges.get_each([], [b"p:a"]) == []

    def test_cells_are_found_by_column_prefix(self, tables: Tables) -> None:
        nodes = tables["n"]
        names = ["", "an", "an'", "an\\", "anna", "ännchen", "b", "\N{GRINNING FACE}"]
        columns = sorted(b"m:" + name.encode() for name in names)
        nodes.put(b"r", {column: column[2:] for column in columns} | {b"s:an": b"x"}, at_ms=5)
        nodes.put(b"r\0", {b"m:an": b"other"}, at_ms=5)

        def read(*args: Any) -> list[bytes]:
            row = nodes.get_prefix(b"r", *args)
            assert all(cell == Cell(column[2:], 5) for column, cell in row.items())
            return list(row)

        beginning = [column for column in columns if column.startswith(b"m:an")]
        assert read(b"m:", 99) == columns
        assert read(b"m:an", 99) == beginning
        assert read(b"m:an", 2) == beginning[:2]
        assert read(b"m:an", 2, beginning[1]) == beginning[2:4]
        assert read(b"m:an", 2, beginning[-1]) == []
        assert read(b"m:an'", 9) == [b"m:an'"]
        assert read(b"m:", 9, columns[-1]) == []
        assert read(b"m:x", 9) == read(b"m:", 0) == []
        assert nodes.get_prefix(b"none", b"m:", 9) == {}

    def test_a_row_of_many_megabytes_is_read_and_changed_in_parts(self, tables: Tables) -> None:
        nodes, value = tables["n"], b"x" * 1_000_000
        for number in range(5):
            nodes.put(b"r", {b"m:%d" % number: value, b"m:last": b"%d" % number}, at_ms=number + 1)
        nodes.put(b"r", {b"m:0": b"old"}, at_ms=0)

        assert nodes.get(b"r", [b"m:last", b"m:none"]) == {b"m:last": Cell(b"4", 5)}
        assert nodes.values_many([b"r"], (b"m:last", b"m:none")) == {b"r": (b"4", None)}
        assert nodes.get_many([b"r"], [b"m:3"]) == {b"r": {b"m:3": Cell(value, 4)}}
        assert nodes.sizes_many([b"r"])[b"r"][b"m:0"].size_bytes == len(value)
        assert nodes.check_and_put(b"r", b"s:lock", None, b"me")
        assert nodes.incr(b"r", b"c:1", 7) == 7

        nodes.delete(b"r", [b"m:0", b"m:1", b"m:4"], at_ms=3)
        nodes.put(b"r", {b"m:last": b"new"}, at_ms=9)

        row = nodes.get(b"r")
        shown = {c: cell for c, cell in row.items() if c.startswith(b"m:")}
        assert shown == {
            b"m:2": Cell(value, 3), b"m:3": Cell(value, 4), b"m:4": Cell(value, 5),
            b"m:last": Cell(b"new", 9),
        }  # fmt: skip
        assert (row[b"s:lock"].value, row[b"c:1"].value) == (b"me", (7).to_bytes(8))
        nodes.delete(b"r", at_ms=2**53)
        assert nodes.get(b"r") == {}

    @BOTH
    def test_the_larger_timestamp_wins_in_any_order(self, tables: Tables, name: str) -> None:
        a = FAMILY[name] + b"a"
        tables[name].put(b"r", {a: b"new"}, at_ms=2000)

        tables[name].put(b"r", {a: b"old"}, at_ms=1000)

        assert tables[name].get(b"r") == {a: Cell(b"new", 2000)}

    @BOTH
    def test_the_later_call_wins_for_equal_timestamps(self, tables: Tables, name: str) -> None:
        a = FAMILY[name] + b"a"

        tables[name].put_many([(b"r", {a: b"1"}, 1000), (b"q", {a: b"0"}, 1000)])
        tables[name].put(b"r", {a: b"2"}, at_ms=1000)

        assert tables[name].get(b"r") == {a: Cell(b"2", 1000)}

    @BOTH
    def test_a_delete_keeps_newer_cells(self, tables: Tables, name: str) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"
        tables[name].put(b"r", {a: b"1"}, at_ms=1500)
        tables[name].put(b"r", {b: b"2"}, at_ms=2000)

        tables[name].delete(b"r", at_ms=1500)

        assert tables[name].get(b"r") == {b: Cell(b"2", 2000)}

    @BOTH
    def test_a_delete_of_columns_keeps_the_others(self, tables: Tables, name: str) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"
        tables[name].put(b"r", {a: b"1", b: b"2"}, at_ms=1000)
        tables[name].put(b"s", {a: b"1"}, at_ms=1000)

        tables[name].delete_many([(b"r", [a], 1000), (b"s", [a], 1000), (b"t", None, 1000)])

        assert tables[name].get(b"r") == {b: Cell(b"2", 1000)}
        assert list(tables[name].scan(b"", None)) == [(b"r", {b: Cell(b"2", 1000)})]

    @BOTH
    def test_a_put_with_a_later_timestamp_survives_a_delete(
        self, tables: Tables, name: str
    ) -> None:
        a = FAMILY[name] + b"a"
        tables[name].put(b"r", {a: b"1"}, at_ms=1000)
        tables[name].delete(b"r", at_ms=1001)

        tables[name].put(b"r", {a: b"2"}, at_ms=1002)

        assert tables[name].get(b"r") == {a: Cell(b"2", 1002)}

    @BOTH
    def test_a_scan_yields_its_range_in_key_order_or_reversed(
        self, tables: Tables, name: str
    ) -> None:
        a = FAMILY[name] + b"a"
        keys = [bytes([first, second]) for first in (0, 1, 7, 255) for second in (0, 128, 255)]
        tables[name].put_many([(key, {a: key}, 1000) for key in reversed(keys)])

        def scan_keys(*args: Any, **options: Any) -> list[bytes]:
            return [row for row, _ in tables[name].scan(*args, **options)]

        assert scan_keys(b"", None) == keys
        assert scan_keys(b"", None, reverse=True) == keys[::-1]
        assert scan_keys(keys[1], keys[8]) == keys[1:8]
        assert scan_keys(keys[1], keys[8], limit=3) == keys[1:4]
        assert scan_keys(keys[1], keys[8], limit=3, reverse=True) == keys[7:4:-1]
        assert scan_keys(keys[3], keys[3]) == []

    @BOTH
    def test_a_scan_of_columns_skips_rows_without_them(self, tables: Tables, name: str) -> None:
        a, b = FAMILY[name] + b"a", FAMILY[name] + b"b"
        tables[name].put_many(
            [(b"k%03d" % i, {b if i % 10 == 0 else a: b"v"}, 1000) for i in range(600)]
        )

        rows = list(tables[name].scan(b"", None, columns=[b], limit=55))

        assert [row for row, _ in rows] == [b"k%03d" % i for i in range(0, 550, 10)]

    def test_rows_of_several_tables_are_written_in_one_call(self, tables: Tables) -> None:
        tables.write(
            [
                ("h", b"\x01h", {b"i:u": b"u"}, 1000),
                ("n", b"\x01n", {b"m:a": b"old"}, 1000),
                ("n", b"\x02n", {b"m:a": b"x"}, 1000),
                ("n", b"\x01n", {b"m:a": b"new"}, 2000),
            ]
        )

        assert tables["h"].get(b"\x01h") == {b"i:u": Cell(b"u", 1000)}
        assert tables["n"].get(b"\x01n") == {b"m:a": Cell(b"new", 2000)}
        assert tables["n"].get(b"\x02n") == {b"m:a": Cell(b"x", 1000)}

    def test_a_value_of_a_megabyte_can_be_stored(self, tables: Tables) -> None:
        value = bytes(range(256)) * 4096

        tables["n"].put(b"r", {b"m:a": value}, at_ms=1000)

        assert tables["n"].get(b"r", [b"m:a"])[b"m:a"].value == value

    def test_every_table_can_be_used(self, tables: Tables) -> None:
        for name, families in TABLES.items():
            tables[name].put(b"r", {families[0].encode() + b":q": b"v"}, at_ms=1000)

            assert list(tables[name].scan(b"", None))

    @examples(HISTORIES)
    @given(st.lists(STEP, max_size=25))
    @pytest.mark.parametrize("name", ["n", "e"])
    def test_any_history_gives_the_same_result_as_in_memory(
        self, make_tables: Callable[[], Tables], name: str, history: list[Any]
    ) -> None:
        # Times increase with each delete, because `CellTable` requires later puts to be newer.
        reference, tables = MemoryTables()[name], make_tables()
        shift = 0

        for verb, row, what, at in history:
            if verb == "put":
                cells = {
                    c.replace(b"m:", FAMILY[name]).replace(b"s:", FAMILY[name]): v
                    for c, v in what.items()
                }
                for table in (reference, tables[name]):
                    table.put(row, cells, at_ms=at + shift)
            else:
                columns = what and [
                    c.replace(b"m:", FAMILY[name]).replace(b"s:", FAMILY[name]) for c in what
                ]
                for table in (reference, tables[name]):
                    table.delete(row, columns, at_ms=at + shift)
                shift += 10

        assert list(tables[name].scan(b"", None)) == list(reference.scan(b"", None))
        assert list(tables[name].scan(b"\x00b", b"\xff", reverse=True)) == list(
            reference.scan(b"\x00b", b"\xff", reverse=True)
        )

    def test_values_are_returned_in_column_order(self, tables: Tables) -> None:
        table = tables["n"]
        table.put(b"a" * 16, {b"m:x": b"1", b"m:y": b"", b"s:z": bytes(range(256))}, at_ms=5)
        table.put(b"b" * 16, {b"m:y": b"2"}, at_ms=5)
        table.put(b"c" * 16, {b"m:other": b"3"}, at_ms=5)
        keys = [b"c" * 16, b"b" * 16, b"missing" * 2, b"a" * 16, b"a" * 16]

        values = table.values_many(keys, (b"s:z", b"m:y", b"m:x"))

        assert values == {
            b"a" * 16: (bytes(range(256)), b"", b"1"),
            b"b" * 16: (None, b"2", None),
        }
        assert table.values_many([], (b"m:x",)) == {}

    def test_values_of_many_rows_come_from_all_files(self, tables: Tables) -> None:
        rows = [bytes([n]) * 16 for n in range(256)]
        table = tables["n"]
        table.put_many([(row, {b"m:n": row[:1]}, 5) for row in rows])

        assert table.values_many(rows, (b"m:n",)) == {row: (row[:1],) for row in rows}

    def test_values_of_edges_are_read_too(self, tables: Tables) -> None:
        tables["e"].put(b"edge", {b"p:a": b"1"}, at_ms=5)

        assert tables["e"].values_many([b"edge", b"none"], (b"p:b", b"p:a")) == {
            b"edge": (None, b"1")
        }
