"""Calls on a closed graph."""

import inspect

import pytest

from zengraph import Graph, Schema
from zengraph.errors import InvalidArgument
from zengraph.tables.memory import MemoryTables
from zengraph.tables.sqlite import SqliteTables

A, B = bytes(16), bytes(15) + b"\1"
CALLS = {
    "get_node": (A,),
    "get_nodes": ([A],),
    "lookup": ("name", b"a"),
    "lookup_unique": ("name", b"a"),
    "put_edges": ([],),
    "edges": (A, b"o", 1),
    "count_edges": (A, b"o", 1),
    "walk_edges": (A, b"o", 1),
    "take_edges": (A, 1, 5),
    "trim_edges": (A, b"o", 1, 5),
    "get_properties": (A, "n"),
    "lookup_prefix": ("name", b"a"),
    "put_nodes": ([(A, {"name": b"a"})],),
    "put_node": (A, {"name": b"a"}),
    "put_edge": (A, 1, B),
    "get_edge": (A, 1, B),
    "remove_edges": ([(A, 1, B)],),
    "remove_node": (A,),
    "scan_nodes": (10,),
    "repair": (),
    "check": (),
    "create": (),
}


@pytest.fixture(params=["memory", "sqlite"])
def graph(request, tmp_path):
    tables = MemoryTables() if request.param == "memory" else SqliteTables(tmp_path, shards=2)
    opened = Graph(tables, Schema())
    opened.create()
    opened.put_node(A, {"name": b"a"})
    return opened


@pytest.mark.parametrize("name", CALLS)
def test_closed_graph_refuses_every_call(graph, name):
    graph.close()

    with pytest.raises(InvalidArgument, match="the graph is closed"):
        getattr(graph, name)(*CALLS[name])


def test_the_list_of_calls_is_complete(graph):
    names = {n for n, value in inspect.getmembers(graph, callable) if not n.startswith("_")}

    assert names - {"close"} == CALLS.keys()


def test_closing_twice_is_harmless(graph):
    graph.close()
    graph.close()

    with pytest.raises(InvalidArgument):
        graph.get_node(A)
