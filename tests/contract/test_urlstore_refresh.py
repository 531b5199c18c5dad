"""
Refreshing on every engine: when a page is due, what a refresh writes, and what ends refreshing.
"""

from dataclasses import replace

import pytest

from aragog.transfer.import_export import export_urls
from aragog.urlstore.crawl_budget import Budget
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.usual_intervals import DAY_S, HOUR_S
from tests.support.refreshed_pages import HOUR_MS, A, B, C, failed, fetched, reported
from tests.support.stores import NOW_MS, body, page


def test_page_is_due_after_the_interval_of_its_fields(harness):
    harness.store.write_pages([fetched(A)])

    wait_s = (harness.store.get(A).due_at_ms - NOW_MS) / 1000
    assert wait_s == pytest.approx(6 * HOUR_S, rel=0.1)
    assert [d.url for d in harness.store.schedule.claim_due(NOW_MS + 7 * HOUR_MS, 9, 60)] == [A]


def test_claim_returns_the_refresh_state_of_the_page(harness):
    harness.store.write_pages([fetched(A), page(B, fields={"t": b"1"}, due_at_ms=NOW_MS)])
    claimed = harness.store.schedule.claim_due(NOW_MS + 7 * HOUR_MS, 9, 60)

    assert {d.url: d.state for d in claimed} == {
        A: harness.store.schedule.refresh_state(A),
        B: None,
    }
    assert harness.store.schedule.refresh_state(A).page_type == "product"


def test_refresh_budgets_of_domains_are_kept(harness):
    budget = Budget(booked_ms=NOW_MS, free_ms=5, price_s=1.5, age_s=2.5, at_ms=7)
    harness.store.schedule.keep_budgets({"a.example": budget, "b.example": Budget(free_ms=1)})
    harness.clock.advance_ms(1)
    harness.store.schedule.keep_budgets({"b.example": Budget(free_ms=2)})

    assert harness.store.schedule.budgets(["a.example", "b.example", "c.example"]) == {
        "a.example": budget,
        "b.example": Budget(free_ms=2),
        "c.example": Budget(),
    }


def test_postponed_pages_are_due_at_the_new_time(harness):
    harness.store.write_pages([fetched(A), fetched(B)])
    now_ms = NOW_MS + 7 * HOUR_MS
    claimed = harness.store.schedule.claim_due(now_ms, 9, 60)
    harness.clock.advance_ms(7 * HOUR_MS)
    harness.store.schedule.postpone([(page, now_ms + 9) for page in claimed])

    assert harness.store.schedule.claim_due(now_ms + 8, 9, 60) == []
    assert sorted(d.url for d in harness.store.schedule.claim_due(now_ms + 9, 9, 60)) == [A, B]


def test_only_changed_fields_are_written(harness):
    harness.store.write_pages([fetched(A)])
    harness.clock.advance_ms(HOUR_MS)
    later = {"page.title": b'"T"', "product.price": b'"4"'}
    harness.store.write_pages([fetched(A, NOW_MS + HOUR_MS, fields=later)])

    info = harness.store.get(A, info=True).info
    assert info["page.title"].at_ms == NOW_MS
    assert info["product.price"].at_ms == NOW_MS + HOUR_MS


def whole(url, at_ms, fields, **parts):
    """A page that was read completely: these are all of its fields."""
    source = dict.fromkeys(fields, "json-ld[0]")
    return fetched(url, at_ms, fields=fields, provenance=source, complete=True, **parts)


TITLE, PRICE = {"page.title": b'"T"'}, {"product.price": b'"5"'}


def test_field_removed_from_its_page_is_deleted_and_in_the_feed(harness):
    harness.store.write_pages([whole(A, NOW_MS, {**TITLE, **PRICE})])
    harness.store.write_pages([whole(A, NOW_MS + 9, TITLE)])

    assert harness.store.get(A).fields == TITLE
    (change,) = reported(harness)
    assert change.fields == {"product.price": ('"5"', None)}
    assert harness.store.pages.history(A, "product.price") == [(b'"5"', NOW_MS)]
    assert harness.store.schedule.refresh_state(A).changes == 1


