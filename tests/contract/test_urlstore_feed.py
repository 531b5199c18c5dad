"""The change feed on every engine: its entries, how long they are kept, and cursors."""

from dataclasses import replace
from hashlib import sha256

import orjson
import pytest

from aragog.errors import BadInput
from aragog.runtime.clock import ManualClock
from aragog.urlstore.feed import MAX_VALUE_BYTES, SETTLE_MS, Change, Changes, publish
from aragog.urlstore.refresh_policy import Seen
from tests.support.refreshed_pages import A, B, failed, fetched, reported
from tests.support.stores import NOW_MS, body, page
from zengraph import MultiGraph
from zengraph.tables.memory import MemoryTables


def test_price_history_lists_its_changes_newest_first(harness):
    prices = [b'"5"', b'"5"', b'"4"', b'"4"', b'"6"']
    for n, price in enumerate(prices):
        harness.store.write_pages([fetched(A, NOW_MS + n, fields={"product.price": price})])

    assert harness.store.pages.history(A, "product.price") == [
        (b'"6"', NOW_MS + 4),
        (b'"4"', NOW_MS + 2),
        (b'"5"', NOW_MS),
    ]


def test_feed_entry_has_old_and_new_values(harness):
    harness.store.write_pages([fetched(A), fetched(B)])
    harness.store.write_pages(
        [fetched(A, NOW_MS + 9, fields={"product.price": b'"4"'}), fetched(B, NOW_MS + 9)]
    )

    (change,) = reported(harness)
    assert (change.url, change.kind, change.at_ms) == (A, "changed", NOW_MS + 9)
    assert change.fields == {"product.price": ('"5"', '"4"')}


def test_feed_continues_after_a_cursor(harness):
    urls = [f"http://{n}.example/" for n in range(7)]
    harness.store.write_pages([fetched(u) for u in urls])
    harness.store.write_pages([fetched(u, NOW_MS + 9, fields={"page.title": b"2"}) for u in urls])
    harness.clock.advance_ms(SETTLE_MS + 1000)
    changes, cursor = [], None
    while page_ := harness.store.feed.changes(cursor, 3).items:
        changes += [change.url for change in page_]
        cursor = page_[-1].cursor
    harness.store.write_pages([fetched(A)])
    harness.store.write_pages([fetched(A, NOW_MS + 9, fields={"page.title": b"2"})])

    assert sorted(changes) == urls
    assert [change.url for change in reported(harness, cursor)] == [A]


def test_feed_can_be_limited_to_a_host_and_read_from_its_end(harness):
    harness.store.write_pages([fetched(A), fetched(B)])
    news = {"page.title": b"2"}
    harness.store.write_pages([fetched(u, NOW_MS + 9, fields=news) for u in (A, B)])

    assert [c.url for c in reported(harness, host="b.example")] == [B]
    assert reported(harness, harness.store.feed.end()) == []
    for bad in ("nonsense", "00"):
        with pytest.raises(BadInput):
            harness.store.feed.changes(bad)


def test_long_value_is_left_out_of_the_feed(harness):
    long = b"x" * (MAX_VALUE_BYTES + 1)
    harness.store.write_pages([fetched(A)])
    harness.store.write_pages([fetched(A, NOW_MS + 9, fields={"article.body": long})])

    assert reported(harness)[0].fields == {"article.body": (None, None)}


def test_sweep_deletes_old_feed_entries(harness):
    harness.store.write_pages([fetched(A)])
    harness.store.write_pages([fetched(A, NOW_MS + 9, fields={"page.title": b"2"})])
    harness.clock.advance_ms(100_000)

    assert harness.store.feed.sweep(retention_s=101) == 0
    assert harness.store.feed.sweep(retention_s=99) == 1
    assert reported(harness) == []


def test_unchanged_pages_write_no_feed_entries(harness):
    harness.store.write_pages([fetched(A)])
    harness.store.write_pages([fetched(A, NOW_MS + 9), failed(A, NOW_MS + 10, "NotModified")])

    assert list(harness.tables["f"].scan(b"", None)) == []


def test_slowly_written_change_is_reported_again_so_no_reader_misses_it():
    class Slow(MemoryTables):
        slow = True

        def write(self, puts):
            super().write(puts)
            if self.slow and any(table == "f" for table, *_ in puts):
                clock.advance_ms(SETTLE_MS)
                self.slow = False

    clock = ManualClock(NOW_MS)
    zen = MultiGraph(Slow(clock))
    publish(zen, [Change(A, NOW_MS, "changed")], clock)
    clock.advance_ms(SETTLE_MS)
    feed = Changes(zen)

    assert [c.url for c in feed.page(None, clock.now_ms(), 9).items] == [A, A]


