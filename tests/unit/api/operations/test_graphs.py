"""Application graphs declared in the settings, each with separate tables."""

import pytest

from aragog.api.operations.graphs import ApplicationGraphs, no_graphs
from aragog.errors import BadInput
from zengraph import Schema
from zengraph.tables.memory import MemoryTables

SCHEMA = Schema(unique=("slug",))
A, B = bytes(16), bytes([17]) * 16


def test_undeclared_graph_is_refused():
    with pytest.raises(BadInput, match=r"store\.graphs"):
        no_graphs()["pins"]


def test_graphs_share_nothing():
    opened = []

    def open_tables(name):
        opened.append(name)
        return MemoryTables()

    graphs = ApplicationGraphs({"pins": SCHEMA, "feeds": SCHEMA}, open_tables)
    graphs["pins"].put_node(A, {"slug": b"a"})
    graphs["feeds"].put_node(B, {"slug": b"a"})

    assert graphs["feeds"].get_node(A) is None
    assert graphs["pins"].lookup_unique("slug", b"a") == A
    assert opened == ["pins", "feeds"]
