"""The filter that shows which lists are in the deltas of a group."""

import random

from zengraph.links._inlinks.delta_filter import columns_without, filter_cells, pack
from zengraph.links._inlinks.delta_names import delta_column, delta_name
from zengraph.links._inlinks.group_rows import FILTER, GroupHeader, ListGroup
from zengraph.links._inlinks.list_block import pack as packed_lists
from zengraph.links._inlinks.postings import HEADER
from zengraph.tables import Cell

COLLECTS = GroupHeader({0: 2}, divided=True, passes=1, collects=True)


def group_of(deltas, header=COLLECTS, **cells):
    """A group with these lists in each delta, by name."""
    row = {HEADER: Cell(header.pack(), 0)}
    for name, ids in deltas.items():
        row[delta_column(name)] = Cell(packed_lists(dict.fromkeys(ids, b"line")), 0)
    return ListGroup(b"rootab", row | {b"l:" + c.encode(): Cell(v, 0) for c, v in cells.items()})


def test_a_reader_of_a_list_needs_each_delta_that_has_it_and_hardly_any_other():
    rng = random.Random(4)
    for numbers in (range(1, 3), range(3, 6), range(1, 40)):
        ids = [rng.randbytes(12) for _ in range(300)]
        deltas = {delta_name(s, n): rng.sample(ids, 150) for s in (0, 9, 129) for n in numbers}
        deltas = {name: some for name, some in deltas.items() if name > 2}  # the header has two
        value = pack(group_of(deltas))
        extra = 0
        for local_id in [*ids, rng.randbytes(12)]:
            unneeded = columns_without(value, [local_id])
            having = {delta_column(name) for name, some in deltas.items() if local_id in some}
            assert FILTER in unneeded
            assert not unneeded & having
            extra += len(deltas) + 1 - len(unneeded) - len(having)
        assert extra < 0.01 * len(ids) * len(deltas)


def test_readers_of_several_lists_need_the_deltas_of_each():
    ids = [bytes(11) + bytes([number]) for number in range(5)]
    value = pack(group_of({10 + number: [one] for number, one in enumerate(ids)}))

    assert columns_without(value, ids[1:3]) == {FILTER, *map(delta_column, (10, 13, 14))}


def test_two_bytes_of_neighboring_ids_are_not_taken_for_an_id():
    value = pack(group_of({5: [bytes(10) + b"ab", bytes(10) + b"cd"]}))

    assert columns_without(value, [bytes(10) + b"bc"]) == {FILTER, delta_column(5)}


def test_a_filter_names_no_delta_that_the_header_includes():
    value = pack(group_of({1: [bytes(12)], 2: [bytes(12)], 3: [bytes(12)]}))

    assert columns_without(value, [b"b" * 12]) == {FILTER, delta_column(3)}


def test_a_filter_is_written_when_half_as_many_deltas_as_it_takes_are_missing_in_it():
    deltas = {name: [bytes(12)] for name in range(3, 30)}
    some = {name: deltas[name] for name in range(3, 11)}
    old = pack(group_of(some))

    def written(deltas, header=COLLECTS, **cells):
        return filter_cells([group_of(deltas, header, **cells)], 8, 7)

    assert written(some) == [(b"rootab", {FILTER: old}, 7)]
    assert not written({name: deltas[name] for name in range(3, 10)})
    assert not written(some, f=old)
    assert not written(dict([*deltas.items()][:11]), f=old)
    assert written(dict([*deltas.items()][:12]), f=old)
    assert not written(some, COLLECTS._replace(collects=False))
