"""Several compactors at once count each link once, even if one is slow, late or killed."""

import random
from itertools import count

import pytest

from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.faults import Fuse, Killed
from tests.support.hooked_tables import HookedTables
from tests.support.stores import NAMING, NOW_MS, Harness, page, store_harness
from tests.support.turns import Turns
from zengraph.links import ListLimits
from zengraph.links import _compaction as compaction
from zengraph.links._claims import LOCK_MS, ClaimCell
from zengraph.links._journal_keys import LANES, lane_of
from zengraph.tables.memory import MemoryTables

HOSTS = [f"http://h{number}.example" for number in range(5)]
PAGES = [f"{host}/{number}" for host in HOSTS for number in range(3)]
TARGETS = [*PAGES, "http://hub.example/"]
LIMITS = [
    ListLimits(
        group_lines=a, inline_lines=b, chunk_lines=c, many_deltas=d, large_lines=e, delta_lines=f
    )
    for a, b, c, d, e, f in ((1, 1, 1, 1, 0, 0), (6, 3, 2, 2, 2, 32), (12, 2, 4, 3, 0, 0))
]


def write_some(store, rng, at_ms):
    """Write pages on all hosts with random links, most of them to the hub."""
    store.write_pages(
        [page(url, at_ms, links=rng.sample(TARGETS, 5)) for url in rng.sample(PAGES, 9)]
    )


def assert_exact(harness):
    """Inlinks and their counts match the outlinks."""
    expected = {target: [] for target in TARGETS}
    for url in sorted(PAGES):
        for link in harness.store.links.outlinks(url).items:
            expected[link.url].append(url)
    for target in TARGETS:
        assert harness.sources(target) == expected[target]
        assert harness.store.links.count_inlinks(target) == len(expected[target])


def assert_settled(harness):
    """The state after everything is compacted, much later."""
    harness.clock.advance_ms(2 * compaction.GRACE_MS)
    harness.compact()
    assert_exact(harness)
    assert not [key for key, _ in harness.tables["j"].scan(b"", b"\xff")]
    assert harness.store.maintenance.repair().repaired.keys() <= {"segment that no head names"}
    assert_exact(harness)


class Pause(Fuse):
    """Calls `meanwhile` once, before one of the writes."""

    meanwhile = None

    def burn(self):
        if self.left == 0:
            self.left = None
            self.meanwhile()
        super().burn()


def two_stores(limits):
    """Two stores on the same tables and clock; the writes of the first go through a fuse."""
    clock, fuse, content = ManualClock(NOW_MS), Pause(), MemoryContent()
    inner = MemoryTables(clock, masking=True)
    harnesses = []
    for tables in (HookedTables(inner, fuse.burn), inner):
        store = UrlStore(tables, content, StoreSettings(), clock, lists=limits)
        harnesses.append(Harness(store, tables, content, clock))
    return fuse, *harnesses


@pytest.mark.parametrize("limits", LIMITS, ids=str)
@pytest.mark.parametrize("late", [True, False])
def test_compactor_paused_at_any_write_duplicates_nothing(limits, late):
    """
    `late`: the pause lasts until the other takes over its plan; otherwise both compact at once.
    """
    for point in count(LIMITS.index(limits), len(LIMITS)):  # together these cover every point
        fuse, slow, other = two_stores(limits)
        rng = random.Random(point)
        for step in range(3):
            write_some(other.store, rng, NOW_MS + step)
            if step < 2:
                other.compact()

        def meanwhile(slow=slow, other=other, rng=rng):
            if late:
                slow.clock.advance_ms(LOCK_MS + 1)
            for step in range(2):
                slow.clock.advance_ms(10)
                other.store.maintenance.compact_links(1000)
                write_some(other.store, rng, NOW_MS + 100 + step)
            other.store.maintenance.compact_links(1000)

        fuse.meanwhile, fuse.left = meanwhile, point
        for _ in range(8):
            slow.store.maintenance.compact_links(1)
        if fuse.left is not None:
            assert point > 20
            return
        assert_settled(other)


