"""Groups of a large host that pass their lines over the level below them."""

import random
from copy import deepcopy
from functools import partial

import orjson
import pytest
from support.faults import Fuse, Killed
from support.hooked_tables import HookedTables

from zengraph.clock import ManualClock
from zengraph.links import ListLimits, Naming, PostingLists
from zengraph.links._inlinks import list_block
from zengraph.links._inlinks.delta_filter import columns_without
from zengraph.links._inlinks.group_rows import FILTER, GroupHeader, ListGroup, Pass, is_group
from zengraph.links._inlinks.postings import HEADER, LinkChanges
from zengraph.tables import Cell
from zengraph.tables.memory import MemoryTables

NOW_MS = 1_700_000_000_000
NAMING = Naming(lambda name: name.split(b"/", 3)[2])
TARGETS = [b"http://big.example/%d" % number for number in range(400)]
IDS = [NAMING.list_id(target) for target in TARGETS]
ROOT = IDS[0][:4]
LINE = b"http://v.example/\t%013d\t+\t\ttext" % NOW_MS
LIMITS = ListLimits(group_lines=1, inline_lines=64, large_lines=0, many_deltas=4, delta_lines=32)


class Host:
    """The inlinks of a host, and the sources that each list must show."""

    def __init__(self, tables, expected=None, number=0):
        self.tables = tables
        self.lists = PostingLists(tables, NAMING, LIMITS)
        self.expected = expected or {target: set() for target in TARGETS}
        self.number = number

    def toggled(self, pairs):
        """Return the changes that add each (source, target), or remove it if it is there."""
        self.number += 1
        lines, removals = {}, {}
        for source, target in pairs:
            there = source in self.expected[target]
            self.expected[target] ^= {source}
            kind, text = (b"-", b"") if there else (b"+", b"text")
            line = b"%s\t%013d\t%s\t\t%s" % (source, NOW_MS + self.number, kind, text)
            lines.setdefault(target, []).append(line)
            if there:
                removals.setdefault(NAMING.list_id(target), []).append(source)
        groups = NAMING.by_group({target: b"\n".join(some) for target, some in lines.items()})
        depths = self.lists.depths(self.lists.deepest(groups))
        return LinkChanges(self.number, NOW_MS + self.number, groups, removals, depths)

    def add_new(self, count, rng):
        """Add links from a new source to this many targets."""
        source = b"http://s.example/%d" % self.number
        self.lists.add(self.toggled([(source, t) for t in rng.sample(TARGETS, count)]))

    def groups(self):
        """All groups, by key."""
        rows = self.tables["l"].scan(b"", None)
        return {key: ListGroup(key, row) for key, row in rows if is_group(key)}

    def collecting(self):
        return [key for key, group in self.groups().items() if group.header.collects]

    def copied(self, before_write=None):
        """A copy, whose writes call a function."""
        tables = MemoryTables(ManualClock(NOW_MS))
        for name in ("l", "o"):
            for key, row in self.tables[name].scan(b"", None):
                for column, cell in row.items():
                    tables[name].put(key, {column: cell.value}, at_ms=cell.at_ms)
        if before_write:
            tables = HookedTables(tables, before_write)
        return Host(tables, deepcopy(self.expected), self.number)


def assert_correct(host, every=1):
    """Compare every `every`-th list with its expected links."""
    for target, list_id in [*zip(TARGETS, IDS, strict=True)][::every]:
        shown = [line.partition(b"\t")[0] for line in host.lists.lines(list_id)]
        assert shown == sorted(host.expected[target])
        assert host.lists.count([list_id]) == len(shown)


@pytest.fixture(scope="module")
def large():
    """A host some of whose groups collect lines."""
    host, rng = Host(MemoryTables(ManualClock(NOW_MS))), random.Random(1)
    while not host.collecting():
        host.add_new(200, rng)
    return host


def far_passes(host):
    """Groups with lines that came from two levels above."""
    return [
        key
        for key, group in host.groups().items()
        if group.depth >= 2 and group.received(group.source - 2)
    ]


