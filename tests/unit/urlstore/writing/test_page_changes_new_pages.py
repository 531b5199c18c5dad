"""What the feed contains about pages that nobody watches."""

import pytest

from aragog.runtime.clock import ManualClock
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, SAME, body, page
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/a", "http://a.example/b"


def opened(*, report_new_pages):
    clock = ManualClock(NOW_MS)
    refresh = RefreshSettings(report_new_pages=report_new_pages)
    return clock, UrlStore(MemoryTables(), MemoryContent(), StoreSettings(), clock, refresh)


def fetched(clock, store, url, **parts):
    at_ms = clock.now_ms()
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms)
    fields = {"page.title": b'"T"'}
    store.write_pages([page(url, at_ms, fields=fields, content=body("x"), seen=seen, **parts)])
    clock.advance_ms(SETTLE_MS + 1)


@pytest.mark.parametrize(
    ("reported", "kinds"), [(False, []), (True, [(A, "new", {}), (B, "new", {})])]
)
def test_first_fetches_are_in_the_feed_without_values_if_enabled(reported, kinds):
    clock, store = opened(report_new_pages=reported)
    for url in (A, B):
        fetched(clock, store, url)

    changes = store.feed.changes().items

    assert [(change.url, change.kind, change.fields) for change in changes] == kinds


def test_page_that_became_an_alias_without_a_redirect_is_reported():
    clock, store = opened(report_new_pages=True)
    for url in (A, B):
        fetched(clock, store, url, likeness=SAME)
    fetched(clock, store, A, likeness=SAME, canonical_url=B)

    *_, last = store.feed.changes().items

    assert (last.url, last.kind, last.redirected_to) == (A, "redirected", B)