@pytest.mark.parametrize("limits", LIMITS, ids=str)
def test_compaction_killed_at_any_write_is_completed_by_another_process(limits):
    for point in count(LIMITS.index(limits), len(LIMITS)):  # together these cover every point
        fuse, killed, other = two_stores(limits)
        rng = random.Random(point)
        for step in range(3):
            write_some(other.store, rng, NOW_MS + step)
            if step < 2:
                other.compact()

        def die():
            raise Killed

        fuse.meanwhile, fuse.left = die, point
        try:
            for _ in range(8):
                killed.store.maintenance.compact_links(3)
        except Killed:
            pass
        else:
            assert point > 20
            return
        write_some(other.store, rng, NOW_MS + 100)
        other.store.maintenance.compact_links(2)
        assert_settled(other)


def compacting(harness, rng):
    def act():
        for _ in range(6):
            harness.store.maintenance.compact_links(rng.choice((1, 3, 1000)))

    return act


def writing(harness, rng):
    def act():
        for step in range(4):
            write_some(harness.store, rng, NOW_MS + 10 * step)

    return act


@pytest.mark.parametrize("seed", range(4))
def test_lists_and_counts_stay_exact_with_three_compactors_and_two_writers(quick_tables, seed):
    inner, turns = quick_tables(), Turns(seed)
    rng = random.Random(seed)
    limits = LIMITS[seed % len(LIMITS)]
    write_some(store_harness(inner, lists=limits).store, rng, NOW_MS - 1)
    harnesses = [
        store_harness(HookedTables(inner, turns.pass_on, turns.pass_on), lists=limits)
        for _ in range(5)
    ]

    turns.run(
        [
            act(each, random.Random(10 * seed + number))
            for number, (act, each) in enumerate(
                zip([compacting] * 3 + [writing] * 2, harnesses, strict=True)
            )
        ]
    )

    assert_settled(store_harness(inner, lists=limits))


class RowByRow(HookedTables):
    """Tables that read many rows one after the other, so that other tasks can run in between."""

    def __getitem__(self, name):
        table = super().__getitem__(name)

        def get_many(rows, columns=None):
            return {row: cells for row in rows if (cells := table.get(row, columns))}

        table.get_many = get_many
        return table


def links_of(harness):
    """(page, target) of all current links, compacted or not."""
    outlinks = harness.store.links.outlinks
    return {(url, link.url) for url in PAGES for link in outlinks(url).items}


def reading(harness, rng, read):
    def act():
        for _ in range(30):
            target = rng.choice(TARGETS)
            count = harness.store.links.count_inlinks(target)
            read.append((target, harness.sources(target), count))

    return act


@pytest.mark.parametrize("seed", [0, 2, 5, 32, 53])
def test_readers_see_each_link_once_while_two_processes_compact(quick_tables, seed):
    """
    The pages change several times. A link that never changed is always there, and no link is there
    twice.
    """
    inner, turns, rng = quick_tables(), Turns(seed), random.Random(seed)
    limits = LIMITS[seed % len(LIMITS)]
    still = store_harness(inner, lists=limits)
    for step in range(2):
        write_some(still.store, rng, NOW_MS + step)
        still.compact()
    states = [links_of(still)]
    for step in range(2, 5):
        write_some(still.store, rng, NOW_MS + step)
        states.append(links_of(still))
    harnesses = [
        store_harness(RowByRow(inner, turns.pass_on, turns.pass_on), lists=limits) for _ in range(4)
    ]
    read = []

    turns.run(
        [
            *[compacting(each, random.Random(seed + n)) for n, each in enumerate(harnesses[:2])],
            *[reading(each, random.Random(seed + n), read) for n, each in enumerate(harnesses[2:])],
        ]
    )

    still.compact()
    assert_exact(still)
    assert len(read) == 60
    always, ever = set.intersection(*states), set.union(*states)
    for target, sources, counted in read:
        stays, most = ({page for page, to in links if to == target} for links in (always, ever))
        assert sources == sorted({*sources}), "a link is listed twice"
        assert stays <= {*sources} <= most
        assert len(stays) <= counted <= len(most)


@pytest.mark.parametrize("limit", [1, 2, 3, 5, 8])
def test_compaction_that_reports_no_more_work_left_nothing_behind(limit):
    """
    The pages span more lanes than one compaction claims, and it takes `limit` pages at a time.
    """
    harness = store_harness(MemoryTables())
    for first in range(0, 24, 4):
        hosts = [f"http://host{(first + number) % 12}.example" for number in range(4)]
        harness.store.write_pages([page(f"{h}/{first}", links=TARGETS[:2]) for h in hosts])

    while harness.store.maintenance.compact_links(limit).left:
        pass

    assert harness.store.maintenance.compaction_lag_ms() == 0
    assert not [key for key, _ in harness.tables["j"].scan(b"", b"\xff")]


