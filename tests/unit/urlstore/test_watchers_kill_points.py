"""A refresh, watch or unwatch killed between any two writes, and run again."""

import pytest

from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from tests.support.faults import every_kill_point, unharmed
from tests.support.stores import NOW_MS, body, page

A, B, C = (f"http://{x}.example/" for x in "abc")
AT = NOW_MS + 50_000


def fetched(url, at_ms, price, **parts):
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
    fields = {"product.price": price, "page.title": b'"T"'}
    return page(
        url, at_ms, seen=seen, fields=fields, provenance=dict.fromkeys(fields, "x"), **parts
    )


def before(harness):
    harness.store.write_pages(
        [fetched(url, NOW_MS, b'"5"', content=body("x")) for url in (A, B, C)]
    )
    harness.store.schedule.watch(A, "shop", at_ms=1)
    harness.store.schedule.watch(C, "shop", at_ms=1)
    harness.clock.advance_ms(100_000)


def refresh(harness):
    gone = Seen(outcome="NotModified", fetched_at_ms=AT)
    harness.store.write_pages([fetched(A, AT, b'"4"', content=body("y")), fetched(B, AT, b'"3"')])
    harness.store.write_pages([page(C, AT, seen=gone)])


def lose_a_field(harness):
    seen = Seen(outcome="Fetched", fetched_at_ms=AT, page_type="product")
    reported = {"fields": {"page.title": b'"T"'}, "provenance": {"page.title": "title"}}
    harness.store.write_pages([page(A, AT, seen=seen, complete=True, **reported)])


def read_again(harness):
    """Like a walk, which skips pages that have the mark of the new version."""
    mark = {"page.extractor_version": b"9"}
    if harness.store.get(A).fields.get("page.extractor_version") != b"9":
        harness.store.fields.replace(A, {"page.title": b'"New"', **mark}, {}, at_ms=NOW_MS)


def watch(harness):
    harness.store.schedule.watch(B, "kitchen", at_ms=2)


def unwatch(harness):
    harness.store.schedule.unwatch(A, "shop", at_ms=2)


def redirect(harness):
    harness.store.write_pages([fetched(A, AT, b'"5"', final_url=B)])


STEPS = (refresh, lose_a_field, read_again, watch, unwatch, redirect)


def shown(harness):
    records = {url: harness.store.get(url, info=True) for url in (A, B, C)}
    return {
        url: (
            record.canonical_url,
            record.fields,
            record.info,
            record.facts,
            record.due_at_ms,
            harness.store.schedule.refresh_state(url),
            harness.store.schedule.watchers(url),
            harness.store.pages.history(url, "product.price"),
        )
        for url, record in records.items()
    }


def reported(harness):
    harness.clock.advance_ms(SETTLE_MS + 10_000)
    changes = harness.store.feed.changes().items
    return {(c.url, c.at_ms, c.kind, c.owners, str(c.fields)) for c in changes}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_result_and_changes_are_the_same_after_a_kill_and_a_rerun(step):
    harness = unharmed(before, step)
    expected, changes = shown(harness), reported(harness)

    points = 0
    for point, harness in every_kill_point(before, step=step):
        points += 1
        step(harness)
        assert shown(harness) == expected, f"killed before write {point}"
        assert reported(harness) == changes, f"killed before write {point}"
    assert points >= 2