def test_a_collecting_group_passes_its_lines_over_the_level_below(large):
    host, rng = large.copied(), random.Random(2)
    assert not far_passes(host)

    for _ in range(12):
        host.add_new(200, rng)

    assert far_passes(host)
    assert_correct(host)
    assert list(host.lists.problems(lambda: None)) == []


def test_a_group_collects_only_if_all_groups_below_it_are_divided(large):
    groups = large.groups()

    for key in large.collecting():
        below = [groups[key + b"%x" % digit] for digit in range(16)]
        assert all(group.header.divided for group in below)
    assert any(
        g.header.divided and g.header.passes > 1 and not g.header.collects for g in groups.values()
    )


@pytest.mark.parametrize("seed", range(2))
def test_any_history_of_added_and_removed_links_is_shown_and_counted(large, seed):
    """A removal would be lost if it came to the groups below before the link did."""
    host, rng = large.copied(), random.Random(seed)
    sources = [b"http://t.example/%d" % number for number in range(3)]
    for _ in range(14):
        targets = rng.sample(TARGETS, rng.choice((1, 30, 300)))
        host.lists.add(host.toggled({(rng.choice(sources), target) for target in targets}))
        if rng.random() < 0.2:
            host.number += 1
            host.lists.forget_removed(rng.sample(IDS, 40), NOW_MS + host.number)
    assert_correct(host)
    assert far_passes(host)


def about_to_pass(large):
    """A host with a collecting group that passes its lines with the next change."""
    host, rng = large.copied(), random.Random(3)
    while True:
        passes = {key: g.header.passes for key, g in host.groups().items() if g.header.collects}
        pairs = [(b"http://u.example/", t) for t in rng.sample(TARGETS, 40)]
        next_host = host.copied()
        next_host.lists.add(next_host.toggled(pairs))
        groups = next_host.groups()
        if any(groups[key].header.passes > number for key, number in passes.items()):
            return host, pairs
        host.lists.add(host.toggled(pairs))


def killed_anywhere(host, pairs, step=1):
    """Yield each copy of the host whose change was killed before a write, and the change."""
    for point in range(0, 10_000, step):
        fuse = Fuse()
        copy = host.copied(fuse.burn)
        change = partial(copy.lists.add, copy.toggled(pairs))
        fuse.left = point
        try:
            change()
        except Killed:
            fuse.left = None
            yield copy, change
        else:
            assert point > 16
            return


def test_a_pass_over_a_level_killed_anywhere_and_repeated_is_made_once(large):
    host, pairs = about_to_pass(large)
    for copy, change in killed_anywhere(host, pairs, step=31):
        change()
        assert_correct(copy, every=5)
        copy.add_new(200, random.Random(4))
        assert_correct(copy, every=5)


def test_lists_are_right_while_lines_pass_over_a_level(large):
    """What a killed process leaves is what readers see at that moment."""
    host, pairs = about_to_pass(large)
    changed = {target for _, target in pairs}
    for copy, _ in killed_anywhere(host, pairs, step=23):
        for target, list_id in [*zip(TARGETS, IDS, strict=True)][::3]:
            shown = {line.partition(b"\t")[0] for line in copy.lists.lines(list_id)}
            assert copy.lists.count([list_id]) == len(shown)
            if target not in changed:
                assert shown == copy.expected[target]


def test_links_of_a_pass_that_an_earlier_version_completed_are_counted_once(large):
    """An earlier version knows no passes over a level, so it writes the lines to the level below."""
    host, pairs = about_to_pass(large)
    seen = 0
    for copy, change in killed_anywhere(host, pairs, step=31):
        table = copy.tables["l"]
        for key, group in copy.groups().items():
            now = group.header.passing
            if now and now.levels == 2:
                old = group.header._replace(passing=now._replace(levels=1), collects=False)
                cell = group.row[HEADER]
                assert table.check_and_put(key, HEADER, cell.value, old.pack())
                seen += 1
        change()
        copy.add_new(200, random.Random(5))
        assert_correct(copy, every=3)
    assert seen


