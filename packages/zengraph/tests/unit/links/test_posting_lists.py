"""Posting lists in groups: splits, moves, long lists and kills, compared with a naive model."""

from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.faults import Fuse, Killed
from support.hooked_tables import HookedTables

from zengraph.clock import ManualClock
from zengraph.links import ListLimits, Naming, PostingLists
from zengraph.links import _zstd as zstd
from zengraph.links._inlinks.group_rows import MAX_DEPTH, ListGroup, group_key, is_group
from zengraph.links._inlinks.postings import LinkChanges
from zengraph.tables import newest_ms
from zengraph.tables.memory import MemoryTables

NOW_MS = 1_700_000_000_000
NAMING = Naming(lambda name: name.split(b"/", 3)[2])
list_id = NAMING.list_id
TARGETS = [b"http://%s.example/%d" % (host, number) for host in (b"a", b"b") for number in range(3)]
SOURCES = [b"http://s.example/%d" % number for number in range(4)]
LIMITS = [
    ListLimits(
        group_lines=a, inline_lines=b, chunk_lines=2, large_lines=0, many_deltas=c, delta_lines=d
    )
    for a, b, c, d in ((1, 1, 1, 0), (5, 1, 3, 0), (1, 4, 3, 32), (5, 4, 1, 32))
]
ADD = st.lists(
    st.tuples(st.sampled_from(SOURCES), st.sampled_from(TARGETS)), min_size=1, max_size=9
)
HISTORY = st.lists(st.one_of(ADD, st.just("forget")), min_size=1, max_size=14)


class Model:
    """Lists written by toggling links, and their expected content."""

    def __init__(self, tables, limits):
        self.tables = tables
        self.lists = PostingLists(tables, NAMING, limits)
        self.links = {}
        self.number = 0

    def batch(self, pairs):
        """Toggles these links, one after the other."""
        self.number += 1
        lines, removals = {}, {}
        for step, (source, target) in enumerate(pairs):
            at_ms = NOW_MS + 100 * self.number + step
            there = self.links.get((source, target), False)
            self.links[source, target] = not there
            kind = b"-" if there else b"+"
            line = b"%s\t%013d\t%s\t\t%s" % (source, at_ms, kind, b"" if there else b"text")
            lines[target] = lines[target] + b"\n" + line if target in lines else line
            if there:
                removals.setdefault(list_id(target), []).append(source)
        return self.changes(lines, removals)

    def changes(self, lines, removals):
        """The input of a compaction: lines by target, at the depths stored in its plan."""
        groups = NAMING.by_group(lines)
        depths = self.lists.depths(self.lists.deepest(groups))
        return LinkChanges(self.number, NOW_MS + self.number, groups, removals, depths)

    def forget(self):
        """Deletes every removed link, as a takedown does."""
        self.number += 1
        ids = [list_id(target) for target in TARGETS]
        self.lists.forget_removed(ids, NOW_MS + self.number)

    def check(self):
        for target in TARGETS:
            expected = [s for s in SOURCES if self.links.get((s, target))]
            shown = [line.partition(b"\t")[0] for line in self.lists.lines(list_id(target))]
            assert shown == sorted(expected)
            assert self.lists.count([list_id(target)]) == len(expected)
        assert self.lists.count([list_id(t) for t in TARGETS]) == sum(self.links.values())

    def stored(self):
        """All values of the list rows, uncompressed."""
        for _, row in self.tables["l"].scan(b"", None):
            for cell in row.values():
                plain, *packed = cell.value.split(zstd.MAGIC)
                yield b" ".join([plain, *(zstd.decompress(zstd.MAGIC + part) for part in packed)])


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@settings(max_examples=25, deadline=None)
@given(HISTORY)
def test_random_histories_agree_with_a_naive_model(limits, history):
    model = Model(MemoryTables(masking=True), limits)
    for step in history:
        if step == "forget":
            model.forget()
        else:
            model.lists.add(model.batch(step))
        model.check()
    assert list(model.lists.problems(lambda: None)) == []


EVERYTHING = [(source, target) for source in SOURCES for target in TARGETS]


def mortal_model(fuse, limits):
    """A model with some links, all written through the fuse."""
    model = Model(HookedTables(MemoryTables(ManualClock(NOW_MS)), fuse.burn), limits)
    for start in range(0, len(EVERYTHING), 9):
        model.lists.add(model.batch(EVERYTHING[start : start + 9]))
    return model


def killed_anywhere(limits, begin, *, writes=1):
    """Yields each model whose change was killed before its first write, its second, and so on.

    `begin(model)` prepares a change and returns the call that applies it; that call is yielded as
    well. The change must make at least `writes` writes.
    """
    for point in range(1000):
        fuse = Fuse()
        model = mortal_model(fuse, limits)
        change = begin(model)
        fuse.left = point
        try:
            change()
        except Killed:
            fuse.left = None
            yield model, change
        else:
            assert point >= writes
            return