def test_field_that_returns_is_a_new_change(harness):
    harness.store.write_pages([whole(A, NOW_MS, {**TITLE, **PRICE})])
    for n in range(1, 4):
        harness.store.write_pages([whole(A, NOW_MS + n, TITLE)])
    harness.clock.advance_ms(9)
    harness.store.write_pages([whole(A, NOW_MS + 9, {**TITLE, "product.price": b'"4"'})])

    assert [c.fields["product.price"] for c in reported(harness)] == [('"5"', None), (None, '"4"')]
    info = harness.store.get(A, info=True).info["product.price"]
    assert (info.at_ms, info.provenance) == (NOW_MS + 9, "json-ld[0]")


def test_fields_put_by_others_stay_when_the_page_loses_them(harness):
    harness.store.write_pages([whole(A, NOW_MS, {**TITLE, **PRICE})])
    harness.store.put(A, {"product.price": b'"ours"', "team.note": b"x"}, at_ms=NOW_MS + 5)
    harness.store.write_pages([whole(A, NOW_MS + 9, TITLE)])

    fields = harness.store.get(A).fields
    assert fields == {**TITLE, "product.price": b'"ours"', "team.note": b"x"}


def test_page_not_read_completely_keeps_its_fields(harness):
    harness.store.write_pages([whole(A, NOW_MS, {**TITLE, **PRICE})])
    harness.store.write_pages([fetched(A, NOW_MS + 8, fields=TITLE)])
    harness.store.write_pages([failed(A, NOW_MS + 9, "NotModified")])

    assert harness.store.get(A).fields == {**TITLE, **PRICE}
    assert reported(harness) == []


def test_late_older_fetch_restores_nothing(harness):
    older = whole(A, NOW_MS + 1, {**TITLE, **PRICE})
    harness.store.write_pages([older, whole(A, NOW_MS + 9, TITLE)])
    harness.store.write_pages([older])

    assert harness.store.get(A).fields == TITLE


def test_repeated_write_deletes_fields_once(harness):
    harness.store.write_pages([whole(A, NOW_MS, {**TITLE, **PRICE})])
    again = [whole(A, NOW_MS + 9, TITLE)]
    harness.store.write_pages(again)
    state, due = harness.store.schedule.refresh_state(A), harness.store.get(A).due_at_ms
    harness.store.write_pages(again)

    assert harness.store.get(A).fields == TITLE
    assert (harness.store.schedule.refresh_state(A), harness.store.get(A).due_at_ms) == (state, due)
    assert len(reported(harness)) == 1


def test_page_from_an_alias_deletes_no_fields(harness):
    harness.store.write_pages([whole(A, NOW_MS, {**TITLE, **PRICE})])
    harness.store.write_pages([whole(B, NOW_MS + 8, TITLE, canonical_url=A, provisional=True)])
    assert harness.store.get(A).fields == {**TITLE, **PRICE}

    harness.store.write_pages([whole(B, NOW_MS + 9, TITLE, final_url=A)])
    assert harness.store.get(B).fields == TITLE


def test_change_makes_the_next_fetch_sooner(harness):
    harness.store.write_pages([fetched(A), fetched(B)])
    at = NOW_MS + 6 * HOUR_MS
    changed = {"page.title": b'"T"', "product.price": b'"4"'}
    harness.store.write_pages([fetched(A, at, fields=changed), fetched(B, at)])

    lively, quiet = (harness.store.get(url).due_at_ms - at for url in (A, B))
    assert lively < 0.75 * quiet


def test_304_is_a_check_that_keeps_content_and_fields(harness):
    harness.store.write_pages([fetched(A, content=body("x"))])
    at = NOW_MS + 6 * HOUR_MS
    harness.clock.advance_ms(6 * HOUR_MS)
    harness.store.write_pages([failed(A, at, "NotModified")])

    record = harness.store.get(A)
    assert record.fields["product.price"] == b'"5"'
    assert harness.store.content(A).body == b"x"
    assert record.facts["fetched_at_ms"] == NOW_MS
    assert record.due_at_ms - at > 6 * HOUR_MS * 0.9


def test_late_older_fetch_only_fills_gaps(harness):
    harness.store.write_pages([fetched(A), fetched(A, NOW_MS + 2)])
    harness.store.write_pages(
        [fetched(A, NOW_MS + 1, fields={"product.price": b'"9"', "product.sku": b'"1"'})]
    )

    record = harness.store.get(A)
    assert record.fields["product.price"] == b'"5"'
    assert record.fields["product.sku"] == b'"1"'