def test_lanes_are_divided_between_compactors(harness):
    claims = [ClaimCell(harness.tables["j"], harness.clock, 3) for _ in range(4)]

    first = claims[0].begin(range(LANES), 40)
    second = claims[1].begin(range(LANES), LANES)

    assert first.lanes.isdisjoint(second.lanes)
    assert len(first.lanes | second.lanes) == LANES
    assert (first.slot, second.slot) == (0, 1)
    assert claims[2].begin(range(LANES), 1) is None
    claims[0].plan(first, {3})
    third = claims[2].begin(range(LANES), 1)
    assert third.lanes == {0}
    assert claims[3].begin(range(LANES), 1) is None, "three processes compact at once"


def test_expired_claim_cannot_store_a_plan(harness):
    claims = ClaimCell(harness.tables["j"], harness.clock, 4)
    late = claims.begin([1, 2], 2)
    harness.clock.advance_ms(LOCK_MS + 1)
    next_one = claims.begin([1, 2], 2)

    assert claims.plan(late, {1}) is None
    assert (next_one.slot, next_one.number) == (late.slot, late.number + 1)
    assert claims.plan(next_one, {1}) is not None


def test_stored_plan_stays_until_another_process_takes_it_over(harness):
    claims = ClaimCell(harness.tables["j"], harness.clock, 4)
    planned = claims.plan(claims.begin([1, 2], 2), {1})
    harness.clock.advance_ms(LOCK_MS + 1)

    assert claims.begin([1], 1) is None
    found = claims.read().abandoned(harness.clock.now_ms())
    taken = claims.take_over(found)

    assert (taken.slot, taken.number, taken.lanes) == (planned.slot, planned.number, {1})
    assert claims.take_over(found) is None
    assert not claims.end(planned)
    assert claims.end(taken)


def test_row_withdrawn_late_by_its_writer_does_not_come_back(tables):
    """One of two changes is overtaken, and its row is compacted before its writer withdraws it."""
    a, b = f"{HOSTS[0]}/a", f"{HOSTS[0]}/b"
    slow, fast = store_harness(Interrupted(tables)), store_harness(tables)

    def meanwhile():
        fast.store.write_pages([page(b, NOW_MS + 50, links=[PAGES[1]])])

    slow.tables.before_check = meanwhile
    slow.tables.before_withdrawal = fast.compact
    slow.store.write_pages([page(a, links=[PAGES[0]]), page(b, links=[PAGES[0]])])
    fast.clock.advance_ms(2 * compaction.GRACE_MS)
    fast.compact()

    assert slow.tables.before_check is slow.tables.before_withdrawal is None
    assert fast.sources(PAGES[0]) == [a]
    assert fast.store.links.count_inlinks(PAGES[0]) == 1
    assert fast.store.links.count_inlinks(PAGES[1]) == 1


class Interrupted:
    """Tables that call a function before outlinks are checked and before a journal row changes."""

    before_check = before_withdrawal = None

    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __getitem__(self, name):
        return InterruptedTable(self, self.inner[name], name)

    def call(self, which):
        act, _ = getattr(self, which), setattr(self, which, None)
        if act:
            act()


class InterruptedTable:
    def __init__(self, tables, inner, name):
        self.tables, self.inner, self.name = tables, inner, name

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def check_and_put(self, *args):
        if self.name == "j":
            self.tables.call("before_withdrawal")
        return self.inner.check_and_put(*args)

    def check_and_put_many(self, items):
        if self.name == "o":
            self.tables.call("before_check")
        return self.inner.check_and_put_many(items)


def test_all_changes_of_a_page_are_in_one_lane(harness):
    for step in range(3):
        harness.clock.advance_ms(10)
        harness.store.write_pages([page(PAGES[0], NOW_MS + step, links=TARGETS[: 2 + step])])

    keys = [key for key, _ in harness.tables["j"].scan(b"", b"\xff")]
    lane = lane_of(NAMING, PAGES[0].encode())
    assert {key[:2] for key in keys} == {bytes([lane % 16, 128 + lane])}
    assert len(keys) == 3