def assert_later_changes_work(model):
    model.check()
    model.lists.add(model.batch(EVERYTHING[::2]))
    model.check()


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_change_killed_anywhere_and_repeated_is_applied_once(limits):
    def begin(model):
        return partial(model.lists.add, model.batch(EVERYTHING[::3]))

    for model, change in killed_anywhere(limits, begin, writes=11):
        change()
        assert_later_changes_work(model)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_rewrite_killed_anywhere_and_repeated_loses_nothing(limits):
    def begin(model):
        model.lists.add(model.batch(EVERYTHING[:6]))
        return model.forget

    for model, change in killed_anywhere(limits, begin, writes=11):
        model.number -= 1
        change()
        assert_later_changes_work(model)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_list_and_count_stay_correct_while_lines_move(limits):
    """A process killed in the middle of a compaction leaves the state that readers see then."""

    def begin(model):
        return partial(model.lists.add, model.batch([(b"http://x.example/", TARGETS[0])]))

    for model, _ in killed_anywhere(limits, begin):
        for target in TARGETS:
            shown = list(model.lists.lines(list_id(target)))
            assert model.lists.count([list_id(target)]) == len(shown)
            assert len(shown) - len(SOURCES) in ((0, 1) if target == TARGETS[0] else (0,))


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_no_row_contains_a_removed_link_after_forgetting(limits):
    model = Model(MemoryTables(masking=True), limits)
    gone, *rest = SOURCES
    model.lists.add(model.batch(EVERYTHING))
    model.lists.add(model.batch([(gone, target) for target in TARGETS]))

    model.forget()

    assert not any(gone in value for value in model.stored())
    assert {NAMING.id_of(gone)}.isdisjoint(key for key, _ in model.tables["o"].scan(b"", None))
    model.check()
    assert all(any(source in value for value in model.stored()) for source in rest)


def test_host_with_many_links_has_many_small_groups():
    model = Model(MemoryTables(), ListLimits(group_lines=64, large_lines=64))
    targets = [b"http://big.example/%d" % number for number in range(3000)]
    lines = dict.fromkeys(targets, b"http://s.example/\t%013d\t+\t\ttext" % NOW_MS)

    model.lists.add(model.changes(lines, {}))

    keys = [key for key, _ in model.tables["l"].scan(b"", None)]
    assert all(is_group(key) for key in keys)
    assert len(keys) > 3000 / 64
    assert group_key(list_id(targets[0]), MAX_DEPTH)[:4] == keys[0]
    assert model.lists.count([list_id(target) for target in targets]) == 3000


def test_lost_group_row_is_repaired_so_that_lower_groups_are_found():
    model = Model(MemoryTables(), LIMITS[0])
    pairs = [(SOURCES[0], target) for target in TARGETS]
    model.lists.add(model.batch(pairs))
    root = list_id(TARGETS[0])[:4]
    model.tables["l"].delete(root, at_ms=newest_ms(model.tables["l"].get(root)))

    for key, _ in list(model.lists.problems(lambda: None)):
        model.lists.repair(key, NOW_MS + 200)

    model.check()
    assert list(model.lists.problems(lambda: None)) == []


def many_lines(number, targets):
    """A line from a new source for each target, written by the compaction with that number."""
    line = b"http://s.example/%d\t%013d\t+\t\ttext" % (number, NOW_MS + number)
    return dict.fromkeys(targets, line)


def large_model(count=3000, **limits):
    """A host with `count` targets whose first groups have been divided twice, and those targets."""
    limits = {"group_lines": 64, "large_lines": 64, "delta_lines": 8} | limits
    model = Model(MemoryTables(), ListLimits(**limits))
    targets = [b"http://big.example/%d" % number for number in range(count)]
    for _ in range(2):
        model.number += 1
        model.lists.add(model.changes(many_lines(model.number, targets), {}))
    return model, targets


def test_large_batch_skips_groups_that_would_only_pass_its_lines_on():
    model, targets = large_model()
    model.number += 1
    changes = model.changes(many_lines(model.number, targets), {})
    root = list_id(targets[0])[:4]
    passes = {key: ListGroup(key, row).header.passes for key, row in rows_of(model, (4, 5))}

    model.lists.add(changes)

    assert changes.depths == {root: 2}
    assert {k: ListGroup(k, row).header.passes for k, row in rows_of(model, (4, 5))} == passes
    assert model.lists.count([list_id(target) for target in targets]) == 9000


def rows_of(model, lengths):
    """The rows of groups whose keys have one of these lengths."""
    rows = model.tables["l"].scan(b"", None)
    return [(key, row) for key, row in rows if len(key) in lengths]


def test_line_does_not_overtake_earlier_ones_still_in_a_group_above():
    model, targets = large_model()
    model.number += 1
    model.lists.add(
        model.changes(many_lines(model.number, targets[:1]), {})
    )  # stays in the top group
    model.number += 1

    changes = model.changes(many_lines(model.number, targets), {})

    assert changes.depths == {list_id(targets[0])[:4]: 0}
    model.lists.add(changes)
    assert model.lists.count([list_id(target) for target in targets]) == 9001


def test_leaves_of_a_large_host_are_not_all_divided_at_once():
    """Leaves grow alike, and dividing all of them at once took as long as all previous additions."""
    model, _ = large_model(6000, group_lines=32, large_lines=32)

    leaves = {len(key) for key, row in model.tables["l"].scan(b"", None) if is_leaf(key, row)}

    assert len(leaves) > 1


def is_leaf(key, row):
    return is_group(key) and not ListGroup(key, row).header.divided


def test_links_of_a_plan_completed_by_an_earlier_version_are_counted_once():
    """Earlier versions write all lines to the first group, regardless of the depths in a plan."""
    model, targets = large_model()
    model.number += 1
    changes = model.changes(many_lines(model.number, targets), {})
    assert set(changes.depths.values()) == {2}

    model.lists.add(changes)
    model.lists.add(changes._replace(depths={}))

    for _ in range(2):
        assert model.lists.count([list_id(target) for target in targets]) == 3000 * model.number
        assert len(list(model.lists.lines(list_id(targets[5])))) == model.number
        model.number += 1
        model.lists.add(model.changes(many_lines(model.number, targets), {}))
