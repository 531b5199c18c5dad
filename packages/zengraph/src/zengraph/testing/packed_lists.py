"""
Tests for every engine: packed lists of a `Graph` (`Schema.packed`).

    class TestMyPackedLists(PackedListsContract):
        @pytest.fixture
        def make_tables(self): ...  # returns a function that returns new, empty tables
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zengraph import IN, OUT, EdgeKey, Graph, Limits, NewEdge, Schema
from zengraph.clock import ManualClock
from zengraph.errors import CorruptRow, InvalidArgument, SizeExceeded
from zengraph.tables import Tables
from zengraph.testing import examples
from zengraph.testing.dying_tables import Died, DyingTables
from zengraph.testing.graph_contract import node

POOL, NAMED, PLAIN = 20, 21, 22
SCHEMA = Schema(packed=(POOL, NAMED), ordered=(NAMED,))
A, B, C = (bytes([i]) * 16 for i in (0, 17, 255))
DAY_MS = 86_400_000


class PackedListsContract:
    """
    The contract for packed lists.

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

    # Puts and reads

    def test_edges_are_read_as_those_with_rows_of_their_own(
        self, make_tables: Callable[[], Tables], clock: ManualClock
    ) -> None:
        orders = [b"", b"\0", b"\0\xff", b"an", b"anna", b"b", b"\xff"]
        edges = [
            NewEdge(EdgeKey(A, NAMED, node(99 - n)), n % 3 - 1, {"n": b"%d" % n}, orders[n % 7])
            for n in range(30)
        ]
        calls: list[dict[str, Any]] = [
            {},
            {"reverse": True},
            {"least_score": 0},
            {"most_score": 0, "reverse": True},
            {"prefix": b"an"},
            {"prefix": b"an", "least_score": 1, "reverse": True},
        ]
        results = []
        for schema in (SCHEMA, Schema(ordered=(NAMED,))):
            tables = make_tables()
            tables.create()
            graph = Graph(tables, schema, clock)
            graph.put_edges(edges)
            pages = []
            for call in calls:
                cursor = None
                while True:
                    page = graph.edges(A, OUT, NAMED, 4, cursor, **call)
                    pages.append(page)
                    if (cursor := page.cursor) is None:
                        break
            walked = list(graph.walk_edges(A, OUT, NAMED))
            results.append(
                (
                    pages,
                    walked,
                    graph.get_edge(A, NAMED, node(99)),
                    graph.count_edges(A, OUT, NAMED),
                )
            )

        assert results[0] == results[1]
        assert len(results[0][1]) == 30

    def test_a_put_moves_an_edge_and_keeps_properties_that_are_not_given(
        self, graph: Graph, clock: ManualClock
    ) -> None:
        graph.put_edge(A, POOL, B, score=5, properties={"why": b"x", "when": b"y"})
        clock.advance_ms(1)
        graph.put_edges(
            [NewEdge(EdgeKey(A, POOL, B), 3, {"why": b"z"}), NewEdge(EdgeKey(A, PLAIN, B))]
        )

        (edge,) = graph.edges(A, OUT, POOL).items
        assert (edge.other, edge.score) == (B, 3)
        assert edge.properties == {"why": b"z", "when": b"y"}
        assert edge.at_ms == clock.now_ms()
        assert graph.get_edge(A, POOL, B) == edge
        assert graph.get_edge(A, POOL, C) is None
        assert [each.other for each in graph.edges(B, IN, PLAIN).items] == [A]
        graph.remove_edges([(A, POOL, B), (A, POOL, C), (A, PLAIN, B)])
        assert graph.edges(A, OUT, POOL).items == graph.edges(A, OUT, PLAIN).items == []

    def test_packed_edges_are_not_listed_at_their_targets(self, graph: Graph) -> None:
        graph.put_edge(A, POOL, B)

        for call in (
            lambda: graph.edges(B, IN, POOL),
            lambda: list(graph.walk_edges(B, IN, POOL)),
            lambda: graph.count_edges(B, IN, POOL),
            lambda: graph.trim_edges(B, IN, POOL, 1),
        ):
            with pytest.raises(InvalidArgument, match=r"packed \(Schema\.packed\)"):
                call()

    def test_a_packed_type_may_not_be_counted(self, tables: Tables) -> None:
        with pytest.raises(InvalidArgument, match=r"type 20 is in Schema\.packed and in"):
            Graph(tables, Schema(packed=(19, 20), counted=(20,)))

    def test_a_list_that_would_be_too_large_stays_as_it_was(self, tables: Tables) -> None:
        graph = Graph(tables, replace(SCHEMA, limits=Limits(600_000, 2)))
        graph.put_edge(A, POOL, B, properties={"x": bytes(600_000)})
        with pytest.raises(SizeExceeded, match=r"the limit is 1,048,576; trim it"):
            graph.put_edge(A, POOL, C, properties={"x": bytes(600_000)})
        with pytest.raises(SizeExceeded, match="600,0"):
            graph.put_edge(A, POOL, C, properties={"x": bytes(600_001)})
        with pytest.raises(SizeExceeded, match="3 fields"):
            graph.put_edge(A, POOL, C, properties={"x": b"", "y": b"", "z": b""})
        with pytest.raises(InvalidArgument, match="score"):
            graph.put_edges([NewEdge(EdgeKey(A, POOL, C)), NewEdge(EdgeKey(A, PLAIN, C), 1 << 63)])

        assert [edge.other for edge in graph.edges(A, OUT, POOL).items] == [B]

    def test_a_removed_node_has_no_packed_edges_and_no_receipts(
        self, graph: Graph, tables: Tables, clock: ManualClock
    ) -> None:
        self.fill(graph, 40)
        for number in range(12):
            clock.advance_ms(1)
            graph.take_edges(A, POOL, 1, request_id=f"job {number}")
        assert len(list(tables["e"].scan(A, A + b"z"))) > 1

        graph.remove_node(A)

        assert graph.edges(A, OUT, POOL).items == []
        assert len(list(tables["e"].scan(A, A + b"z"))) == 1
        clock.advance_ms(1)
        self.fill(graph, 2)
        assert len(graph.take_edges(A, POOL, 9, request_id="job 1")) == 2

    def test_concurrent_writers_lose_nothing(self, graph: Graph, tables: Tables) -> None:
        start = threading.Barrier(4)

        def put(writer: int) -> None:
            mine = Graph(tables, SCHEMA, ManualClock())
            start.wait()
            for number in range(8):
                mine.put_edge(A, POOL, node(writer * 8 + number))

        writers = [threading.Thread(target=put, args=(n,)) for n in range(4)]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()

        assert graph.count_edges(A, OUT, POOL) == 32

    def test_cells_of_a_later_version_are_refused(self, graph: Graph, tables: Tables) -> None:
        graph.put_edge(A, POOL, B)
        ((key, row),) = tables["e"].scan(A, A + b"z")
        ((column, cell),) = row.items()
        assert tables["e"].check_and_put(key, column, cell.value, b"\2" + cell.value[1:])

        for call in (lambda: graph.edges(A, OUT, POOL), lambda: graph.take_edges(A, POOL, 1)):
            with pytest.raises(CorruptRow, match="version 02"):
                call()

    # Takes

    @pytest.mark.parametrize("edge_type", [POOL, NAMED])
    def test_a_take_removes_the_best_edges_and_keeps_the_rest(
        self, graph: Graph, edge_type: int
    ) -> None:
        self.fill(graph, 7, edge_type)

        taken = graph.take_edges(A, edge_type, 3)
        lowest = graph.take_edges(A, edge_type, 2, lowest=True)

        assert [(edge.other, edge.score) for edge in taken] == [(node(n), n) for n in (6, 5, 4)]
        assert taken[0].properties == {"why": b"6", "empty": b""}
        assert [edge.score for edge in lowest] == [0, 1]
        assert [edge.score for edge in graph.edges(A, OUT, edge_type).items] == [2, 3]
        assert graph.count_edges(A, OUT, edge_type) == 2
        assert [edge.score for edge in graph.take_edges(A, edge_type, 1000)] == [3, 2]
        assert graph.take_edges(A, edge_type, 1) == graph.take_edges(B, edge_type, 1) == []
        graph.put_edge(A, edge_type, node(6), score=9)
        assert [edge.score for edge in graph.take_edges(A, edge_type, 1)] == [9]
        for count in (0, -1, 1001):
            with pytest.raises(InvalidArgument, match="count: must be from 1 to 1000"):
                graph.take_edges(A, edge_type, count)

    def test_the_same_request_gets_the_same_edges_for_a_day(
        self, graph: Graph, tables: Tables, clock: ManualClock
    ) -> None:
        self.fill(graph, 60)
        taken = []
        for number in range(30):
            clock.advance_ms(1)
            taken.append(graph.take_edges(A, POOL, 2, request_id=f"job {number}"))
        for number in range(30):
            assert graph.take_edges(A, POOL, 9, request_id=f"job {number}") == taken[number]
        assert graph.count_edges(A, OUT, POOL) == 0
        assert sorted(edge.score for edges in taken for edge in edges) == list(range(60))

        clock.advance_ms(DAY_MS + 1)
        self.fill(graph, 60)
        assert graph.take_edges(A, POOL, 1, request_id="job 0") != taken[0]
        for number in range(100, 120):
            clock.advance_ms(1)
            graph.take_edges(A, POOL, 1, request_id=f"job {number}")
        receipts = [key for key, _ in tables["e"].scan(A, A + b"z") if key[-16:] != bytes(16)]
        assert 0 < len(receipts) <= 21

    def test_concurrent_takers_never_get_the_same_edge(self, graph: Graph, tables: Tables) -> None:
        self.fill(graph, 90)
        taken: list[bytes] = []
        start = threading.Barrier(4)

        def take() -> None:
            mine = Graph(tables, SCHEMA, ManualClock())
            start.wait()
            while edges := mine.take_edges(A, POOL, 7):
                taken.extend(edge.other for edge in edges)

        takers = [threading.Thread(target=take) for _ in range(4)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()

        assert sorted(taken) == sorted(node(n) for n in range(90))
        assert graph.edges(A, OUT, POOL).items == []

    def test_two_calls_of_one_request_get_the_same_edges(
        self, graph: Graph, tables: Tables
    ) -> None:
        self.fill(graph, 60)
        taken: list[list[bytes]] = []
        start = threading.Barrier(3)

        def take() -> None:
            mine = Graph(tables, SCHEMA, ManualClock())
            start.wait()
            taken.extend(
                [edge.other for edge in mine.take_edges(A, POOL, 2, request_id=f"job {number}")]
                for number in range(20)
            )

        takers = [threading.Thread(target=take) for _ in range(3)]
        for taker in takers:
            taker.start()
        for taker in takers:
            taker.join()

        assert graph.count_edges(A, OUT, POOL) == 20
        assert len({tuple(others) for others in taken}) == 20

    @pytest.mark.parametrize("lived", [0, 7, 8, 9, 16])
    def test_each_edge_is_taken_exactly_once_wherever_a_taker_is_killed(
        self, make_tables: Callable[[], Tables], lived: int
    ) -> None:
        for writes in range(40):
            clock = ManualClock()
            tables = make_tables()
            tables.create()
            graph = Graph(tables, SCHEMA, clock)
            self.fill(graph, lived + 6)
            best = list(range(lived + 6))[::-1]
            for number in range(lived):
                clock.advance_ms(1)
                graph.take_edges(A, POOL, 1, request_id=f"before {number}")
            dying = DyingTables(tables, writes)

            with suppress(Died):
                Graph(dying, SCHEMA, clock).take_edges(A, POOL, 3, request_id="killed")
            between = graph.take_edges(A, POOL, 1)
            repeated = graph.take_edges(A, POOL, 3, request_id="killed")

            # If the take was decided before the process died, the repeated request gets its edges.
            decided = repeated[0].score == best[lived]
            assert [edge.score for edge in between] == [best[lived + 3 if decided else lived]]
            at = lived if decided else lived + 1
            assert [edge.score for edge in repeated] == best[at : at + 3]
            for number in range(lived):
                (edge,) = graph.take_edges(A, POOL, 1, request_id=f"before {number}")
                assert edge.score == best[number]
            assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [0, 1]
            if not dying.has_died:
                assert decided
                assert writes > 0
                return
        pytest.fail("a take makes more writes than this test allows for")

    # Trims

    def test_a_trim_keeps_the_best_edges(self, graph: Graph) -> None:
        self.fill(graph, 9)

        assert graph.trim_edges(A, OUT, POOL, 6) == 3
        assert graph.trim_edges(A, OUT, POOL, 6) == 0
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [3, 4, 5, 6, 7, 8]
        assert graph.trim_edges(A, OUT, POOL, 2, lowest=True) == 4
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [3, 4]
        assert graph.trim_edges(A, OUT, POOL, 0) == 2
        with pytest.raises(InvalidArgument, match="keep"):
            graph.trim_edges(A, OUT, POOL, -1)

    # Random histories

    @examples(20)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from(["put", "put", "put", "take", "trim", "remove"]),
                st.sampled_from([POOL, NAMED]),
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
            other = node(number)
            modeled = sorted((v for k, v in model.items() if k[0] == edge_type), reverse=not lowest)
            going = modeled[: number + 1] if kind == "take" else modeled[number:]
            if kind == "put":
                order = name if edge_type == NAMED else b""
                graph.put_edge(A, edge_type, other, score=score, order=order)
                model[edge_type, other] = score, order, other
                continue
            if kind == "take":
                taken = graph.take_edges(A, edge_type, number + 1, lowest=lowest)
                assert [(e.score, e.order, e.other) for e in taken] == going
            elif kind == "trim":
                count = graph.trim_edges(A, OUT, edge_type, number, lowest=lowest)
                assert count == len(going)
            else:
                graph.remove_edges([(A, edge_type, other)])
                going = [each for each in modeled if each[2] == other]
            for _, _, removed in going:
                del model[edge_type, removed]
        for edge_type in (POOL, NAMED):
            expected = sorted(v for k, v in model.items() if k[0] == edge_type)
            stored = graph.edges(A, OUT, edge_type).items
            assert [(e.score, e.order, e.other) for e in stored] == expected
            assert graph.count_edges(A, OUT, edge_type) == len(expected)
