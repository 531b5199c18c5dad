"""A new page joins its crawl when it is written."""

from dataclasses import replace

import pytest

from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.crawl_members import crawl_column, crawls_in
from aragog.urlstore.store import UrlStore
from tests.support.pack_harness import fetched, pack_harness
from tests.support.stores import NOW_MS, node_id
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/", "http://b.example/"


@pytest.fixture
def harness():
    return pack_harness()


def write(harness, page, crawl):
    (written,) = harness.store.write_pages([replace(page, crawl=crawl)])
    return written


def node(harness, url):
    return harness.store.zen.nodes.get(node_id(url))


def test_new_page_joins_its_crawl_at_the_time_of_its_fetch(harness):
    written = write(harness, fetched(A, "text"), "shop")

    assert written.crawl == "shop"
    assert crawls_in(node(harness, A)) == ["shop"]
    assert node(harness, A)[crawl_column("shop")].at_ms == NOW_MS
    assert harness.store.crawls.among("shop", [A, B]) == {A}


def test_stored_page_joins_no_crawl_when_it_is_written(harness):
    """The end of its URL decides that: a page from before all crawls is kept with none of them."""
    write(harness, fetched(A, "text"), "")

    written = write(harness, fetched(A, "new text", NOW_MS + 1), "shop")

    assert written.crawl == ""
    assert crawls_in(node(harness, A)) == []


def test_page_with_another_canonical_url_joins_no_crawl_when_it_is_written(harness):
    written = write(harness, replace(fetched(A, "text"), canonical_url=B), "shop")

    assert written.crawl == ""
    assert crawls_in(node(harness, written.canonical_url)) == []


def test_page_of_a_taken_down_host_joins_no_crawl(harness):
    harness.store.takedowns.take_down(host="a.example")

    assert write(harness, fetched(A, "text"), "shop").crawl == ""
    assert crawls_in(node(harness, A)) == []


def test_new_page_with_a_field_that_has_a_history_is_reported_as_joined():
    settings = StoreSettings(history=("price",))
    store = UrlStore(MemoryTables(), MemoryContent(), settings, ManualClock(NOW_MS))
    page = replace(fetched(A, "text"), fields={"price": b"1"}, crawl="shop")

    [written] = store.write_pages([page])

    assert written.crawl == "shop"
    assert store.pages.history(A, "price") == [(b"1", NOW_MS)]
