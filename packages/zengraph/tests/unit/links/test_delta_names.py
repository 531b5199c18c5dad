"""Names of deltas: which ones a header includes."""

import random

from zengraph.links._inlinks.delta_names import (
    delta_column,
    delta_name,
    deltas,
    last_of,
    not_included,
)
from zengraph.links._inlinks.group_rows import ListGroup
from zengraph.links._inlinks.list_block import pack
from zengraph.tables import Cell

SOURCES = [0, 1, 9, 10, 127, 128, 136]
LIST_ID, OTHER_ID = b"root" + b"a" * 12, b"root" + b"b" * 12


def test_not_included_compares_each_delta_with_its_source():
    rng = random.Random(7)
    for _ in range(300):
        names = [(rng.choice(SOURCES), rng.randrange(1, 40)) for _ in range(rng.randrange(30))]
        upto = {source: rng.randrange(40) for source in rng.sample(SOURCES, rng.randrange(5))}
        columns = sorted({delta_column(delta_name(*name)) for name in names})
        later = {delta_column(delta_name(s, n)) for s, n in names if n > upto.get(s, 0)}
        assert not_included(upto, columns) == sorted(later)
        for source in SOURCES:
            received = [n for s, n in names if s == source]
            assert last_of(source, upto, columns) == max([*received, upto.get(source, 0)])


def test_columns_around_the_deltas_are_none():
    names = [b"l:p%016x" % 5, b"l:h", b"l:v", b"l:q", b"l:p%016x" % 2, b"l:o"]
    assert deltas(names) == [b"l:p%016x" % 2, b"l:p%016x" % 5]


def test_a_group_without_the_list_is_not_parsed():
    block = pack({LIST_ID[4:]: b"line"})
    group = ListGroup(b"root", {delta_column(1): Cell(block, 0), b"l:h": Cell(b"damaged", 0)})
    assert group.may_contain(LIST_ID)
    assert not group.may_contain(OTHER_ID)
