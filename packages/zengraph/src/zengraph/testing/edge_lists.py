"""
Tests that every engine must pass: sorting, finding, taking and trimming a `Graph`'s edges.

    class TestMyLists(EdgeListsContract):
        @pytest.fixture
        def make_tables(self): ...  # returns a function that returns new, empty tables
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zengraph import IN, OUT, EdgeKey, Graph, NewEdge, Schema
from zengraph.clock import ManualClock
from zengraph.errors import InvalidArgument
from zengraph.tables import Tables
from zengraph.testing import examples
from zengraph.testing.edge_takes import EdgeTakesContract
from zengraph.testing.graph_contract import CONTACT, POOL, SCHEMA, A, B, C, node


class EdgeListsContract(EdgeTakesContract):
    """
    The contract for edge lists, including `take_edges` and `trim_edges`.

    The subclass provides this fixture:
        make_tables: a function without arguments that returns empty tables. It may be called
            again; the tables from the earlier call are then no longer used.
    """

    # Orders and prefixes

    def test_edges_sort_by_score_then_by_order_then_by_node(self, graph: Graph) -> None:
        orders = [b"", b"\0", b"\0\0", b"\0\xff", b"an", b"an\0", b"an\0\1", b"anna", b"b", b"\xff"]
        sort_keys = [(score, order) for score in (-1, 0, 2) for order in orders]
        edges = [
            NewEdge(EdgeKey(A, CONTACT, node(99 - n)), score, {}, order)
            for n, (score, order) in enumerate(sort_keys)
        ]
        edges.append(NewEdge(EdgeKey(A, CONTACT, C), 2, {}, b"b"))
        graph.put_edges(edges[::-1])

        found = [(edge.score, edge.order) for edge in graph.edges(A, OUT, CONTACT).items]
        reversed_edges = graph.edges(A, OUT, CONTACT, reverse=True).items

        assert found == sorted([*sort_keys, (2, b"b")])
        assert [(edge.score, edge.order) for edge in reversed_edges] == found[::-1]
        assert [edge.order for edge in graph.edges(C, IN, CONTACT).items] == [b"b"]
        bounded = graph.edges(A, OUT, CONTACT, least_score=0, most_score=0).items
        assert [edge.order for edge in bounded] == orders

    def test_a_prefix_finds_matching_orders_page_by_page(self, graph: Graph) -> None:
        names = [b"adam", b"an", b"an\0", b"anna", b"an\xff", b"an\xff\xff", b"ao", b"zoe"]
        graph.put_edges(
            [NewEdge(EdgeKey(A, CONTACT, node(n)), 0, {}, name) for n, name in enumerate(names)]
        )
        graph.put_edge(A, CONTACT, B, score=3, order=b"anton")
        wanted = sorted(name for name in names if name.startswith(b"an"))

        for reverse in (False, True):
            found: list[bytes] = []
            cursor = None
            while True:
                page = graph.edges(A, OUT, CONTACT, 2, cursor, prefix=b"an", reverse=reverse)
                found += [edge.order for edge in page.items]
                if (cursor := page.cursor) is None:
                    break
            assert found == (wanted[::-1] if reverse else wanted)
        (only,) = graph.edges(A, OUT, CONTACT, prefix=b"an", least_score=3).items
        assert only.other == B
        assert len(graph.edges(A, OUT, CONTACT, prefix=b"").items) == len(names)
        assert graph.edges(A, OUT, CONTACT, prefix=b"x").items == []

    def test_a_new_order_moves_an_edge_without_duplicating_it(
        self, graph: Graph, clock: ManualClock
    ) -> None:
        for order in (b"anna", b"berta", b"anna", b""):
            graph.put_edge(A, CONTACT, B, order=order, properties={"mail": b"x"})
            clock.advance_ms(1)

            (edge,) = graph.edges(A, OUT, CONTACT).items
            assert (edge.order, edge.properties) == (order, {"mail": b"x"})
            assert graph.get_edge(A, CONTACT, B) == edge
        graph.remove_edges([(A, CONTACT, B)])
        assert graph.edges(A, OUT, CONTACT).items == graph.edges(B, IN, CONTACT).items == []

    def test_invalid_orders_and_prefixes_are_rejected(self, graph: Graph) -> None:
        with pytest.raises(InvalidArgument, match=r"have none; add it to Schema\.ordered"):
            graph.put_edge(A, POOL, B, order=b"x")
        with pytest.raises(InvalidArgument, match="up to 500 bytes, got 501"):
            graph.put_edge(A, CONTACT, B, order=bytes(501))
        with pytest.raises(InvalidArgument, match=r"Schema\.ordered"):
            graph.edges(A, OUT, POOL, prefix=b"x")
        with pytest.raises(InvalidArgument, match="needs one score"):
            graph.edges(A, OUT, CONTACT, prefix=b"x", least_score=1, most_score=2)
        graph.put_edge(A, CONTACT, B, order=bytes(500))
        assert graph.edges(A, OUT, CONTACT, prefix=bytes(499)).items[0].other == B

    def test_a_repair_moves_edges_stored_before_their_type_was_ordered(
        self, tables: Tables, graph: Graph, clock: ManualClock
    ) -> None:
        before = Graph(tables, Schema(counted=(POOL,)), clock)
        before.put_edge(A, CONTACT, B, score=1)
        before.put_edge(A, CONTACT, C, score=2)
        clock.advance_ms(1)
        graph.put_edge(A, CONTACT, B, score=1, order=b"b")
        listed = [(e.other, e.order) for e in graph.edges(A, OUT, CONTACT).items]
        assert listed == [(B, b"b"), (C, b"")]
        clock.advance_ms(1)

        assert graph.repair().rows == 1
        assert not any(graph.repair())
        assert [e.other for e in graph.edges(A, OUT, CONTACT, prefix=b"", least_score=2).items] == [
            C
        ]
        assert [e.other for e in graph.edges(C, IN, CONTACT).items] == [A]

    # Random histories

    @examples(20)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["put", "put", "put", "take", "trim", "remove"]),
                st.sampled_from([POOL, CONTACT]),
                st.integers(0, 5),
                st.integers(-2, 2),
                st.sampled_from([b"", b"\0", b"an", b"anna"]),
                st.booleans(),
            ),
            max_size=20,
        )
    )
    def test_any_history_gives_the_same_result_as_a_model(
        self, make_tables: Callable[[], Tables], history: list[Any]
    ) -> None:
        clock, tables = ManualClock(), make_tables()
        tables.create()
        graph = Graph(tables, SCHEMA, clock)
        model: dict[tuple[int, bytes], tuple[int, bytes, bytes]] = {}
        for kind, edge_type, number, score, name, lowest in history:
            clock.advance_ms(1)
            other = node(number)
            modeled = sorted((v for k, v in model.items() if k[0] == edge_type), reverse=not lowest)
            if kind == "put":
                order = name if edge_type == CONTACT else b""
                graph.put_edge(A, edge_type, other, score=score, order=order)
                model[edge_type, other] = score, order, other
            elif kind == "take":
                taken = graph.take_edges(A, edge_type, number + 1, lowest=lowest)
                expected = modeled[: number + 1]
                assert [(e.score, e.order, e.other) for e in taken] == expected
                for _, _, removed in expected:
                    del model[edge_type, removed]
            elif kind == "trim":
                trimmed = modeled[number:]
                count = graph.trim_edges(A, OUT, edge_type, number, lowest=lowest)
                assert count == len(trimmed)
                for _, _, removed in trimmed:
                    del model[edge_type, removed]
            else:
                graph.remove_edges([(A, edge_type, other)])
                model.pop((edge_type, other), None)
        for edge_type in (POOL, CONTACT):
            stored = graph.edges(A, OUT, edge_type).items
            expected = sorted(v for k, v in model.items() if k[0] == edge_type)
            assert [(e.score, e.order, e.other) for e in stored] == expected
            assert graph.count_edges(A, OUT, edge_type) == len(expected)
