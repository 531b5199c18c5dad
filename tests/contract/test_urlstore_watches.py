"""Watching pages on every engine: who watches, and when refreshing begins and ends."""

import pytest

from aragog.errors import BadInput, TakenDown
from tests.support.refreshed_pages import A, B, C, fetched, reported
from tests.support.stores import NOW_MS


def test_watching_twice_by_any_spelling_or_alias_counts_once(a_stand):
    a_stand.store.write_pages([fetched(A, canonical_url=B)])
    for spelling in (A, "HTTP://A.example/#x", B):
        a_stand.store.schedule.watch(spelling, "shop")
    a_stand.store.schedule.watch(B, "kitchen")

    assert (
        a_stand.store.schedule.watchers(A)
        == a_stand.store.schedule.watchers(B)
        == ["kitchen", "shop"]
    )
    a_stand.store.schedule.unwatch(A, "shop")
    assert a_stand.store.schedule.watchers(B) == ["kitchen"]


def test_last_unwatch_ends_refreshing_and_a_watch_restarts_it(a_stand):
    a_stand.store.write_pages([fetched(A)])
    due = a_stand.store.get(A).due_at_ms
    a_stand.store.schedule.watch(A, "shop", at_ms=1)
    a_stand.store.schedule.watch(A, "kitchen", at_ms=1)
    a_stand.store.schedule.unwatch(A, "shop", at_ms=2)
    assert a_stand.store.get(A).due_at_ms == due

    a_stand.store.schedule.unwatch(A, "kitchen", at_ms=2)
    assert a_stand.store.get(A).due_at_ms is None
    assert a_stand.store.schedule.claim_due(due + 1, 9, 60) == []

    a_stand.store.write_pages([fetched(A, NOW_MS + 9)])
    assert a_stand.store.get(A).due_at_ms is None

    a_stand.store.schedule.watch(A, "shop", at_ms=3)
    assert a_stand.store.get(A).due_at_ms > NOW_MS


def test_unwatching_an_unwatched_page_does_not_end_refreshing(a_stand):
    a_stand.store.write_pages([fetched(A)])
    due = a_stand.store.get(A).due_at_ms
    a_stand.store.schedule.unwatch(A, "shop", at_ms=2)
    assert a_stand.store.get(A).due_at_ms == due

    a_stand.store.write_pages([fetched(A, NOW_MS + 9)])
    assert a_stand.store.get(A).due_at_ms > NOW_MS


def test_unwatch_that_arrives_before_its_watch_ends_refreshing(a_stand):
    a_stand.store.write_pages([fetched(A)])
    a_stand.store.schedule.unwatch(A, "shop", at_ms=2)
    a_stand.store.schedule.watch(A, "shop", at_ms=1)

    assert a_stand.store.get(A).due_at_ms is None
    a_stand.store.write_pages([fetched(A, NOW_MS + 9)])
    assert a_stand.store.get(A).due_at_ms is None


def test_later_request_to_watch_or_unwatch_counts(a_stand):
    a_stand.store.schedule.unwatch(A, "shop", at_ms=10)
    a_stand.store.schedule.watch(A, "shop", at_ms=9)
    assert a_stand.store.schedule.watchers(A) == []

    a_stand.store.schedule.watch(A, "shop", at_ms=11)
    assert a_stand.store.schedule.watchers(A) == ["shop"]


def test_watches_move_with_their_page_and_return_when_the_alias_is_undone(a_stand):
    a_stand.store.write_pages([fetched(A), fetched(B)])
    a_stand.store.schedule.watch(A, "shop")
    a_stand.store.schedule.watch(B, "kitchen")
    a_stand.clock.advance_ms(1000)
    a_stand.store.aliases.merge(A, B)
    assert a_stand.store.schedule.watchers(B) == ["kitchen", "shop"]

    a_stand.clock.advance_ms(1000)
    a_stand.store.aliases.undo(A)
    assert a_stand.store.schedule.watchers(A) == ["shop"]
    assert a_stand.store.schedule.watchers(B) == ["kitchen"]


def test_url_watched_before_its_fetch_keeps_watchers_when_it_redirects(a_stand):
    a_stand.store.schedule.watch(A, "shop")
    a_stand.clock.advance_ms(1000)
    a_stand.store.write_pages([fetched(A, NOW_MS + 1000, final_url=B)])

    assert a_stand.store.schedule.watchers(B) == ["shop"]


def test_watchers_get_the_first_fetch_and_are_named_in_the_feed(a_stand):
    a_stand.store.schedule.watch(A, "shop")
    a_stand.store.write_pages([fetched(A), fetched(B)])
    news = {"page.title": b"2"}
    a_stand.store.write_pages([fetched(u, NOW_MS + 9, fields=news) for u in (A, B)])

    mine = reported(a_stand, owner="shop")
    assert [(c.url, c.kind, c.owners) for c in mine] == [
        (A, "new", ("shop",)),
        (A, "changed", ("shop",)),
    ] or sorted(c.kind for c in mine) == ["changed", "new"]
    assert reported(a_stand, owner="kitchen") == []


def test_owner_name_is_required_and_taken_down_pages_cannot_be_watched(a_stand):
    for owner in ("", "x" * 201):
        with pytest.raises(BadInput):
            a_stand.store.schedule.watch(A, owner)
    a_stand.store.write_pages([fetched(C)])
    a_stand.store.takedowns.take_down(url=C)
    with pytest.raises(TakenDown):
        a_stand.store.schedule.watch(C, "shop")
