from hypothesis import given
from hypothesis import strategies as st

from zengraph import IN, OUT
from zengraph._codec import (
    after,
    edge_key,
    index_prefix,
    journal_key,
    number_key,
    order_bytes,
    ordered_edge_key,
    ordering_key,
    read_edge_key,
    read_number_key,
    read_order,
    score_bytes,
)
from zengraph.tables import Cell
from zengraph.tables._packed import merge_row, pack, pack_new, unpack, update_packed, without

IDS = st.binary(min_size=16, max_size=16)
SCORES = st.integers(-(2**63), 2**63 - 1)
ROWS = st.dictionaries(
    st.binary(max_size=8),
    st.builds(Cell, st.binary(max_size=50), st.integers(0, 2**62)),
    max_size=8,
)


@given(IDS, st.sampled_from([IN, OUT]), st.integers(0, 65_535), SCORES, IDS)
def test_edge_key_round_trips(node, direction, kind, score, other):
    key = edge_key(node, direction, kind, score, other)

    assert len(key) == 43
    assert read_edge_key(key) == (node, direction, kind, score, other)


ORDERS = st.binary(max_size=4) | st.lists(st.sampled_from([0, 1, 254, 255]), max_size=4).map(bytes)


@given(SCORES, ORDERS, IDS, ORDERS, IDS)
def test_ordered_keys_round_trip_and_sort_by_their_order(score, one, a, two, b):
    first, second = (
        ordered_edge_key(bytes(16), OUT, 7, score, order, other)
        for order, other in ((one, a), (two, b))
    )

    assert (read_order(first), read_edge_key(first)) == (one, (bytes(16), OUT, 7, score, a))
    assert (first < second) == ((one, a) < (two, b))
    assert second[27:].startswith(order_bytes(one)) == two.startswith(one)
    assert read_order(edge_key(bytes(16), OUT, 7, score, a)) is None


@given(SCORES, SCORES)
def test_scores_sort_as_bytes(one, other):
    assert (score_bytes(one) < score_bytes(other)) == (one < other)


@given(IDS, st.integers(0, 2**62))
def test_number_key_round_trips_and_stays_in_the_file_of_its_node(node, number):
    key = number_key(node, number)

    assert read_number_key(key) == (number, node)
    assert key[0] % 16 == node[0] % 16


def test_nodes_sort_by_their_ordering_keys():
    orders = (b"example.a.b\0", b"example.a\0", b"example.z\0")

    keys = sorted(ordering_key(bytes(16), order) for order in orders)

    assert [key[1:-17] for key in keys] == [b"example.a", b"example.a.b", b"example.z"]


def test_journal_rows_sort_by_time():
    assert journal_key(3, 5, b"\xff" * 8) < journal_key(3, 6, bytes(8))


@given(st.binary(max_size=5), st.binary(max_size=5))
def test_index_rows_of_different_values_never_mix(one, other):
    a, b = index_prefix(0, "p", one), index_prefix(0, "p", other)

    assert one == other or not (a.startswith(b) or b.startswith(a))


@given(st.binary(min_size=1, max_size=6), st.binary(max_size=4))
def test_end_of_a_prefix_excludes_nothing_that_starts_with_it(prefix, more):
    end = after(prefix)

    assert end is None or prefix + more < end
    assert end is None or not end.startswith(prefix)


@given(ROWS, st.lists(st.binary(max_size=8), max_size=4))
def test_packed_row_round_trips_completely_and_in_part(row, more):
    data = pack(row)

    assert unpack(data) == row
    columns = [*list(row)[:3], *more]
    assert unpack(data, columns) == {c: row[c] for c in columns if c in row}


@given(ROWS, st.dictionaries(st.binary(max_size=2), st.binary(max_size=3)), st.integers(0, 9))
def test_merging_is_idempotent(row, cells, at_ms):
    once = merge_row(row, [(cells, at_ms)])

    assert merge_row(once, [(cells, at_ms)]) == once
    assert without(once, list(cells), at_ms).keys() <= once.keys()


PUTS = st.lists(
    st.tuples(st.dictionaries(st.binary(max_size=1), st.binary(max_size=3)), st.integers(0, 9)),
    max_size=3,
)


@given(
    st.dictionaries(st.binary(max_size=1), st.builds(Cell, st.binary(), st.integers(0, 9))), PUTS
)
def test_updating_a_packed_row_equals_merging_its_cells(row, puts):
    assert update_packed(pack(row), puts) == pack(merge_row(row, puts))


@given(PUTS)
def test_packing_a_new_row_equals_merging_its_cells(puts):
    assert pack_new(puts) == pack(merge_row({}, puts))


def test_put_into_a_packed_row_keeps_newer_cells():
    row = {b"a": Cell(b"old", 5), b"b": Cell(b"kept", 5)}

    after_puts = unpack(
        update_packed(pack(row), [({b"a": b"new", b"b": b"late"}, 4), ({b"a": b"new"}, 6)])
    )

    assert after_puts == {b"a": Cell(b"new", 6), b"b": Cell(b"kept", 5)}
