"""A refresh, a hold, a release killed between any two writes, and run again."""

import pytest

from aragog.urlstore.feed.changes import SETTLE_MS
from aragog.urlstore.schedule.refresh_policy import Seen
from tests.support.faults import every_kill_point, unharmed
from tests.support.stores import NOW_MS, body, page

A, B, C = (f"http://{x}.example/" for x in "abc")
AT = NOW_MS + 50_000


def fetched(url, at_ms, price, **given):
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
    fields = {"product.price": price, "page.title": b'"T"'}
    return page(
        url, at_ms, seen=seen, fields=fields, provenance=dict.fromkeys(fields, "x"), **given
    )


def before(here):
    here.store.write_pages([fetched(url, NOW_MS, b'"5"', content=body("x")) for url in (A, B, C)])
    here.store.schedule.watch(A, "shop", at_ms=1)
    here.store.schedule.watch(C, "shop", at_ms=1)
    here.clock.advance_ms(100_000)


def refresh(here):
    gone = Seen(outcome="NotModified", fetched_at_ms=AT)
    here.store.write_pages([fetched(A, AT, b'"4"', content=body("y")), fetched(B, AT, b'"3"')])
    here.store.write_pages([page(C, AT, seen=gone)])


def lose_a_field(here):
    seen = Seen(outcome="Fetched", fetched_at_ms=AT, page_type="product")
    reported = {"fields": {"page.title": b'"T"'}, "provenance": {"page.title": "title"}}
    here.store.write_pages([page(A, AT, seen=seen, complete=True, **reported)])


def read_again(here):
    """As a walk does it, which passes over pages that bear the new version's mark."""
    mark = {"page.extractor_version": b"9"}
    if here.store.get(A).fields.get("page.extractor_version") != b"9":
        here.store.fields.replace(A, {"page.title": b'"New"', **mark}, {}, at_ms=NOW_MS)


def watch(here):
    here.store.schedule.watch(B, "kitchen", at_ms=2)


def unwatch(here):
    here.store.schedule.unwatch(A, "shop", at_ms=2)


def redirect(here):
    here.store.write_pages([fetched(A, AT, b'"5"', final_url=B)])


STEPS = (refresh, lose_a_field, read_again, watch, unwatch, redirect)


def shown(here):
    records = {url: here.store.get(url, info=True) for url in (A, B, C)}
    return {
        url: (
            record.canonical_url,
            record.fields,
            record.info,
            record.facts,
            record.due_at_ms,
            here.store.schedule.refresh_state(url),
            here.store.schedule.watchers(url),
            here.store.pages.history(url, "product.price"),
        )
        for url, record in records.items()
    }


def reported(here):
    here.clock.advance_ms(SETTLE_MS + 10_000)
    changes = here.store.feed.changes().items
    return {(c.url, c.at_ms, c.kind, c.owners, str(c.fields)) for c in changes}


@pytest.mark.parametrize("step", STEPS, ids=lambda step: step.__name__)
def test_it_ends_as_if_never_killed_and_every_change_is_reported(step):
    here = unharmed(before, step)
    expected, changes = shown(here), reported(here)

    points = 0
    for point, here in every_kill_point(before, step=step):
        points += 1
        step(here)
        assert shown(here) == expected, f"killed before write {point}"
        assert reported(here) == changes, f"killed before write {point}"
    assert points >= 2
