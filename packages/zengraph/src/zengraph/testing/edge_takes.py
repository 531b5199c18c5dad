"""
Tests for every engine: edges that are taken from a `Graph`'s lists, and lists that are trimmed.

`EdgeListsContract` in edge_lists.py includes them.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from zengraph import IN, OUT, EdgeKey, Graph, NewEdge
from zengraph.clock import ManualClock
from zengraph.errors import InvalidArgument, Unfinished
from zengraph.tables import Tables
from zengraph.testing.dying_tables import Died, DyingTables
from zengraph.testing.graph_contract import (
    CONTACT,
    DAY_MS,
    POOL,
    SCHEMA,
    A,
    B,
    C,
    GraphContract,
    node,
)


class EdgeTakesContract(GraphContract):
    """The contract for takes and trims."""

    # Takes

    def fill(self, graph: Graph, count: int, edge_type: int = POOL) -> None:
        """Store `count` edges with scores from 0 up."""
        graph.put_edges(
            [
                NewEdge(EdgeKey(A, edge_type, node(n)), n, {"why": b"%d" % n, "empty": b""})
                for n in range(count)
            ]
        )

    def test_a_take_removes_the_best_edges_and_keeps_the_rest(
        self, graph: Graph, clock: ManualClock
    ) -> None:
        self.fill(graph, 7)
        clock.advance_ms(1)

        taken = graph.take_edges(A, POOL, 3)
        lowest = graph.take_edges(A, POOL, 2, lowest=True)

        assert [(edge.other, edge.score) for edge in taken] == [(node(n), n) for n in (6, 5, 4)]
        assert taken[0].properties == {"why": b"6", "empty": b""}
        assert [edge.score for edge in lowest] == [0, 1]
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [2, 3]
        assert graph.count_edges(A, OUT, POOL) == 2
        assert graph.get_edge(A, POOL, node(6)) is None
        assert graph.edges(node(6), IN, POOL).items == []
        assert graph.count_edges(node(6), IN, POOL) == 0
        assert [edge.score for edge in graph.take_edges(A, POOL, 1000)] == [3, 2]
        assert graph.take_edges(A, POOL, 1) == []
        assert not any(graph.repair())

    def test_an_edge_that_is_stored_again_can_be_taken_again(
        self, graph: Graph, clock: ManualClock
    ) -> None:
        for score in (5, 5, 1):
            graph.put_edge(A, POOL, B, score=score)
            clock.advance_ms(1)
            assert [edge.score for edge in graph.take_edges(A, POOL, 2)] == [score]
            clock.advance_ms(1)
        assert graph.count_edges(A, OUT, POOL) == 0

    def test_ordered_edges_are_taken_in_order(self, graph: Graph, clock: ManualClock) -> None:
        for number, name in enumerate((b"c", b"a\0", b"", b"b")):
            graph.put_edge(A, CONTACT, node(number), order=name)
        clock.advance_ms(1)

        taken = graph.take_edges(A, CONTACT, 3, lowest=True)

        assert [edge.order for edge in taken] == [b"", b"a\0", b"b"]
        assert [edge.order for edge in graph.edges(A, OUT, CONTACT).items] == [b"c"]

    def test_the_same_request_gets_the_same_edges(self, graph: Graph, clock: ManualClock) -> None:
        self.fill(graph, 5)
        clock.advance_ms(1)

        first = graph.take_edges(A, POOL, 2, request_id="job 1")
        later = [graph.take_edges(A, POOL, 1, request_id=f"job {n}") for n in (2, 3)]

        assert graph.take_edges(A, POOL, 2, request_id="job 1") == first
        assert graph.take_edges(A, POOL, 9, request_id="job 1") == first
        assert graph.take_edges(A, POOL, 1, request_id="job 2") == later[0]
        assert [edge.score for edge in graph.take_edges(A, POOL, 9)] == [0]

    def test_receipts_expire_after_a_day_or_when_their_node_is_removed(
        self, tables: Tables, graph: Graph, clock: ManualClock
    ) -> None:
        graph.put_edge(A, POOL, B)
        clock.advance_ms(1)
        graph.take_edges(A, POOL, 1, request_id="old")
        for number in range(2, 17):
            clock.advance_ms(DAY_MS // 15)
            graph.put_edge(A, POOL, B)
            clock.advance_ms(1)
            graph.take_edges(A, POOL, 1, request_id=f"new {number}")

        def receipts() -> int:
            return sum(1 for key, _ in tables["e"].scan(A + b"t", A + b"u")) - 1

        # At the sixteenth take, the first receipt is more than a day old, so it is deleted.
        assert receipts() == 15
        assert graph.take_edges(A, POOL, 1, request_id="old") == []
        assert len(graph.take_edges(A, POOL, 1, request_id="new 2")) == 1
        graph.remove_node(A)
        assert receipts() == 0

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
        assert graph.count_edges(A, OUT, POOL) == 0
        assert graph.edges(A, OUT, POOL).items == []

    @pytest.mark.parametrize("edge_type", [POOL, CONTACT])
    def test_each_edge_is_taken_exactly_once_wherever_a_taker_is_killed(
        self, make_tables: Callable[[], Tables], edge_type: int
    ) -> None:
        for writes in range(40):
            clock = ManualClock()
            tables = make_tables()
            tables.create()
            graph = Graph(tables, SCHEMA, clock)
            self.fill(graph, 5, edge_type)
            clock.advance_ms(1)
            dying = DyingTables(tables, writes)

            with pytest.raises(Died) if writes < 10 else _either():
                Graph(dying, SCHEMA, clock).take_edges(A, edge_type, 3, request_id="killed")
            between = [edge.score for edge in graph.take_edges(A, edge_type, 1)]
            repeated = graph.take_edges(A, edge_type, 3, request_id="killed")

            # Either the killed take hadn't chosen its edges yet, or the repeated request gets the
            # chosen ones.
            decided = repeated[0].score == 4
            assert between == ([1] if decided else [4])
            assert [edge.score for edge in repeated] == ([4, 3, 2] if decided else [3, 2, 1])
            assert repeated[0].properties["why"] == b"%d" % repeated[0].score
            assert [edge.score for edge in graph.edges(A, OUT, edge_type).items] == [0]
            assert decided is (writes > 0)
            graph.repair()
            assert graph.count_edges(A, OUT, edge_type) == 1
            if not dying.has_died:
                return
        pytest.fail("a take makes more writes than this test allows for")

    @pytest.mark.parametrize("edge_type", [POOL, CONTACT])
    def test_a_repair_finishes_a_take_that_chose_its_edges(
        self, graph: Graph, tables: Tables, clock: ManualClock, edge_type: int
    ) -> None:
        self.fill(graph, 3, edge_type)
        clock.advance_ms(1)
        with pytest.raises(Died):
            Graph(DyingTables(tables, 1), SCHEMA, clock).take_edges(A, edge_type, 2)

        assert len(graph.edges(A, OUT, edge_type).items) == 3
        assert graph.repair().rows == 1
        assert [edge.score for edge in graph.edges(A, OUT, edge_type).items] == [0]
        assert graph.count_edges(A, OUT, edge_type) == 1
        assert not any(graph.repair())

    @pytest.mark.parametrize("edge_type", [POOL, CONTACT])
    def test_edges_of_a_killed_taker_are_removed_before_later_takes(
        self, graph: Graph, tables: Tables, clock: ManualClock, edge_type: int
    ) -> None:
        self.fill(graph, 5, edge_type)
        clock.advance_ms(1)
        with pytest.raises(Died):
            Graph(DyingTables(tables, 1), SCHEMA, clock).take_edges(A, edge_type, 2)
        graph.put_edge(A, edge_type, B, score=9)

        assert [edge.score for edge in graph.take_edges(A, edge_type, 1)] == [9]
        assert [edge.score for edge in graph.take_edges(A, edge_type, 2, lowest=True)] == [0, 1]
        assert [edge.score for edge in graph.take_edges(A, edge_type, 9)] == [2]

    @pytest.mark.parametrize("edge_type", [POOL, CONTACT])
    def test_the_receipt_of_a_killed_taker_survives_later_takes(
        self, graph: Graph, tables: Tables, clock: ManualClock, edge_type: int
    ) -> None:
        self.fill(graph, 5, edge_type)
        clock.advance_ms(1)
        with pytest.raises(Died):
            Graph(DyingTables(tables, 1), SCHEMA, clock).take_edges(
                A, edge_type, 2, request_id="killed"
            )
        graph.take_edges(A, edge_type, 1, request_id="a different job")
        graph.take_edges(A, edge_type, 1)

        repeated = graph.take_edges(A, edge_type, 2, request_id="killed")
        assert [(edge.score, edge.properties["why"]) for edge in repeated] == [(4, b"4"), (3, b"3")]

    @pytest.mark.parametrize("edge_type", [POOL, CONTACT])
    def test_a_finished_take_leaves_nothing_to_repair_even_after_its_receipt_expires(
        self, graph: Graph, clock: ManualClock, edge_type: int
    ) -> None:
        self.fill(graph, 3, edge_type)
        clock.advance_ms(1)
        assert len(graph.take_edges(A, edge_type, 2, request_id="job")) == 2

        for _ in range(3):
            assert not any(graph.repair())
            clock.advance_ms(DAY_MS)
        clock.advance_ms(1)
        graph.put_edge(A, edge_type, node(2), score=7)
        assert [edge.score for edge in graph.take_edges(A, edge_type, 1)] == [7]

    def test_large_edge_properties_are_not_kept_in_the_list_state(
        self, graph: Graph, tables: Tables, clock: ManualClock
    ) -> None:
        large = {"why": b"x" * 60_000}
        graph.put_edges([NewEdge(EdgeKey(A, CONTACT, node(n)), n, large) for n in range(4)])
        clock.advance_ms(1)

        graph.take_edges(A, CONTACT, 2, request_id="job")
        graph.take_edges(A, CONTACT, 2)

        states = [
            row for key, row in tables["e"].scan(A + b"t", A + b"u") if key[-16:] == bytes(16)
        ]
        assert sum(len(cell.value) for row in states for cell in row.values()) < 1000
        assert len(graph.take_edges(A, CONTACT, 2, request_id="job")) == 2

    def test_an_edge_that_moves_during_a_take_is_back_in_the_list(
        self, graph: Graph, tables: Tables, clock: ManualClock
    ) -> None:
        graph.put_edge(A, POOL, B, score=9)
        clock.advance_ms(1)
        with pytest.raises(Died):
            Graph(DyingTables(tables, 1), SCHEMA, clock).take_edges(A, POOL, 1)
        graph.put_edge(A, POOL, B, score=4)
        clock.advance_ms(1)

        assert [edge.score for edge in graph.take_edges(A, POOL, 1)] == [4]
        assert graph.take_edges(A, POOL, 1) == []

    def test_an_edge_that_another_writer_stores_during_a_take_stays(
        self, graph: Graph, tables: Tables, clock: ManualClock
    ) -> None:
        graph.put_edge(A, POOL, B, score=1)
        clock.advance_ms(60_000)
        graph.put_edge(A, POOL, C, score=2)
        clock.advance_ms(60_000)
        with pytest.raises(Died):
            Graph(DyingTables(tables, 1), SCHEMA, clock).take_edges(A, POOL, 2)
        slow_clock = ManualClock()
        slow_clock.advance_ms(120_000 - 9_000)
        Graph(tables, SCHEMA, slow_clock).put_edge(A, POOL, B, score=5)

        assert [edge.score for edge in graph.take_edges(A, POOL, 9)] == [5]

    def test_a_take_with_an_invalid_count_is_rejected(self, graph: Graph) -> None:
        for count in (0, -1, 1001):
            with pytest.raises(InvalidArgument, match="count: must be from 1 to 1000"):
                graph.take_edges(A, POOL, count)

    # Trims

    def test_a_trim_keeps_the_best_edges(self, graph: Graph, clock: ManualClock) -> None:
        self.fill(graph, 9)
        clock.advance_ms(1)

        assert graph.trim_edges(A, OUT, POOL, 6) == 3
        assert graph.trim_edges(A, OUT, POOL, 6) == 0
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [3, 4, 5, 6, 7, 8]
        assert graph.trim_edges(A, OUT, POOL, 2, lowest=True) == 4
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [3, 4]
        assert graph.count_edges(A, OUT, POOL) == 2
        assert graph.trim_edges(node(3), IN, POOL, 0) == 1
        assert graph.trim_edges(A, OUT, POOL, 0) == 1
        assert graph.edges(A, OUT, POOL).items == []
        with pytest.raises(InvalidArgument, match="keep"):
            graph.trim_edges(A, OUT, POOL, -1)

    def test_a_trim_does_not_count_rows_left_by_a_killed_writer(
        self, graph: Graph, tables: Tables, clock: ManualClock
    ) -> None:
        self.fill(graph, 4)
        with pytest.raises(Died):
            Graph(DyingTables(tables, 2), SCHEMA, clock).put_edge(A, POOL, C, score=9)
        clock.advance_ms(1)

        assert graph.trim_edges(A, OUT, POOL, 4) == 0
        assert graph.trim_edges(A, OUT, POOL, 3) == 1
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [1, 2, 3]

    def test_trimming_a_long_list_takes_several_calls(
        self, tables: Tables, clock: ManualClock
    ) -> None:
        graph = Graph(tables, SCHEMA, clock, max_removed=3)
        self.fill(graph, 9)
        clock.advance_ms(1)

        for _ in range(2):
            with pytest.raises(Unfinished, match="3 edges were removed"):
                graph.trim_edges(A, OUT, POOL, 1)
        assert graph.trim_edges(A, OUT, POOL, 1) == 2
        assert [edge.score for edge in graph.edges(A, OUT, POOL).items] == [8]


class _either:  # noqa: N801 - used in place of pytest.raises
    """A context in which the code may die or finish."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is Died