def filters(host):
    """The filters of all groups, by key."""
    return {key: g.row[FILTER].value for key, g in host.groups().items() if FILTER in g.row}


def about_to_get_a_filter(large):
    """A host with a collecting group whose deltas get a filter with the next change."""
    host, rng = large.copied(), random.Random(8)
    while True:
        pairs = [(b"http://w.example/%d" % host.number, t) for t in rng.sample(TARGETS, 40)]
        next_host = host.copied()
        next_host.lists.add(next_host.toggled(pairs))
        if filters(next_host).items() - filters(host).items():
            return host, pairs
        host.lists.add(host.toggled(pairs))


def test_a_change_killed_anywhere_around_a_filter_is_made_once(large):
    host, pairs = about_to_get_a_filter(large)
    changed = {target for _, target in pairs}
    for copy, change in killed_anywhere(host, pairs, step=19):
        for target, list_id in [*zip(TARGETS, IDS, strict=True)][::7]:
            shown = {line.partition(b"\t")[0] for line in copy.lists.lines(list_id)}
            assert copy.lists.count([list_id]) == len(shown)
            if target not in changed:
                assert shown == copy.expected[target]
        change()
        assert_correct(copy, every=3)
        copy.add_new(200, random.Random(4))
        assert_correct(copy, every=3)


def test_a_filter_leaves_with_the_deltas_that_it_names(large):
    """A filter left in an empty group would only make its readers slower."""
    host, rng, seen = large.copied(), random.Random(9), 0
    for _ in range(40):
        host.add_new(60, rng)
        groups = host.groups()
        for key, value in filters(host).items():
            assert columns_without(value, []) <= {FILTER, *groups[key].unmerged}
            seen += 1
    assert seen
    assert_correct(host)


def test_a_filter_that_an_earlier_version_left_behind_hides_nothing(large):
    """An earlier version deletes the deltas of a pass, but not their filter."""
    host, rng, left = large.copied(), random.Random(10), {}
    for _ in range(25):
        left |= filters(host)
        host.add_new(60, rng)
        for key in left.keys() - filters(host):
            host.tables["l"].put(key, {FILTER: left[key]}, at_ms=NOW_MS + host.number)
    assert left
    assert_correct(host)


def changed_header(host, key, change):
    """Replace the header of a group."""
    group = host.groups()[key]
    value = change(group.header).pack()
    assert host.tables["l"].check_and_put(key, HEADER, group.row[HEADER].value, value)


def test_a_group_waits_only_for_groups_that_can_pass_on_their_lines(large):
    """A lost header, and a repaired group that has only a block, would be waited for forever."""
    for change in (
        lambda _: GroupHeader(),
        lambda header: header._replace(block=list_block.pack({IDS[0][4:]: LINE})),
    ):
        host, rng = large.copied(), random.Random(6)
        key = host.collecting()[0]
        for digit in b"37":
            changed_header(host, key + bytes([digit]), change)
        before = host.groups()[key].header.passes

        for _ in range(12):
            host.add_new(200, rng)

        assert host.groups()[key].header.passes > before


def test_headers_of_earlier_versions_are_read():
    """Their passes have no number of levels, and none of their groups collects."""
    passing = Pass({0: 3}, True, 64)
    header = GroupHeader({0: 3, 128: 2}, True, b"", 7, passing)
    *_, packed = orjson.loads(header.pack()[11:])

    assert len(packed) == 3
    assert GroupHeader.of({HEADER: Cell(header.pack(), 0)}) == header


def test_a_header_keeps_its_levels_and_that_the_group_collects():
    header = GroupHeader({0: 3, 128: 2}, True, b"", 7, Pass({0: 3}, True, 64, 2), True)

    assert GroupHeader.of({HEADER: Cell(header.pack(), 0)}) == header