def test_later_of_two_fetches_in_a_batch_counts(harness):
    harness.store.write_pages([fetched(A)])
    harness.store.write_pages(
        [fetched(A, NOW_MS + 9), fetched(A, NOW_MS + 5, fields={"product.price": b'"9"'})]
    )

    assert harness.store.get(A).fields["product.price"] == b'"5"'


def test_refresh_stored_twice_is_planned_and_reported_once(harness):
    harness.store.write_pages([fetched(A)])
    harness.clock.advance_ms(HOUR_MS)
    again = [fetched(A, NOW_MS + HOUR_MS, fields={"product.price": b'"4"'})]
    harness.store.write_pages(again)
    due = harness.store.get(A).due_at_ms
    harness.clock.advance_ms(5000)
    harness.store.write_pages(again)

    assert harness.store.get(A).due_at_ms == due
    assert len(reported(harness)) == 1


class Exported:
    """Keeps what an export writes."""

    def __init__(self):
        self.records = []

    def write(self, batch):
        self.records += batch


def test_page_with_an_end_date_is_due_then_and_hidden_afterwards(harness):
    end_ms = NOW_MS + 3_600_000
    facts = {"outcome": "Fetched", "status": 200, "unavailable_after_ms": end_ms}
    seen = Seen(outcome="Fetched", fetched_at_ms=NOW_MS, body_hash="1")
    harness.store.write_pages(
        [page(A, fields={"t": b"1"}, content=body("x"), links=[], facts=facts, seen=seen)]
    )
    assert harness.store.get(A).due_at_ms == end_ms
    assert harness.store.content(A).body == b"x"

    unchanged = page(A, NOW_MS + 60_000, links=None, facts={"outcome": "NotModified"})
    at_ms = NOW_MS + 60_000
    seen = Seen(outcome="NotModified", fetched_at_ms=at_ms)
    harness.store.write_pages([replace(unchanged, seen=seen)])
    assert harness.store.get(A).due_at_ms == end_ms

    harness.store.put(A, {"own": b"2"})
    assert harness.store.pages.values([A], ("t", "own"))[0].values == (b"1", b"2")

    harness.clock.advance_ms(3_600_001)

    assert harness.store.content(A) is None
    exported = Exported()
    assert export_urls(harness.store.zen, exported).records == 0
    assert exported.records == []
    record = harness.store.get(A)
    assert (record.fields, record.content_key) == ({}, None)
    assert record.facts["unavailable_after_ms"] == end_ms
    assert [one.fields for one in harness.store.get_many([A], ["t"])] == [{}]
    assert harness.store.pages.values([A], ("t", "own"))[0].values == (None, None)
    assert harness.store.pages.values([A], ("t",), facts=True)[0].values == (None,)


def test_page_without_its_end_date_is_shown_again(harness):
    end_ms = NOW_MS + 60_000
    facts = {"outcome": "Fetched", "status": 200}
    ending = page(A, fields={"t": b"1"}, facts={**facts, "unavailable_after_ms": end_ms})
    harness.store.write_pages([ending])
    harness.clock.advance_ms(120_000)
    harness.store.write_pages([page(A, NOW_MS + 120_000, fields={"t": b"1"}, facts=facts)])

    assert harness.store.get(A).fields == {"t": b"1"}
    assert harness.store.pages.values([A], ("t",))[0].values == (b"1",)


def test_page_withdrawn_by_its_site_leaves_nothing_and_may_come_back(harness):
    store = harness.store
    store.write_pages([page(A, canonical_url=B, fields={"t": b"1"}, content=body("x"), links=[B])])
    reserved = failed(A, NOW_MS + 5, "Reserved")

    store.write_pages([replace(reserved, withdrawn=True)])

    assert store.content(A) is None
    assert store.get(A) is None or store.get(A).fields == {}
    assert store.links.outlinks(B).items == []
    store.write_pages([page(A, NOW_MS + 9, canonical_url=B, content=body("y"))])
    assert store.content(A).body == b"y"


