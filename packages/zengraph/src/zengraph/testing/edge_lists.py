"""
Tests for every engine: orders, prefixes, takes and trims of a `Graph`'s edge lists.

    class TestMyLists(EdgeListsContract):
        @pytest.fixture
        def make_tables(self): ...  # returns a function that returns new, empty tables
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zengraph import IN, OUT, EdgeKey, Graph, NewEdge, Schema
from zengraph.clock import ManualClock
from zengraph.errors import InvalidArgument, Unfinished
from zengraph.tables import Tables
from zengraph.testing import examples
from zengraph.testing.dying_tables import Died, DyingTables

POOL, CONTACT = 16, 17
SCHEMA = Schema(counted=(POOL,), ordered=(CONTACT,))
A, B, C = (bytes([i]) * 16 for i in (0, 17, 255))
DAY_MS = 86_400_000


def node(number: int) -> bytes:
    """Return an id that is in a different file, partition or region from its neighbors."""
    return bytes([number * 37 % 256]) + number.to_bytes(15)


class EdgeListsContract:
    """
    The contract for lists of edges.

    The subclass provides this fixture:
        make_tables: a function without arguments that returns empty tables. It may be called
            again; the tables from the earlier call are then no longer used.
    """

    @pytest.fixture
    def clock(self) -> ManualClock:
        """Return the graph's clock."""
        return ManualClock()

    @pytest.fixture
    def tables(self, make_tables: Callable[[], Tables]) -> Tables:
        """Return empty tables."""
        tables = make_tables()
        tables.create()
        return tables

    @pytest.fixture
    def graph(self, tables: Tables, clock: ManualClock) -> Graph:
        """Return a graph in these tables."""
        return Graph(tables, SCHEMA, clock)

    # Orders and prefixes

    def test_edges_sort_by_score_then_by_order_then_by_node(self, graph: Graph) -> None:
        orders = [b"", b"\0", b"\0\0", b"\0\xff", b"an", b"an\0", b"an\0\1", b"anna", b"b", b"\xff"]
        places = [(score, order) for score in (-1, 0, 2) for order in orders]
        edges = [
            NewEdge(EdgeKey(A, CONTACT, node(99 - n)), score, {}, order)
            for n, (score, order) in enumerate(places)
        ]
        edges.append(NewEdge(EdgeKey(A, CONTACT, C), 2, {}, b"b"))
        graph.put_edges(edges[::-1])

        found = [(edge.score, edge.order) for edge in graph.edges(A, OUT, CONTACT).items]
        reversed_edges = graph.edges(A, OUT, CONTACT, reverse=True).items

        assert found == sorted([*places, (2, b"b")])
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

        # By the sixteenth take, the first receipt is more than a day old, so that take deletes it.
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
            # edges that it chose.
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


class _either:  # noqa: N801 - used in place of pytest.raises
    """A context in which the code may either die or finish normally."""

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> bool:
        return kind is Died
