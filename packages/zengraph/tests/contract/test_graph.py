"""Graphs with simple edges on every engine, against a naive model."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zengraph import IN, OUT, EdgeKey, Graph, NewEdge, Schema
from zengraph import _simple_edges as pair_edges
from zengraph._simple_edge_rows import Place
from zengraph.clock import ManualClock
from zengraph.errors import InvalidArgument, NotUnique, Unfinished
from zengraph.records import count_column
from zengraph.testing import examples

FOLLOWS, HAS = 16, 17
SCHEMA = Schema(unique=("slug",), indexed=("site",), counted=(FOLLOWS,))
A, B, C = (bytes([i]) * 16 for i in (0, 17, 255))


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def graph(tables, clock):
    return Graph(tables, SCHEMA, clock)


def listed(graph, node, direction, edge_type=FOLLOWS, **options):
    return [(e.score, e.other) for e in graph.edges(node, direction, edge_type, **options).items]


def test_edge_is_unique_per_type_and_pair_and_its_score_changes(graph, clock):
    graph.put_edge(A, FOLLOWS, B, score=5, properties={"note": b"x"})
    clock.advance_ms(1)
    graph.put_edge(A, FOLLOWS, B, score=-7)

    assert listed(graph, A, OUT) == [(-7, B)]
    assert listed(graph, B, IN) == [(-7, A)]
    edge = graph.get_edge(A, FOLLOWS, B)
    assert (edge.score, edge.properties) == (-7, {"note": b"x"})
    assert graph.count_edges(A, OUT, FOLLOWS) == graph.count_edges(B, IN, FOLLOWS) == 1
    assert graph.get_edge(B, FOLLOWS, A) is None
    assert graph.get_edge(A, HAS, B) is None


def test_score_can_be_restored_within_the_same_millisecond(graph):
    for score in (1, 2, 1):
        graph.put_edge(A, FOLLOWS, B, score=score)

    assert listed(graph, A, OUT) == [(1, B)]
    assert listed(graph, B, IN) == [(1, A)]


def test_edges_are_paged_in_both_orders_and_between_scores(graph):
    others = [bytes([n]) * 16 for n in range(1, 10)]
    graph.put_edges([NewEdge(EdgeKey(A, HAS, other), n // 2) for n, other in enumerate(others)])

    for reverse in (False, True):
        found, cursor = [], None
        while True:
            page = graph.edges(A, OUT, HAS, 2, cursor, reverse=reverse)
            found += [edge.other for edge in page.items]
            if (cursor := page.cursor) is None:
                break
        assert found == (others[::-1] if reverse else others)
    bounds = {"least_score": 1, "most_score": 2}
    assert [score for score, _ in listed(graph, A, OUT, HAS, **bounds)] == [1, 1, 2, 2]
    assert listed(graph, A, OUT, HAS, reverse=True, most_score=0, limit=1) == [(0, others[1])]
    assert listed(graph, A, OUT, HAS, least_score=9) == []
    with pytest.raises(InvalidArgument, match="cursor"):
        graph.edges(A, OUT, HAS, 2, b"x")


def test_cursor_of_another_node_shows_none_of_its_edges(graph):
    graph.put_edge(A, FOLLOWS, B, score=1)
    graph.put_edge(A, FOLLOWS, C, score=2)
    graph.put_edge(B, FOLLOWS, C, score=3)
    cursor = graph.edges(A, OUT, FOLLOWS, 1).cursor

    assert listed(graph, B, OUT, cursor=cursor) == [(3, C)]
    assert listed(graph, C, OUT, cursor=cursor) == []


def test_rows_left_by_a_crashed_writer_are_hidden_and_completed_by_a_retry(graph, tables):
    pair = EdgeKey(A, FOLLOWS, B)
    graph.put_edge(A, FOLLOWS, B, score=1)
    for key in pair.list_keys(Place(2)):
        tables["e"].put(key, {b"p:_": b"1"}, at_ms=1)
    tables["e"].put(EdgeKey(A, FOLLOWS, C).list_keys(Place(3))[1], {b"p:_": b"1"}, at_ms=1)

    assert listed(graph, A, OUT) == [(1, B)]
    graph.put_edge(A, FOLLOWS, B, score=2)
    assert listed(graph, A, OUT) == listed(graph, A, OUT, limit=1) == [(2, B)]


def test_repair_deletes_invalid_rows_restores_missing_ones_and_recounts(graph, tables, clock):
    graph.put_edge(A, FOLLOWS, B, score=1)
    tables["e"].put(EdgeKey(A, FOLLOWS, C).list_keys(Place(3))[1], {b"p:_": b"1"}, at_ms=1)
    missing = EdgeKey(A, FOLLOWS, B).list_keys(Place(1))[0]
    tables["e"].delete(missing, at_ms=clock.now_ms())
    tables["n"].incr(A, count_column(OUT, FOLLOWS), 5)
    clock.advance_ms(pair_edges.MAX_PENDING_MS + 1)

    first, second = graph.repair(), graph.repair()

    assert (first.rows, first.counts) == (2, 1)
    assert not any(second)
    assert listed(graph, B, IN) == [(1, A)]
    assert graph.count_edges(A, OUT, FOLLOWS) == 1


def test_removed_node_has_no_edges_index_entries_or_counts(graph, clock):
    graph.put_node(A, {"slug": b"a", "site": b"s"})
    graph.put_edge(A, FOLLOWS, B)
    graph.put_edge(C, FOLLOWS, A)
    graph.put_edge(B, FOLLOWS, C)
    clock.advance_ms(1)

    graph.remove_node(A)
    graph.remove_node(A)

    assert graph.get_node(A) is None
    assert graph.lookup("site", b"s") == ([], None)
    assert graph.lookup_unique("slug", b"a") is None
    assert listed(graph, B, IN) == listed(graph, C, OUT) == []
    assert [graph.count_edges(B, IN, FOLLOWS), graph.count_edges(C, OUT, FOLLOWS)] == [0, 0]
    assert listed(graph, B, OUT) == [(0, C)]


def test_hub_is_removed_in_several_calls(tables, clock):
    graph = Graph(tables, SCHEMA, clock, max_removed=3)
    graph.put_node(A, {})
    graph.put_edges([NewEdge(EdgeKey(A, HAS, bytes([n]) * 16)) for n in range(1, 8)])
    clock.advance_ms(1)

    for _ in range(2):
        with pytest.raises(Unfinished, match="repeat"):
            graph.remove_node(A)
        assert graph.get_node(A) == {}
    graph.remove_node(A)

    assert graph.get_node(A) is None
    assert listed(graph, A, OUT, HAS) == []


def test_batch_of_nodes_is_written_or_refused_as_a_whole(graph):
    graph.put_nodes([(A, {"slug": b"a"}), (B, {"site": b"s"})])

    with pytest.raises(NotUnique):
        graph.put_nodes([(C, {"site": b"s"}), (B, {"slug": b"a"})])

    assert graph.get_nodes([A, B, C]) == {A: {"slug": b"a"}, B: {"site": b"s"}}


def test_property_with_a_separate_column_is_read_only(tables, clock):
    graph = Graph(tables, Schema(columns={"home": b"s:home"}), clock)
    tables["n"].put(A, {b"s:home": b"there"}, at_ms=1)

    assert graph.get_node(A) == graph.get_node(A, ["home"]) == {"home": b"there"}
    assert graph.get_node(A, ["other"]) == {}
    with pytest.raises(InvalidArgument, match="home"):
        graph.put_node(C, {"home": b"x"})


def test_all_nodes_are_scanned_in_pages(graph):
    ids = [bytes([n]) * 16 for n in range(0, 250, 25)]
    graph.put_nodes([(key, {"n": key[:1], "m": b""}) for key in ids])
    graph.put_edge(bytes([9]) * 16, FOLLOWS, A)  # has a count, but is not a node

    found, cursor, pages = [], None, 0
    while True:
        part, cursor = graph.scan_nodes(3, cursor, ["n"])
        found, pages = found + part, pages + 1
        if cursor is None:
            break

    assert found == [(key, {"n": key[:1]}) for key in ids]
    assert pages <= 4


def test_batch_counts_each_edge_once(graph, clock):
    others = [bytes([n]) * 16 for n in range(1, 7)]
    new = [NewEdge(EdgeKey(A, FOLLOWS, other), 1) for other in others]
    graph.put_edges([*new[:3], *new[:3]])
    clock.advance_ms(1)
    graph.put_edges([*new, NewEdge(EdgeKey(B, FOLLOWS, others[0]))])

    counts = [graph.count_edges(other, IN, FOLLOWS) for other in others]
    assert (graph.count_edges(A, OUT, FOLLOWS), counts) == (6, [2, 1, 1, 1, 1, 1])
    clock.advance_ms(1)
    graph.remove_edges([(A, FOLLOWS, other) for other in others[1:]])

    counts = [graph.count_edges(other, IN, FOLLOWS) for other in others]
    assert (graph.count_edges(A, OUT, FOLLOWS), counts) == (1, [2, 0, 0, 0, 0, 0])


def test_uncounted_type_is_counted_up_to_a_limit(tables, clock):
    graph = Graph(tables, SCHEMA, clock, max_counted=3)
    graph.put_edges([NewEdge(EdgeKey(A, HAS, bytes([n]) * 16)) for n in range(1, 4)])
    assert graph.count_edges(A, OUT, HAS) == 3

    graph.put_edge(A, HAS, C)

    with pytest.raises(InvalidArgument, match=r"Schema\.counted"):
        graph.count_edges(A, OUT, HAS)


NODES = st.sampled_from([A, B, C])
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(["put", "put", "put", "remove", "remove_node"]),
        NODES,
        st.sampled_from([FOLLOWS, HAS]),
        NODES,
        st.integers(-3, 3),
        st.dictionaries(st.sampled_from(["v", "w"]), st.binary(max_size=2)),
    ),
    max_size=20,
)


@given(changes=CHANGES)
@examples(40)
def test_random_histories_agree_with_a_model(quick_tables, changes):
    clock = ManualClock()
    tables = quick_tables()
    tables.create()
    graph, model = Graph(tables, SCHEMA, clock), {}
    for kind, source, edge_type, target, score, properties in changes:
        clock.advance_ms(1)
        key = (source, edge_type, target)
        if kind == "put":
            old = model.get(key, (0, {}))[1]
            model[key] = score, old | properties
            graph.put_edge(source, edge_type, target, score=score, properties=properties)
        elif kind == "remove":
            model.pop(key, None)
            graph.remove_edges([key, key])
        else:
            model = {k: v for k, v in model.items() if source not in (k[0], k[2])}
            graph.remove_node(source)

    counts = Counter()
    for (source, edge_type, target), (score, properties) in model.items():
        edge = graph.get_edge(source, edge_type, target)
        assert (edge.score, edge.properties) == (score, properties)
        counts[source, OUT, edge_type] += 1
        counts[target, IN, edge_type] += 1
    for node in (A, B, C):
        for edge_type in (FOLLOWS, HAS):
            out = [(v[0], k[2]) for k, v in model.items() if k[:2] == (node, edge_type)]
            into = [(v[0], k[0]) for k, v in model.items() if k[1:] == (edge_type, node)]
            assert listed(graph, node, OUT, edge_type) == sorted(out)
            assert listed(graph, node, IN, edge_type, reverse=True) == sorted(into, reverse=True)
            for direction in (OUT, IN):
                count = graph.count_edges(node, direction, edge_type)
                assert count == counts[node, direction, edge_type]


@pytest.mark.parametrize(
    ("edge", "message"),
    [
        (EdgeKey(b"short", FOLLOWS, B), "16 bytes, got 5"),
        (EdgeKey(A, FOLLOWS, B + b"x"), "16 bytes, got 17"),
        (EdgeKey(A, -1, B), "type of an edge"),
        (EdgeKey(A, 1 << 16, B), "type of an edge"),
    ],
)
def test_invalid_edge_is_refused_before_anything_is_written(graph, edge, message):
    with pytest.raises(InvalidArgument, match=message):
        graph.put_edges([NewEdge(EdgeKey(A, FOLLOWS, B)), NewEdge(edge)])

    assert listed(graph, A, OUT) == []


@pytest.mark.parametrize("score", [1.5, 2.0, 1 << 63, -(1 << 63) - 1])
def test_score_must_be_a_64_bit_integer(graph, score):
    with pytest.raises(InvalidArgument, match="score: must be"):
        graph.put_edge(A, FOLLOWS, B, score=score)


def test_node_id_of_another_length_is_refused(graph):
    with pytest.raises(InvalidArgument, match="16 bytes, got 3"):
        graph.put_nodes([(A, {"site": b"x"}), (b"abc", {"site": b"x"})])

    assert graph.lookup("site", b"x") == ([], None)


def test_lookup_of_an_unindexed_property_is_refused(graph):
    with pytest.raises(InvalidArgument, match="'age': is not indexed"):
        graph.lookup("age", b"7")
    with pytest.raises(InvalidArgument, match="'site': is not unique"):
        graph.lookup_unique("site", b"x")
