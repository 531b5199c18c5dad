"""A complete store, copied from SQLite to PostgreSQL to HBase and back, with everything in it."""

from contextlib import closing

import pytest

from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.transfer.copy import copy_content, copy_tables
from aragog.urlstore.content import FolderContent
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, body, page
from zengraph.tables import TABLES
from zengraph.tables.sqlite import SqliteTables

pytestmark = [pytest.mark.hbase, pytest.mark.postgres]

SETTINGS = StoreSettings(indexed=("brand",), unique=("team.sku",))
HOUR_MS = 3_600_000
PAGES = [f"http://site{n % 7}.example/p/{n}" for n in range(120)]
ALIAS, CHANGED, DELETED, REMOVED, TAKEN_DOWN = "http://site0.example/old", *PAGES[:4]
LATER_MS = NOW_MS + HOUR_MS


def rows_of(tables):
    """Every cell of every table, with its time."""
    return {
        name: {key: dict(cells) for key, cells in tables[name].scan(b"", None)} for name in TABLES
    }


def fetched(url, at_ms, text):
    return page(
        url, at_ms, links=[PAGES[(len(url) + step) % 120] for step in range(9)],
        fields={"page.title": text.encode(), "brand": b"lamps", "gone": b"1"},
        content=body(text), seen=Seen(outcome="Fetched", fetched_at_ms=at_ms),
    )  # fmt: skip


@pytest.fixture
def filled(tmp_path):
    """SQLite tables and content after every kind of change."""
    clock, content = ManualClock(NOW_MS), FolderContent(tmp_path / "content")
    with closing(SqliteTables(tmp_path / "tables", shards=4, clock=clock)) as tables:
        tables.create()
        store = UrlStore(tables, content, SETTINGS, clock)
        store.schedule.watch(CHANGED, "shop")
        store.write_pages([fetched(url, NOW_MS, f"first {url}") for url in PAGES])
        while store.maintenance.compact_links(1000).left:
            pass
        clock.advance_ms(HOUR_MS)
        store.write_pages([fetched(url, LATER_MS, f"second {url}") for url in PAGES[:9]])
        store.aliases.merge(ALIAS, CHANGED)
        store.put(CHANGED, {"team.sku": b"7", "team.note": b"kept"})
        store.delete_fields(DELETED, ["gone"])
        store.remove(REMOVED)
        store.takedowns.take_down(url=TAKEN_DOWN)
        clock.advance_ms(24 * HOUR_MS)
        yield tables, content, clock


def seen(tables, content, clock):
    """What a reader gets from a store."""
    store = UrlStore(tables, content, SETTINGS, clock)
    deleted = store.get(DELETED)
    return {
        "alias": store.get(ALIAS, ["page.title", "team.note"]),
        "deleted field": "gone" in deleted.fields,
        "removed": store.get(REMOVED),
        "refused": store.takedowns.refused([TAKEN_DOWN, CHANGED]),
        "content": [store.content(url).body for url in (ALIAS, *PAGES[4:20])],
        "changes": store.feed.changes(owner="shop").items,
        "inlinks": sorted(link.url for link in store.links.inlinks(PAGES[50]).items),
        "watchers": store.schedule.watchers(CHANGED),
        "unique": store.pages.with_value("team.sku", b"7").items,
        "due": store.schedule.oldest_due_ms(clock.now_ms()),
    }  # fmt: skip


def test_store_is_the_same_after_sqlite_postgres_hbase_and_sqlite(
    filled, fresh_postgres, fresh_hbase, tmp_path
):
    source, content, clock = filled
    expected, expected_of_readers = rows_of(source), seen(*filled)
    assert all(expected.values()), "each table has rows"
    assert expected_of_readers["changes"]

    with closing(SqliteTables(tmp_path / "back", shards=2, clock=clock)) as back:
        for number, target in enumerate((fresh_postgres(), fresh_hbase(), back)):
            target.create()
            copied = FolderContent(tmp_path / f"content{number}")

            copy_tables(source, target)
            copy_content(content, copied)

            assert rows_of(target) == expected
            assert seen(target, copied, clock) == expected_of_readers
            source, content = target, copied
