"""Fetches of a priced product at a given time, and the changes that the feed reports then."""

from aragog.urlstore.feed import SETTLE_MS
from aragog.urlstore.refresh_policy import Seen
from tests.support.stores import NOW_MS, page

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
HOUR_MS = 3_600_000


def fetched(url, at_ms=NOW_MS, **parts):
    """Return a fetch of a priced product."""
    parts.setdefault("fields", {"page.title": b'"T"', "product.price": b'"5"'})
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product")
    return page(url, at_ms, seen=seen, facts={"status": 200}, **parts)


def failed(url, at_ms, outcome, **parts):
    seen = Seen(outcome=outcome, fetched_at_ms=at_ms)
    return page(url, at_ms, seen=seen, facts={"outcome": outcome}, **parts)


def reported(harness, cursor=None, **which):
    harness.clock.advance_ms(SETTLE_MS + 1000)
    return harness.store.feed.changes(cursor, **which).items
