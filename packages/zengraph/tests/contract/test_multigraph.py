"""Zen on every engine: nodes, edges, indexes and counts, against a naive model."""

from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zengraph import IN, OUT, MultiGraph, Schema
from zengraph._codec import index_key, unique_key
from zengraph._indexes import PropertyIndexes
from zengraph.clock import ManualClock
from zengraph.errors import NotUnique
from zengraph.records import CellLeases, count_column
from zengraph.testing import examples

KNOWS, LIKES = 3, 500
SCHEMA = Schema(unique=("email",), indexed=("city",), counted=(KNOWS,))
A, B, C = (bytes([i]) * 16 for i in (0, 17, 255))


@pytest.fixture
def clock():
    return ManualClock()


@pytest.fixture
def zen(tables, clock):
    return MultiGraph(tables, SCHEMA, clock)


def test_node_has_the_properties_that_were_put(zen):
    zen.put_node(A, {"name": b"a", "city": b"x"})
    zen.put_node(A, {"age": b"1"})

    assert zen.get_node(A) == {"name": b"a", "city": b"x", "age": b"1"}
    assert zen.get_node(A, ["age", "absent"]) == {"age": b"1"}
    assert zen.get_node(A, []) == {}
    assert zen.get_nodes([A, B], ["name"]) == {A: {"name": b"a"}}
    assert zen.get_node(B) is None


def test_unique_value_belongs_to_one_node(zen, clock):
    zen.put_node(A, {"email": b"e"})

    with pytest.raises(NotUnique):
        zen.put_node(B, {"email": b"e"})

    assert zen.get_node(B) is None
    assert zen.lookup("email", b"e") == ([A], None)
    clock.advance_ms(20_000)
    zen.put_node(A, {"email": b"other"})
    clock.advance_ms(20_000)
    zen.put_node(B, {"email": b"e"})
    assert zen.lookup("email", b"e") == ([B], None)


def test_stalled_writer_that_lost_a_unique_value_undoes_its_write(zen, clock):
    slow = PropertyIndexes(zen.tables, SCHEMA, clock)
    write = zen.tables.write

    def stalled(puts):
        clock.advance_ms(20_000)
        zen.put_node(B, {"email": b"e"})
        write(puts)

    slow._tables = SimpleNamespace(write=stalled)
    with pytest.raises(NotUnique):
        slow.write([("n", A, {b"m:_": b"1", b"m:email": b"e"}, clock.now_ms())])

    assert zen.lookup("email", b"e") == ([B], None)
    assert zen.nodes.get(A, [b"m:email"]) == {}


def test_refused_batch_writes_nothing_and_reserves_no_value(zen):
    zen.put_node(A, {"email": b"taken"})

    with pytest.raises(NotUnique):
        zen.mutate([
            ("n", B, {b"m:_": b"1", b"m:email": b"free"}, 1), ("n", C, {b"m:email": b"taken"}, 1),
        ])  # fmt: skip

    assert zen.get_node(B) is None
    zen.put_node(C, {"email": b"free"})
    assert zen.lookup("email", b"free") == ([C], None)


def test_backfill_indexes_values_and_reports_duplicates(zen, tables):
    plain = MultiGraph(tables, Schema(), zen.clock)
    for key in (A, B):
        plain.put_node(key, {"email": b"e", "city": b"x"})

    results = [zen.index(key, zen.nodes.get(key)) for key in (A, B, A)]

    assert results == [(2, 0), (1, 1), (0, 0)]
    assert zen.lookup("email", b"e") == ([A], None)
    assert sorted(zen.lookup("city", b"x")[0]) == [A, B]


def test_unfinished_claim_is_taken_over(zen, clock):
    CellLeases(zen.tables["u"], b"i:owner", 10_000, clock).take(unique_key("email", b"e"), None, A)

    with pytest.raises(NotUnique):
        zen.put_node(B, {"email": b"e"})
    clock.advance_ms(20_000)
    zen.put_node(B, {"email": b"e"})

    assert zen.lookup("email", b"e") == ([B], None)


def test_lookup_by_an_indexed_value_is_paged(zen):
    ids = [bytes([i]) + bytes(15) for i in range(40)]
    for key in ids:
        zen.put_node(key, {"city": b"x" if key[0] % 2 else b"xx"})

    nodes, cursor = [], None
    while True:
        part, cursor = zen.lookup("city", b"x", limit=7, cursor=cursor)
        nodes += part
        if cursor is None:
            break

    assert sorted(nodes) == [key for key in ids if key[0] % 2]


def test_stale_index_entry_is_not_shown(zen, tables):
    zen.put_node(A, {"city": b"x"})
    tables["i"].put(index_key(B, "city", b"x"), {b"i:id": B}, at_ms=1)

    assert zen.lookup("city", b"x") == ([A], None)


def test_edges_are_sorted_by_score_at_both_ends(zen):
    for score, other in [(5, B), (-3, C), (5, A), (9, C)]:
        zen.put_edge(A, KNOWS, other, score=score, properties={"w": b"%d" % score})

    def listed(**options):
        return [(edge.score, edge.other) for edge in zen.edges(A, OUT, KNOWS, **options).items]

    assert listed() == [(-3, C), (5, A), (5, B), (9, C)]
    assert listed(reverse=True, limit=2) == [(9, C), (5, B)]
    incoming = [edge[:3] for edge in zen.edges(C, IN, KNOWS).items]
    assert incoming == [(A, -3, {"w": b"-3"}), (A, 9, {"w": b"9"})]
    assert zen.edges(A, OUT, LIKES).items == []
    assert zen.count_edges(A, OUT, KNOWS) == 4
    assert zen.count_edges(C, IN, KNOWS) == 2


