"""Which groups of a large host are read after a new delta."""

from functools import partial

import pytest

from zengraph.clock import ManualClock
from zengraph.links import ListLimits
from zengraph.links._inlinks.delta_names import delta_column
from zengraph.links._inlinks.group_checks import NewDelta, delta_to_check, groups_to_check
from zengraph.links._inlinks.group_rows import GroupHeader, Pass
from zengraph.links._inlinks.list_block import pack
from zengraph.links._inlinks.postings import HEADER
from zengraph.tables import CellTable
from zengraph.tables.memory import MemoryTables
from zengraph.tables.sqlite import SqliteTables

LIMITS = ListLimits()
LEAF, BUFFER = GroupHeader(), GroupHeader(divided=True)
COLLECTOR = GroupHeader(divided=True, passes=1, collects=True)


def block_of(lines):
    return pack({bytes(12): b"\n".join([b"line"] * lines)})


class Host:
    """A table with groups, in which large values are not read."""

    def __init__(self, tables):
        self.table = tables["l"]

    def put(self, key, header, deltas, lines):
        cells = {delta_column(number): block_of(lines) for number in range(1, deltas + 1)}
        self.table.put(key, cells | {HEADER: header.pack()}, at_ms=1)

    def is_read(self, key, new):
        groups = groups_to_check(self.table, {key: new}, LIMITS)
        assert all(cell.value for group in groups for cell in group.row.values())
        return [group.key for group in groups] == [key]


@pytest.fixture
def host(tmp_path):
    tables = SqliteTables(tmp_path / "t", shards=1)
    yield Host(tables)
    tables.close()


def test_a_group_far_from_its_limit_is_not_read(host):
    host.put(b"root5", LEAF, deltas=7, lines=30)
    host.put(b"root6", BUFFER, deltas=7, lines=30)
    host.put(b"root7", COLLECTOR, deltas=7, lines=1000)

    assert not host.is_read(b"root5", NewDelta(30, 1))
    assert not host.is_read(b"root6", NewDelta(30, 1))
    assert not host.is_read(b"root7", NewDelta(800, 1))


def test_a_group_is_read_if_its_deltas_would_fill_it_if_all_were_like_the_newest(host):
    host.put(b"root5", BUFFER, deltas=4, lines=100)
    host.put(b"root7", COLLECTOR, deltas=9, lines=1000)

    assert not host.is_read(b"root5", NewDelta(80, 1))
    assert host.is_read(b"root5", NewDelta(100, 1))
    assert host.is_read(b"root7", NewDelta(1000, 1))


def test_merged_lines_count_toward_the_limit(host):
    for key, merged in ((b"root6", 100), (b"root7", 250)):
        host.put(key, GroupHeader(block=block_of(merged)), deltas=3, lines=40)

    assert not host.is_read(b"root6", NewDelta(40, 1))
    assert host.is_read(b"root7", NewDelta(40, 1))


def test_a_group_with_enough_deltas_is_read_whatever_their_size(host):
    host.put(b"root5", LEAF, deltas=8, lines=1)
    host.put(b"root55", LEAF, deltas=31, lines=1)
    host.put(b"root56", LEAF, deltas=32, lines=1)
    host.put(b"root57", BUFFER, deltas=63, lines=1)
    host.put(b"root58", BUFFER, deltas=64, lines=1)

    read = [key for key in (b"root5", *(b"root5%d" % n for n in range(5, 9)))
            if host.is_read(key, NewDelta(1, 1))]  # fmt: skip

    assert read == [b"root5", b"root56", b"root58"]


def test_a_collecting_group_is_read_for_its_filter_after_every_fourth_delta(host):
    host.put(b"root0", COLLECTOR, deltas=8, lines=10)
    host.put(b"root1", COLLECTOR, deltas=7, lines=10)
    host.put(b"root2", BUFFER, deltas=8, lines=10)

    read = [
        (key, number)
        for key in (b"root0", b"root1", b"root2")
        for number in range(8)
        if host.is_read(key, NewDelta(10, number))
    ]

    assert read == [(b"root0", 0), (b"root0", 4)]


def test_a_group_is_read_to_complete_a_pass_or_to_delete_what_is_merged(host):
    host.put(b"root5", BUFFER._replace(passes=1, passing=Pass({0: 1}, True, 256)), 2, 1)
    host.put(b"root6", BUFFER._replace(upto={0: 2}), 2, 1)

    assert host.is_read(b"root5", NewDelta(1, 1))
    assert host.is_read(b"root6", NewDelta(1, 1))


def test_groups_of_small_hosts_and_groups_without_a_new_delta_are_read_at_once(host):
    host.put(b"root", LEAF, deltas=1, lines=1)
    host.put(b"root5", LEAF, deltas=1, lines=1)
    host.table.get_many_names = None

    assert host.is_read(b"root", NewDelta(1, 1))
    assert host.is_read(b"root5", None)


def test_an_engine_that_reads_all_values_is_asked_once():
    host = Host(MemoryTables(ManualClock(0)))
    host.put(b"root5", LEAF, deltas=8, lines=1)
    host.table.get_many_names = partial(CellTable.get_many_names, host.table)
    calls = []
    get_many = host.table.get_many

    def counted(rows, columns=None):
        calls.extend(rows)
        return get_many(rows, columns)

    host.table.get_many = counted

    assert host.is_read(b"root5", NewDelta(1, 1))
    assert calls == [b"root5"]


def test_a_group_is_checked_after_a_large_delta_and_every_eighth_small_one():
    checked = [n for n in range(20) if delta_to_check(b"root0", n, block_of(256), LIMITS)]

    assert checked == [0, 8, 16]
    assert delta_to_check(b"root0", 1, block_of(257), LIMITS) == NewDelta(257, 1)
