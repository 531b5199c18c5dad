"""Watching pages on every engine: who watches, and when refreshing begins and ends."""

import pytest

from aragog.errors import BadInput, TakenDown
from tests.support.refreshed_pages import A, B, C, fetched, reported
from tests.support.stores import NOW_MS


def test_watching_twice_by_any_spelling_or_alias_counts_once(harness):
    harness.store.write_pages([fetched(A, canonical_url=B)])
    for spelling in (A, "HTTP://A.example/#x", B):
        harness.store.schedule.watch(spelling, "shop")
    harness.store.schedule.watch(B, "kitchen")

    assert (
        harness.store.schedule.watchers(A)
        == harness.store.schedule.watchers(B)
        == ["kitchen", "shop"]
    )
    harness.store.schedule.unwatch(A, "shop")
    assert harness.store.schedule.watchers(B) == ["kitchen"]


def test_last_unwatch_ends_refreshing_and_a_watch_restarts_it(harness):
    harness.store.write_pages([fetched(A)])
    due = harness.store.get(A).due_at_ms
    harness.store.schedule.watch(A, "shop", at_ms=1)
    harness.store.schedule.watch(A, "kitchen", at_ms=1)
    harness.store.schedule.unwatch(A, "shop", at_ms=2)
    assert harness.store.get(A).due_at_ms == due

    harness.store.schedule.unwatch(A, "kitchen", at_ms=2)
    assert harness.store.get(A).due_at_ms is None
    assert harness.store.schedule.claim_due(due + 1, 9, 60) == []

    harness.store.write_pages([fetched(A, NOW_MS + 9)])
    assert harness.store.get(A).due_at_ms is None

    harness.store.schedule.watch(A, "shop", at_ms=3)
    assert harness.store.get(A).due_at_ms > NOW_MS


def test_unwatching_an_unwatched_page_does_not_end_refreshing(harness):
    harness.store.write_pages([fetched(A)])
    due = harness.store.get(A).due_at_ms
    harness.store.schedule.unwatch(A, "shop", at_ms=2)
    assert harness.store.get(A).due_at_ms == due

    harness.store.write_pages([fetched(A, NOW_MS + 9)])
    assert harness.store.get(A).due_at_ms > NOW_MS


def test_unwatch_that_arrives_before_its_watch_ends_refreshing(harness):
    harness.store.write_pages([fetched(A)])
    harness.store.schedule.unwatch(A, "shop", at_ms=2)
    harness.store.schedule.watch(A, "shop", at_ms=1)

    assert harness.store.get(A).due_at_ms is None
    harness.store.write_pages([fetched(A, NOW_MS + 9)])
    assert harness.store.get(A).due_at_ms is None


def test_later_request_to_watch_or_unwatch_counts(harness):
    harness.store.schedule.unwatch(A, "shop", at_ms=10)
    harness.store.schedule.watch(A, "shop", at_ms=9)
    assert harness.store.schedule.watchers(A) == []

    harness.store.schedule.watch(A, "shop", at_ms=11)
    assert harness.store.schedule.watchers(A) == ["shop"]


def test_watches_move_with_their_page_and_return_when_the_alias_is_undone(harness):
    harness.store.write_pages([fetched(A), fetched(B)])
    harness.store.schedule.watch(A, "shop")
    harness.store.schedule.watch(B, "kitchen")
    harness.clock.advance_ms(1000)
    harness.store.aliases.merge(A, B)
    assert harness.store.schedule.watchers(B) == ["kitchen", "shop"]

    harness.clock.advance_ms(1000)
    harness.store.aliases.undo(A)
    assert harness.store.schedule.watchers(A) == ["shop"]
    assert harness.store.schedule.watchers(B) == ["kitchen"]


def test_url_watched_before_its_fetch_keeps_watchers_when_it_redirects(harness):
    harness.store.schedule.watch(A, "shop")
    harness.clock.advance_ms(1000)
    harness.store.write_pages([fetched(A, NOW_MS + 1000, final_url=B)])

    assert harness.store.schedule.watchers(B) == ["shop"]


def test_watchers_get_the_first_fetch_and_are_named_in_the_feed(harness):
    harness.store.schedule.watch(A, "shop")
    harness.store.write_pages([fetched(A), fetched(B)])
    news = {"page.title": b"2"}
    harness.store.write_pages([fetched(u, NOW_MS + 9, fields=news) for u in (A, B)])

    mine = reported(harness, owner="shop")
    assert [(c.url, c.kind, c.owners) for c in mine] == [
        (A, "new", ("shop",)),
        (A, "changed", ("shop",)),
    ] or sorted(c.kind for c in mine) == ["changed", "new"]
    assert reported(harness, owner="kitchen") == []


def test_owner_name_is_required_and_taken_down_pages_cannot_be_watched(harness):
    for owner in ("", "x" * 201):
        with pytest.raises(BadInput):
            harness.store.schedule.watch(A, owner)
    harness.store.write_pages([fetched(C)])
    harness.store.takedowns.take_down(url=C)
    with pytest.raises(TakenDown):
        harness.store.schedule.watch(C, "shop")
