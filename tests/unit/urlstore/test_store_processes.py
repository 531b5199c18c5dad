"""Several processes on one store at the same time, with SQLite."""

import multiprocessing
import os
import random
import traceback

import pytest

from aragog.runtime.clock import ManualClock, SystemClock
from aragog.settings import StoreSettings
from aragog.urlstore.content import FolderContent
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, body, page
from zengraph.links._claims import LOCK_MS
from zengraph.links._compaction import GRACE_MS
from zengraph.tables.sqlite import SqliteTables

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")

FORK = multiprocessing.get_context("fork")
A, B, C = (f"http://{x}.example/" for x in "abc")


def opened(folder, clock=None):
    return UrlStore(
        SqliteTables(folder / "tables"), FolderContent(folder / "content"), StoreSettings(), clock
    )


def run_concurrently(folder, acts):
    """Runs each function in its own process with its own store, all at the same time."""
    barrier = FORK.Barrier(len(acts))

    def run(number, act):
        try:
            store = opened(folder)
            barrier.wait(120)
            act(store)
        except BaseException:
            (folder / f"problem{number}").write_text(traceback.format_exc())
            os._exit(1)
        os._exit(0)

    processes = [FORK.Process(target=run, args=pair) for pair in enumerate(acts)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(120)
    problems = [path.read_text() for path in sorted(folder.glob("problem*"))]
    assert not problems, "\n".join(problems)
    assert [process.exitcode for process in processes] == [0] * len(acts)


def test_concurrent_merges_of_an_alias_keep_the_latest_evidence(tmp_path):
    store = opened(tmp_path)
    store.write_pages([page(A, NOW_MS - 9, fields={"t": b"1"}, content=body("x"), links=[C])])

    def merging(home, at_ms):
        return lambda store: store.aliases.merge(A, home, at_ms=at_ms)

    run_concurrently(
        tmp_path,
        [merging(B, NOW_MS), merging(B, NOW_MS), merging(C, NOW_MS - 1), merging(B, NOW_MS)],
    )

    assert store.resolve(A) == B
    assert store.aliases.of(B) == [A]
    assert store.aliases.of(C) == []
    store.maintenance.repair(grace_s=0.001)
    assert store.maintenance.repair(grace_s=0.001).repaired == {}


def test_concurrent_writes_of_a_page_keep_lists_and_counts_correct(tmp_path):
    targets = [f"http://t.example/{i}" for i in range(12)]

    def writing(number):
        def act(store):
            for round_ in range(15):
                at_ms = NOW_MS + round_ * 10 + number
                links = targets[(round_ * number) % 5 : 4 + (round_ + number) % 8]
                store.write_pages(
                    [
                        page(A, at_ms, links=links),
                        page(f"http://p{number}.example/", at_ms, links=links),
                    ]
                )
                store.maintenance.compact_links(50)

        return act

    run_concurrently(tmp_path, [writing(number) for number in range(4)])
    # A change overtaken by another process waits until its writer is considered dead.
    later = ManualClock(SystemClock().now_ms() + 2 * GRACE_MS)
    store = opened(tmp_path, later)
    while store.maintenance.compact_links(1000).journal_rows:
        pass

    pages = [A, *(f"http://p{number}.example/" for number in range(4))]
    for target in targets:
        sources = sorted(
            p for p in pages if target in [x.url for x in store.links.outlinks(p).items]
        )
        assert [link.url for link in store.links.inlinks(target).items] == sources
        assert store.links.count_inlinks(target) == len(sources)


class FastClock(SystemClock):
    """A clock that is ahead by more than a lease, so it takes over leases of live processes."""

    def now_ms(self):
        return super().now_ms() + LOCK_MS + 1000


def test_killed_compactors_keep_lists_and_counts_exact(tmp_path):
    store, rng = opened(tmp_path), random.Random(1)
    pages = [f"http://h{number % 9}.example/{number}" for number in range(60)]

    def compacting(clock):
        store = opened(tmp_path, clock)
        while True:
            store.maintenance.compact_links(3)

    for round_ in range(8):
        clocks = (SystemClock(), SystemClock(), FastClock())
        compactors = [FORK.Process(target=compacting, args=(clock,)) for clock in clocks]
        for process in compactors:
            process.start()
        for step in range(6):
            at_ms = NOW_MS + 100 * round_ + step
            some = rng.sample(pages, 12)
            store.write_pages([page(url, at_ms, links=rng.sample(pages, 8)) for url in some])
        for process in compactors:
            process.kill()
            process.join()
    store = opened(tmp_path, ManualClock(SystemClock().now_ms() + 4 * GRACE_MS))
    while store.maintenance.compact_links(1000).left:
        pass

    for target in pages:
        sources = sorted(
            url for url in pages if target in [x.url for x in store.links.outlinks(url).items]
        )
        assert [link.url for link in store.links.inlinks(target).items] == sources
        assert store.links.count_inlinks(target) == len(sources)


def test_conditional_write_succeeds_once(tmp_path):
    store = opened(tmp_path)
    version = store.put(A, {"n": b"0"})

    def claiming(number):
        def act(store):
            try:
                store.put(A, {"n": b"%d" % number}, if_version=version)
            except Exception:
                return
            (tmp_path / f"won{number}").write_text("")

        return act

    run_concurrently(tmp_path, [claiming(number) for number in range(1, 5)])

    won = [path.name for path in tmp_path.glob("won*")]
    assert len(won) == 1
    assert store.get(A).fields == {"n": won[0].removeprefix("won").encode()}


def test_due_urls_are_claimed_by_only_one_process(tmp_path):
    store = opened(tmp_path)
    store.write_pages([page(f"http://d{i}.example/", due_at_ms=NOW_MS) for i in range(60)])

    def claiming(number):
        def act(store):
            taken = [due.url for due in store.schedule.claim_due(NOW_MS, 40, lease_s=60)]
            (tmp_path / f"taken{number}").write_text("\n".join(taken))

        return act

    run_concurrently(tmp_path, [claiming(number) for number in range(3)])

    taken = "\n".join(path.read_text() for path in tmp_path.glob("taken*")).split()
    assert len(taken) == len(set(taken))
