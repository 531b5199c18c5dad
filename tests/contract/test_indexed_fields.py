"""Fields in `store.indexed`: every write maintains the index, on every engine."""

from dataclasses import replace

import pytest

from aragog.errors import BadInput
from aragog.settings import StoreSettings
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, page, store_harness

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
BRAND = "product.brand"


@pytest.fixture
def indexed(tables):
    return store_harness(tables, StoreSettings(indexed=(BRAND,)))


def pages_of(harness, value):
    found, cursor = [], None
    while True:
        part = harness.store.pages.with_value(BRAND, value, cursor, limit=2)
        found += part.items
        if (cursor := part.cursor) is None:
            return sorted(found)


def test_pages_are_found_by_a_value_from_any_kind_of_write(indexed):
    store = indexed.store
    store.write_pages([page(A, fields={BRAND: b"acme"}), page(B, fields={BRAND: b"acme"})])
    store.put(C, {BRAND: b"acme"})
    indexed.clock.advance_ms(10)
    assert pages_of(indexed, b"acme") == [A, B, C]

    store.put(A, {BRAND: b"other"})
    store.delete_fields(C, [BRAND])
    store.put(B, {BRAND: b"older"}, at_ms=NOW_MS - 5)

    assert pages_of(indexed, b"acme") == [B]
    assert pages_of(indexed, b"other") == [A]
    assert pages_of(indexed, b"older") == []


def test_value_follows_its_page_to_the_canonical_url(indexed):
    indexed.store.put(A, {BRAND: b"acme"})
    indexed.clock.advance_ms(10)

    indexed.store.aliases.merge(A, B)

    assert pages_of(indexed, b"acme") == [B]


def test_takedown_removes_values_from_the_index(indexed):
    indexed.store.put(A, {BRAND: b"a private brand"})
    indexed.clock.advance_ms(10)

    indexed.store.takedowns.take_down(url=A)

    keys = [key for key, _ in indexed.tables["i"].scan(b"", None)]
    assert not [key for key in keys if b"a private brand" in key]


def test_repair_indexes_pages_stored_before_the_field_was_indexed(tables):
    before = store_harness(tables)
    before.store.put(A, {BRAND: b"acme"})
    before.clock.advance_ms(10)
    settings = StoreSettings(indexed=(BRAND,))
    store = UrlStore(tables, before.content, settings, before.clock)
    now = replace(before, store=store)
    assert pages_of(now, b"acme") == []

    assert store.maintenance.repair().repaired == {"value of an indexed field missing": 1}

    assert pages_of(now, b"acme") == [A]
    assert store.maintenance.repair().repaired == {}


def test_lookup_by_a_field_without_an_index_is_refused(harness):
    with pytest.raises(BadInput, match=r"store\.indexed"):
        harness.store.pages.with_value("title", b"x")
