"""The number of engine calls per take and trim: each is a round trip on PostgreSQL and HBase."""

import os

from zengraph import OUT, EdgeKey, Graph, NewEdge, Schema
from zengraph.clock import ManualClock
from zengraph.tables.memory import MemoryTables

NODE, POOL, PACKED = bytes(16), 16, 17


class Counted:
    """A table that records the names of calls from outside."""

    def __init__(self, table, calls):
        self._table, self._calls = table, calls

    def __getattr__(self, name):
        method = getattr(self._table, name)

        def call(*args, **options):
            self._calls.append(name)
            return method(*args, **options)

        return call


class CountedTables(MemoryTables):
    def __init__(self, clock):
        super().__init__(clock)
        self.calls = []

    def __getitem__(self, name):
        return Counted(super().__getitem__(name), self.calls)


def filled(batches, edge_type=POOL):
    """A graph with twenty edges that were put an hour ago, in one or several calls."""
    clock = ManualClock()
    tables = CountedTables(clock)
    graph = Graph(tables, Schema(packed=(PACKED,)), clock)
    for _ in range(batches):
        graph.put_edges(
            [
                NewEdge(EdgeKey(NODE, edge_type, os.urandom(16)), n, {"why": b"x"})
                for n in range(20 // batches)
            ]
        )
        clock.advance_ms(1)
    clock.advance_ms(3_600_000)
    tables.calls.clear()
    return graph, tables


TAKE = ["get_then_scan", "get_many", "check_and_put", "put_and_delete_many"]
"""HBase needs five round trips for it: a scan takes two, and the get is part of the first."""


def test_take_of_twenty_edges_is_four_calls():
    graph, tables = filled(1)
    assert len(graph.take_edges(NODE, POOL, 20)) == 20
    assert tables.calls == TAKE

    graph, tables = filled(1)
    assert len(graph.take_edges(NODE, POOL, 20, request_id="job")) == 20
    assert tables.calls == TAKE


def test_take_checks_the_previous_one_in_the_same_call():
    graph, tables = filled(2)
    graph.take_edges(NODE, POOL, 10, request_id="job 1")
    tables.calls.clear()

    assert len(graph.take_edges(NODE, POOL, 10, request_id="job 2")) == 10
    assert tables.calls == TAKE


def test_take_from_a_packed_list_is_one_read_and_one_write():
    graph, tables = filled(1, PACKED)
    for number in range(8):
        assert len(graph.take_edges(NODE, PACKED, 1)) == 1
        assert len(graph.take_edges(NODE, PACKED, 1, request_id=f"job {number}")) == 1
    assert tables.calls == ["get_each", "check_and_put"] * 16

    tables.calls.clear()
    assert len(graph.take_edges(NODE, PACKED, 1, request_id="job 8")) == 1
    assert tables.calls == ["get_each", "put_many", "scan", "check_and_put"]


def test_put_of_packed_edges_is_one_read_and_one_write():
    graph, tables = filled(1, PACKED)
    graph.put_edges([NewEdge(EdgeKey(NODE, PACKED, os.urandom(16)), n) for n in range(20)])
    assert tables.calls == ["get_many", "check_and_put_many"]


def test_packed_lists_cost_nothing_if_no_type_is_packed():
    _, tables = filled(1)
    calls = []
    for schema in (Schema(), Schema(packed=(PACKED,))):
        graph = Graph(tables, schema, ManualClock())
        graph.remove_edges([(NODE, POOL, NODE)])
        assert tables.calls == ["get_many"]
        graph.remove_node(bytes(15) + b"1")
        calls.append(tables.calls.count("scan"))
        tables.calls.clear()
    assert calls[0] == calls[1] - 2


def test_edges_put_at_different_times_are_deleted_with_one_timestamp():
    graph, tables = filled(20)
    deleted = []
    rows = tables._tables["e"]
    rows.put_and_delete_many = lambda _, deletions: deleted.extend(deletions)

    graph.take_edges(NODE, POOL, 20)

    assert len(deleted) == 60
    assert len({at_ms for _, _, at_ms in deleted}) == 1


def test_trim_of_a_short_list_reads_no_edge():
    graph, tables = filled(1)

    assert graph.trim_edges(NODE, OUT, POOL, 20) == 0
    assert tables.calls == ["scan"]

    assert graph.trim_edges(NODE, OUT, POOL, 19) == 1
    assert [edge.score for edge in graph.edges(NODE, OUT, POOL, 1).items] == [1]
