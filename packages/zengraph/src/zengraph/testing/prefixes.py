"""
Tests for every engine: lookups by prefixes of property names and values.

    class TestMyPrefixes(PrefixContract):
        @pytest.fixture
        def make_tables(self): ...  # returns a function that returns new, empty tables
"""

from __future__ import annotations

from collections.abc import Callable

import pytest

from zengraph import Graph, Schema
from zengraph.clock import ManualClock
from zengraph.errors import InvalidArgument, NotUnique
from zengraph.tables import Tables

SCHEMA = Schema(unique=("mail",), indexed=("city",), sorted=("name", "mail", "city"))
ANNA, BEN, CLEO = (bytes([i]) * 16 for i in (0, 17, 255))


class PrefixContract:
    """
    The contract for lookups by prefix.

    The subclass provides this fixture:
        make_tables: a function without arguments that returns empty tables.
    """

    @pytest.fixture
    def clock(self) -> ManualClock:
        return ManualClock()

    @pytest.fixture
    def tables(self, make_tables: Callable[[], Tables]) -> Tables:
        tables = make_tables()
        tables.create()
        return tables

    @pytest.fixture
    def graph(self, tables: Tables, clock: ManualClock) -> Graph:
        return Graph(tables, SCHEMA, clock)

    def test_properties_are_found_by_name_prefix(self, graph: Graph) -> None:
        names = ["an", "anna", "anton", "berta", "_", "ännchen"]
        graph.put_node(ANNA, {name: name.encode() for name in names})
        graph.put_node(BEN, {"an": b"other"})

        found, cursor = graph.get_properties(ANNA, "an", 2)
        rest, end = graph.get_properties(ANNA, "an", 2, cursor)

        assert (found, rest, end) == ({"an": b"an", "anna": b"anna"}, {"anton": b"anton"}, None)
        assert list(graph.get_properties(ANNA, "")[0]) == sorted(set(names) - {"_"})
        assert graph.get_properties(ANNA, "x") == graph.get_properties(CLEO, "") == ({}, None)

    def test_properties_are_read_page_by_page(self, graph: Graph) -> None:
        names = sorted(["a", "an", "é", "z"])
        graph.put_node(ANNA, dict.fromkeys(names, b"x"))
        found: list[str] = []
        cursor = None
        for _ in names:
            some, cursor = graph.get_properties(ANNA, "", 1, cursor)
            found += some
        assert (found, cursor) == (names, None)

    def test_nodes_are_found_by_value_prefix_in_value_order(
        self, graph: Graph, clock: ManualClock
    ) -> None:
        nodes = {bytes([n * 37 % 256]) + bytes(15): b"an%02d" % n for n in range(30)}
        graph.put_nodes([(key, {"name": name}) for key, name in nodes.items()])
        graph.put_node(CLEO, {"name": b"ao"})
        expected = sorted((name, key) for key, name in nodes.items())

        found: list[tuple[bytes, bytes]] = []
        cursor = None
        while True:
            page, cursor = graph.lookup_prefix("name", b"an", 7, cursor)
            found += page
            if cursor is None:
                break

        assert found == expected
        assert graph.lookup_prefix("name", b"an1")[0] == expected[10:20]
        assert graph.lookup_prefix("name", b"")[0][-1] == (b"ao", CLEO)
        clock.advance_ms(1)
        graph.put_node(CLEO, {"name": b"b"})
        graph.remove_node(expected[0][1])
        assert graph.lookup_prefix("name", b"ao") == ([], None)
        assert graph.lookup_prefix("name", b"an")[0] == expected[1:]
        assert graph.lookup_prefix("name", b"b")[0] == [(b"b", CLEO)]

    def test_values_sort_by_their_first_bytes_and_are_returned_whole(
        self, graph: Graph, clock: ManualClock
    ) -> None:
        long = b"x" * 500
        for ending in (b"1", b"2"):
            clock.advance_ms(1)
            graph.put_node(ANNA, {"name": long + ending})
            assert graph.lookup_prefix("name", b"x")[0] == [(long + ending, ANNA)]
        graph.put_node(BEN, {"name": b"\0"})
        graph.put_node(CLEO, {"name": b""})
        assert [node for _, node in graph.lookup_prefix("name", b"")[0]] == [CLEO, BEN, ANNA]
        assert graph.lookup_prefix("name", b"\0")[0] == [(b"\0", BEN)]

    def test_a_property_may_be_sorted_and_indexed_or_unique(
        self, graph: Graph, clock: ManualClock
    ) -> None:
        graph.put_node(ANNA, {"mail": b"anna@x", "city": b"Rome"})
        with pytest.raises(NotUnique):
            graph.put_node(BEN, {"mail": b"anna@x"})
        clock.advance_ms(1)
        graph.put_node(ANNA, {"mail": b"ann@x", "city": b"Riga"})

        assert graph.lookup_unique("mail", b"anna@x") is None
        assert graph.lookup_unique("mail", b"ann@x") == ANNA
        assert graph.lookup_prefix("mail", b"an")[0] == [(b"ann@x", ANNA)]
        assert graph.lookup("city", b"Riga") == ([ANNA], None)
        assert graph.lookup_prefix("city", b"R")[0] == [(b"Riga", ANNA)]

    def test_a_repair_indexes_values_stored_before_the_property_was_sorted(
        self, tables: Tables, graph: Graph, clock: ManualClock
    ) -> None:
        Graph(tables, Schema(), clock).put_node(ANNA, {"name": b"anna"})
        assert graph.lookup_prefix("name", b"a") == ([], None)

        assert graph.repair().entries == 1
        assert not any(graph.repair())
        assert graph.lookup_prefix("name", b"a")[0] == [(b"anna", ANNA)]

    def test_a_lookup_by_a_property_that_is_not_sorted_is_rejected(self, graph: Graph) -> None:
        with pytest.raises(InvalidArgument, match="'age': is not sorted"):
            graph.lookup_prefix("age", b"7")
        with pytest.raises(InvalidArgument, match="'name': is not indexed"):
            graph.lookup("name", b"x")