def test_unwatched_page_that_returns_after_a_withdrawal_is_in_the_feed_once(harness):
    """A reader that deletes withdrawn pages never learned that the page was back."""
    harness.store.write_pages([fetched(A)])
    for at_ms, page_ in (
        (NOW_MS + 5, replace(failed(A, NOW_MS + 5, "Reserved"), withdrawn=True)),
        (NOW_MS + 20, fetched(A, NOW_MS + 20)),
        (NOW_MS + 30, fetched(A, NOW_MS + 30)),
    ):
        harness.clock.advance_ms(at_ms - harness.clock.now_ms() + 1)
        harness.store.write_pages([page_])
    harness.clock.advance_ms(60_000)

    kinds = [(one.kind, one.at_ms) for one in harness.store.feed.changes().items]
    assert [kind for kind, _ in kinds] == ["withdrawn", "new"]
    assert kinds[1][1] == NOW_MS + 20


def test_page_gone_three_times_is_given_up_and_reported(harness):
    harness.store.write_pages([fetched(A)])
    due = harness.store.get(A).due_at_ms
    waits = []
    while due is not None:
        at = due
        harness.clock.advance_ms(at - harness.clock.now_ms())
        harness.store.write_pages([failed(A, at, "Gone", gone=True)])
        due = harness.store.get(A).due_at_ms
        waits.append(due and (due - at) / 1000 / DAY_S)

    assert waits[:2] == pytest.approx([1, 3], rel=0.11)
    assert waits[2:] == [None]
    assert sorted(change.kind for change in reported(harness)) == ["given_up", "gone"]
    assert harness.store.get(A).fields["product.price"] == b'"5"'


def test_tick_can_be_taken_again_only_after_its_interval(harness):
    store = harness.store

    assert store.schedule.take_tick("t", NOW_MS, 4) == 4
    assert store.schedule.take_tick("t", NOW_MS, 4) is None
    assert store.schedule.take_tick("t", NOW_MS + 3999, 4) is None
    assert store.schedule.take_tick("other", NOW_MS, 4) == 4
    assert store.schedule.take_tick("t", NOW_MS + 9000, 4) == 9
    assert store.schedule.take_tick("t", NOW_MS - 10**9, 4) is not None, "the clock was set back"


def test_oldest_due_time_is_reported_until_claimed(harness):
    harness.store.write_pages([page(u, due_at_ms=NOW_MS + i) for i, u in enumerate([A, B, C])])

    assert harness.store.schedule.oldest_due_ms(NOW_MS - 1) is None
    assert harness.store.schedule.oldest_due_ms(NOW_MS + 9) == NOW_MS
    harness.store.schedule.claim_due(NOW_MS + 9, 9, 60, upto_ms=NOW_MS)
    assert harness.store.schedule.oldest_due_ms(NOW_MS + 9) == NOW_MS + 1
    harness.store.schedule.claim_due(NOW_MS + 9, 9, 60)
    assert harness.store.schedule.oldest_due_ms(NOW_MS + 9) is None


def test_page_rescheduled_meanwhile_is_not_postponed(harness):
    harness.store.write_pages([page(A, due_at_ms=NOW_MS)])
    (due,) = harness.store.schedule.claim_due(NOW_MS, 9, 60)
    harness.store.schedule.plan(A, NOW_MS + 5)
    harness.store.schedule.postpone([(due, NOW_MS + 99)])
    harness.store.schedule.postpone([(due, NOW_MS + 99)])

    assert harness.store.get(A).due_at_ms == NOW_MS + 5


def test_webhook_keeps_its_position_and_only_one_process_moves_it(harness):
    webhooks = harness.store.feed.webhooks
    reported = {"owner": "shop", "host": None, "now_ms": NOW_MS}
    webhook = webhooks.add("http://x.example/", "secret", cursor="1", **reported)

    assert webhooks.move(webhook.name, "1", "2")
    assert not webhooks.move(webhook.name, "1", "3")
    webhooks.add("http://x.example/", "secret", cursor="9", **reported)
    assert list(webhooks.all()) == [(webhook, "2")]
    assert webhooks.remove(webhook.name, NOW_MS + 99)
    assert not webhooks.remove(webhook.name, NOW_MS + 99)


def test_bookmark_of_a_walk_is_kept(harness):
    assert harness.store.maintenance.bookmark("walk") is None
    for cursor in ("01", "02", ""):
        harness.store.maintenance.set_bookmark("walk", cursor)
        harness.clock.advance_ms(1)
        assert (harness.store.maintenance.bookmark("walk") or "") == cursor
