"""
Tests for every engine: `Graph.repair` moves edges into and out of packed lists.

    class TestMyPackedMoves(PackedMovesContract):
        @pytest.fixture
        def make_tables(self): ...  # returns a function that returns new, empty tables
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from zengraph import IN, OUT, EdgeKey, Graph, NewEdge, Schema
from zengraph.clock import ManualClock
from zengraph.tables import Tables
from zengraph.testing.dying_tables import Died, DyingTables
from zengraph.testing.graph_contract import node
from zengraph.testing.packed_lists import NAMED, POOL, SCHEMA, A, B, C


class PackedMovesContract:
    """
    The contract for changes to `Schema.packed` and `Schema.ordered`.

    The subclass provides this fixture:
        make_tables: a function without arguments that returns empty tables. It may be called
            again; the tables from the earlier call are then no longer used.
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

    def fill(self, graph: Graph, count: int, edge_type: int = POOL) -> None:
        """Store `count` edges with scores from 0 up."""
        graph.put_edges(
            [
                NewEdge(EdgeKey(A, edge_type, node(n)), n, {"why": b"%d" % n, "empty": b""})
                for n in range(count)
            ]
        )

    def test_a_repair_packs_edges_that_were_put_before_and_unpacks_them_again(
        self, tables: Tables, graph: Graph, clock: ManualClock
    ) -> None:
        plain = Graph(tables, Schema(ordered=(NAMED,)), clock)
        for edge_type in (POOL, NAMED):
            self.fill(plain, 5, edge_type)
        plain.put_edge(A, NAMED, B, order=b"b", properties={"mail": b"x"})
        before = {edge_type: plain.edges(A, OUT, edge_type).items for edge_type in (POOL, NAMED)}
        clock.advance_ms(1)
        graph.put_edge(A, POOL, node(0), score=7)
        clock.advance_ms(1)

        assert graph.repair().rows == 11
        assert not any(graph.repair())
        assert _told(graph.edges(A, OUT, NAMED).items) == _told(before[NAMED])
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [1, 2, 3, 4, 7]
        assert plain.edges(A, OUT, POOL).items == plain.edges(B, IN, NAMED).items == []
        clock.advance_ms(1)

        assert plain.repair().rows == 11
        assert not any(plain.repair())
        assert _told(plain.edges(A, OUT, NAMED).items) == _told(before[NAMED])
        assert [edge.order for edge in plain.edges(B, IN, NAMED).items] == [b"b"]
        assert graph.edges(A, OUT, NAMED).items == []

    def test_a_repair_sorts_packed_edges_of_a_type_that_is_ordered_now(
        self, tables: Tables, graph: Graph, clock: ManualClock
    ) -> None:
        before = Graph(tables, Schema(packed=(NAMED,)), clock)
        before.put_edges([NewEdge(EdgeKey(A, NAMED, other), 1) for other in (B, C)])
        graph.put_edge(A, NAMED, B, score=1, order=b"b")

        assert graph.repair().rows == 1
        assert not any(graph.repair())
        assert [edge.other for edge in graph.edges(A, OUT, NAMED).items] == [C, B]

    def test_a_repair_that_is_killed_anywhere_loses_no_edge(
        self, make_tables: Callable[[], Tables]
    ) -> None:
        for writes in range(60):
            clock = ManualClock()
            tables = make_tables()
            tables.create()
            self.fill(Graph(tables, Schema(), clock), 3)
            clock.advance_ms(1)
            dying = DyingTables(tables, writes)
            with suppress(Died):
                Graph(dying, SCHEMA, clock).repair()
            graph = Graph(tables, SCHEMA, clock)
            graph.repair()

            assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [0, 1, 2]
            assert not any(graph.repair())
            if not dying.has_died:
                return
        pytest.fail("a repair makes more writes than this test allows for")


def _told(edges: list[Any]) -> list[Any]:
    """Return edges without their times."""
    return [edge._replace(at_ms=0) for edge in edges]