def with_body(url, text, at_ms, **parts):
    """A fetch of a page with this body, and always the same fields."""
    digest = sha256(text.encode()).hexdigest()
    parts.setdefault(
        "seen", Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type="product", body_hash=digest)
    )
    facts = {"status": 200, "outcome": "Fetched"}
    return page(url, at_ms, content=body(text), fields={"t": b"1"}, facts=facts, **parts)


def kinds(harness, **which):
    return [(change.url, change.kind) for change in reported(harness, **which)]


@pytest.mark.parametrize("body_hash", [True, False])
def test_page_with_new_text_is_in_the_feed_with_both_hashes(harness, body_hash):
    """Pages whose body was packed during the write had no hash in the feed, or no entry at all."""

    def write(text, at_ms):
        fetch = with_body(A, text, at_ms)
        if not body_hash:
            fetch = replace(fetch, seen=replace(fetch.seen, body_hash=None))
        harness.store.write_pages([fetch])

    write("old", NOW_MS)
    before = harness.store.get(A).content_hash
    write("new", NOW_MS + 1)
    write("new", NOW_MS + 2)

    (change,) = reported(harness)

    assert (change.url, change.kind, change.fields) == (A, "content", {})
    assert change.content_hash == (before, harness.store.get(A).content_hash)


@pytest.mark.parametrize(
    "outcome", ["Unauthorized", "PaymentRequired", "Forbidden", "UnavailableLegally"]
)
def test_page_withheld_by_its_site_is_in_the_feed_once(harness, outcome):
    harness.store.write_pages([with_body(A, "x", NOW_MS)])
    for at_ms in (NOW_MS + 1, NOW_MS + 2):
        harness.store.write_pages([failed(A, at_ms, outcome)])

    assert kinds(harness) == [(A, "withheld")]


def test_only_the_first_404_is_in_the_feed(harness):
    harness.store.write_pages([with_body(A, "x", NOW_MS)])
    for at_ms in (NOW_MS + 1, NOW_MS + 2):
        harness.store.write_pages([failed(A, at_ms, "Gone", gone=True)])

    assert kinds(harness) == [(A, "gone")]


def test_never_stored_page_is_in_the_feed_only_if_watched(harness):
    harness.store.schedule.watch(B, "shop")
    harness.store.write_pages([failed(u, NOW_MS, "Gone", gone=True) for u in (A, B)])

    assert kinds(harness) == [(B, "gone")]


@pytest.mark.parametrize("is_temporary", [False, True])
def test_url_that_now_redirects_is_in_the_feed_once(harness, is_temporary):
    harness.store.schedule.watch(A, "shop")
    harness.store.write_pages([with_body(A, "x", NOW_MS)])
    before = harness.store.get(A).content_hash
    canonical = A if is_temporary else B
    for at_ms in (NOW_MS + 1, NOW_MS + 2):
        moved = with_body(A, "x", at_ms, final_url=B, canonical_url=canonical)
        harness.store.write_pages([moved])

    found = [change for change in reported(harness) if change.kind == "redirected"]

    (change,) = found
    assert (change.url, change.redirected_to, change.owners) == (A, B, ("shop",))
    assert change.content_hash == (None if is_temporary else (before, None))


def test_temporary_failures_are_not_in_the_feed(harness):
    harness.store.write_pages([with_body(A, "x", NOW_MS)])
    outcomes = ["Busy", "Unreachable", "TooLarge", "NotModified"]
    for at, outcome in enumerate(outcomes, 1):
        harness.store.write_pages([failed(A, NOW_MS + at, outcome)])

    assert kinds(harness) == []


def test_version_0_1_and_this_one_read_each_others_entries(harness):
    """Version 0.1 unpacks exactly five values."""
    harness.store.write_pages([with_body(A, "old", NOW_MS)])
    harness.store.write_pages([with_body(A, "new", NOW_MS + 1)])
    ((key, row),) = harness.tables["f"].scan(b"", None)
    ((url, at_ms, kind, fields, owners),) = orjson.loads(row[b"l:v"].value)
    assert (url, at_ms, kind, owners) == (A, NOW_MS + 1, "content", [])
    assert all(len(pair) == 2 for pair in fields.values())

    old = orjson.dumps([[A, 1, "changed", {"t": ["1", None]}, ["shop"]]])
    harness.tables["f"].put(key, {b"l:v": old}, at_ms=row[b"l:v"].at_ms + 1)
    (change,) = reported(harness)
    assert (change.fields, change.content_hash) == ({"t": ("1", None)}, None)