@pytest.mark.parametrize("reverse", [False, True])
def test_cursor_continues_a_list(zen, reverse):
    for score in range(25):
        zen.put_edge(A, LIKES, B, score=score)

    scores, cursor = [], None
    while True:
        part = zen.edges(A, OUT, LIKES, 10, cursor, reverse=reverse)
        scores += [edge.score for edge in part.items]
        cursor = part.cursor
        if cursor is None:
            break

    assert scores == sorted(range(25), reverse=reverse)
    assert zen.count_edges(A, OUT, LIKES) == 25


def test_edge_written_only_at_its_far_end_is_not_shown(zen, tables):
    zen.put_edge(A, KNOWS, B)
    (key,) = [key for key, _ in tables["e"].scan(b"", None) if key[16:17] == OUT]

    tables["e"].delete(key, at_ms=zen.clock.now_ms())

    assert zen.edges(B, IN, KNOWS).items == []
    assert zen.get_edge(A, KNOWS, B) is None


def test_recount_corrects_a_wrong_count(zen):
    zen.put_edge(A, KNOWS, B)
    zen.tables["n"].incr(A, count_column(OUT, KNOWS), 5)

    assert zen.recount(A, OUT, KNOWS) == 5
    assert zen.count_edges(A, OUT, KNOWS) == 1


def test_removed_node_leaves_no_edges_and_no_index_rows(zen, tables, clock):
    zen.put_node(A, {"email": b"e", "city": b"x"})
    zen.put_edge(A, KNOWS, B)
    zen.put_edge(C, KNOWS, A)
    clock.advance_ms(1)

    zen.remove_node(A)

    assert zen.get_node(A) is None
    assert zen.lookup("email", b"e") == ([], None)
    assert zen.lookup("city", b"x") == ([], None)
    assert zen.count_edges(B, IN, KNOWS) == zen.count_edges(C, OUT, KNOWS) == 0
    for name in "eui":
        assert list(tables[name].scan(b"", None)) == []


NODE = st.sampled_from([A, B, C])
VALUE = st.sampled_from([b"1", b"2"])
STEP = st.one_of(
    st.tuples(
        st.just("put"), NODE, st.dictionaries(st.sampled_from(["email", "city", "n"]), VALUE)
    ),
    st.tuples(st.just("remove"), NODE),
    st.tuples(st.just("link"), NODE, st.sampled_from([KNOWS, LIKES]), NODE, st.integers(-2, 2)),
    st.tuples(st.just("cut"), NODE, st.sampled_from([KNOWS, LIKES]), NODE, st.integers(-2, 2)),
)


@examples(30)
@given(st.lists(STEP, max_size=25))
def test_random_histories_agree_with_a_naive_model(quick_tables, history):
    clock = ManualClock()
    zen = MultiGraph(quick_tables(), SCHEMA, clock)
    nodes: dict[bytes, dict[str, bytes]] = {}
    edges: set[tuple[bytes, int, bytes, int]] = set()
    for step in history:
        clock.advance_ms(20_000)
        match step:
            case ("put", node, properties):
                taken = any(
                    properties_of_other.get("email") == properties.get("email") is not None
                    for other, properties_of_other in nodes.items()
                    if other != node
                )
                if taken:
                    with pytest.raises(NotUnique):
                        zen.put_node(node, properties)
                else:
                    zen.put_node(node, properties)
                    nodes[node] = nodes.get(node, {}) | properties
            case ("remove", node):
                zen.remove_node(node)
                nodes.pop(node, None)
                edges = {e for e in edges if node not in (e[0], e[2])}
            case ("link", source, kind, target, score):
                zen.put_edge(source, kind, target, score=score)
                edges.add((source, kind, target, score))
            case ("cut", source, kind, target, score):
                zen.remove_edge(source, kind, target, score=score)
                edges.discard((source, kind, target, score))

    for node in (A, B, C):
        assert zen.get_node(node) == nodes.get(node)
        for kind in (KNOWS, LIKES):
            out = sorted((s, t) for a, k, t, s in edges if (a, k) == (node, kind))
            into = sorted((s, a) for a, k, t, s in edges if (t, k) == (node, kind))
            assert [(e.score, e.other) for e in zen.edges(node, OUT, kind).items] == out
            assert [(e.score, e.other) for e in zen.edges(node, IN, kind).items] == into
            assert zen.count_edges(node, OUT, kind) == len(out)
            assert zen.count_edges(node, IN, kind) == len(into)
    for value in (b"1", b"2"):
        holders = [
            n
            for n, properties_of_other in nodes.items()
            if properties_of_other.get("email") == value
        ]
        assert zen.lookup("email", value) == (holders[:1], None)
        inhabitants = sorted(
            n
            for n, properties_of_other in nodes.items()
            if properties_of_other.get("city") == value
        )
        assert sorted(zen.lookup("city", value)[0]) == inhabitants
