"""Killed between any two writes and run again: nothing is lost, duplicated or wrong."""

import pytest

from aragog.urlstore.records import Likeness, OutLink
from aragog.urlstore.writing.alias_merger import REFETCH_DELAY_MS
from tests.support.faults import every_kill_point, unharmed
from tests.support.stores import NOW_MS, alias_page, body, page
from zengraph.links import _compaction as compaction

A, B, C, D, E, F = (f"http://{x}.example/" for x in "abcdef")
URLS = [A, B, C, D, E, F]


def before(harness):
    """The state before anything is killed."""
    harness.store.write_pages(
        [
            page(A, fields={"t": b"a0"}, content=body("a0"), links=[B, C], due_at_ms=NOW_MS + 7),
            alias_page(D, E, "d0", [A]),
            page(
                C,
                fields={"t": b"c0", "c": b"1"},
                content=body("c0"),
                links=[B, D],
                due_at_ms=NOW_MS + 8,
            ),
        ]
    )
    harness.compact()
    harness.clock.advance_ms(100_000)


def write_a_batch(harness):
    at = NOW_MS + 50_000
    harness.store.write_pages(
        [
            page(
                A,
                at,
                final_url=B,
                fields={"t": b"b1", "product.price": b"4"},
                content=body("b1"),
                links=[C, E],
                due_at_ms=at + 7,
            ),
            page(C, at, canonical_url=B, fields={"t": b"c1"}, links=[A]),
            page(E, at, facts={"status": 404}, gone=True),
        ]
    )


def compact_all(harness):
    harness.store.maintenance.compact_links(1000)


def merge(harness):
    harness.store.aliases.merge(A, C, at_ms=NOW_MS + 60_000)
    harness.store.aliases.merge(C, B, at_ms=NOW_MS + 60_001)


def undo(harness):
    harness.store.aliases.undo(D)


def remove(harness):
    harness.store.remove(A)
    harness.store.takedowns.take_down(url=D)


def edit(harness):
    harness.store.put(A, {"x": b"1", "product.price": b"1"}, at_ms=NOW_MS + 50_000)
    harness.store.put_content(A, b"new", at_ms=NOW_MS + 50_000)
    harness.store.schedule.plan(A, NOW_MS + 99)
    harness.store.links.add(A, [OutLink(E)])
    harness.store.links.remove(A, [B])


def repair(harness):
    harness.store.maintenance.repair(grace_s=1)


def leave(harness):
    """Writes one page twice in a batch: it leaves its canonical URL and then fails."""
    at = NOW_MS + 60_000
    harness.store.write_pages(
        [
            page(D, at, fields={"t": b"d2"}, content=body("d2"), links=[B]),
            page(D, at + 5, facts={"status": 500}),
        ]
    )


def _declaring(url, at_ms, canonical, text):
    return page(
        url, at_ms, canonical_url=canonical, provisional=canonical != url,
        fields={"t": text.encode()}, content=body(text), links=[B], facts={"status": 200},
        likeness=Likeness(body=text[0]), provenance={"t": "meta"}, due_at_ms=NOW_MS + 100_000 + REFETCH_DELAY_MS,
    )  # fmt: skip


def dispute(harness):
    """Two pages share a canonical URL that was never fetched, and a third page differs."""
    at = NOW_MS + 60_000
    for one in (
        _declaring(A, at, F, "x of A"),
        _declaring(C, at + 1, F, "x of C"),
        _declaring(E, at + 2, F, "y of E"),
    ):
        harness.store.write_pages([one])


def decide(harness):
    """The canonical URL shared by two pages is fetched and differs from both."""
    at = NOW_MS + 60_000
    for one in (
        _declaring(A, at, F, "x of A"),
        _declaring(C, at + 1, F, "x of C"),
        _declaring(F, at + 2, F, "y of F"),
    ):
        harness.store.write_pages([one])


STEPS = (write_a_batch, merge, undo, remove, edit, leave, dispute, decide)


def shown(harness):
    """Everything a reader can see except versions."""
    seen = {}
    for url in URLS:
        record = harness.store.get(url, info=True)
        content = harness.store.content(url)
        seen[url] = (
            record
            # Due times are in seconds: the write clock advances by a millisecond in each run.
            and (
                record.canonical_url,
                record.fields,
                record.info,
                record.facts,
                record.due_at_ms and record.due_at_ms // 1000,
            ),
            content and content.body,
            sorted(harness.store.aliases.of(url)),
            harness.sources(url),
            harness.store.links.count_inlinks(url),
            [link.url for link in harness.store.links.outlinks(url).items],
        )
    return seen


def settled(harness):
    """What is shown after all maintenance has run."""
    harness.clock.advance_ms(2 * compaction.GRACE_MS)
    harness.compact()
    harness.store.maintenance.repair()
    harness.compact()
    return shown(harness)


def consistent(harness):
    """Checks the invariants that hold after any partial write."""
    for url in URLS:
        record = harness.store.get(url)
        content = harness.store.content(url)
        assert content is None or record is not None
        assert harness.store.links.count_inlinks(url) == len(harness.sources(url))
        for alias in harness.store.aliases.of(url):
            assert harness.store.resolve(alias) == harness.store.resolve(url)
        for link in harness.store.links.inlinks(url).items:
            targets = {out.url for out in harness.store.links.outlinks(link.url).items}
            assert link.target in targets


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_result_is_the_same_after_a_kill_and_a_rerun(step):
    expected = settled(unharmed(before, step))

    points = 0
    for point, harness in every_kill_point(before, step=step):
        points += 1
        step(harness)
        assert settled(harness) == expected, f"killed before write {point}"
    assert points > 3


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_repair_fixes_everything_after_a_kill_without_a_rerun(step):
    for _, harness in every_kill_point(before, step=step):
        harness.clock.advance_ms(2 * compaction.GRACE_MS)
        harness.compact()
        harness.store.maintenance.repair()
        harness.compact()
        consistent(harness)
        harness.clock.advance_ms(2 * compaction.GRACE_MS)
        assert harness.store.maintenance.repair().repaired == {}


@pytest.mark.parametrize("step", [compact_all, repair])
def test_killed_maintenance_has_the_same_result_after_a_rerun(step):
    expected = settled(unharmed(before, write_a_batch, step))

    for point, harness in every_kill_point(before, write_a_batch, step=step):
        assert settled(harness) == expected, f"killed before write {point}"
