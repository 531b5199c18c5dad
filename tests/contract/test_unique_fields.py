"""Fields in `store.unique`: a value belongs to one page, however it is written, on every engine."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from aragog.errors import ConfigError, NotUnique, VersionConflict
from aragog.settings import StoreSettings
from aragog.transfer.bulk_writer import BulkWriter
from aragog.transfer.json_lines import UrlRecord
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, page, store_harness

A, B, C = "http://a.example/", "http://b.example/", "http://c.example/"
SKU = "shop.sku"


@pytest.fixture
def unique(tables):
    return store_harness(tables, StoreSettings(unique=(SKU,)))


def page_of(harness, value):
    """The page that has a value, or None."""
    found = harness.store.pages.with_value(SKU, value)
    assert found.cursor is None
    return found.items[0] if found.items else None


def test_value_of_another_page_is_refused_and_nothing_is_written(unique):
    unique.store.put(A, {SKU: b"1"})

    with pytest.raises(NotUnique):
        unique.store.put(B, {SKU: b"1", "shop.other": b"x"})

    assert unique.store.get(B) is None
    assert page_of(unique, b"1") == A


def test_page_may_repeat_its_value_or_take_a_free_one(unique):
    unique.store.put(A, {SKU: b"1"})
    unique.clock.advance_ms(1)
    unique.store.put(A, {SKU: b"1"})
    unique.clock.advance_ms(1)
    unique.store.put(A, {SKU: b"2"})
    unique.clock.advance_ms(1)

    unique.store.put(B, {SKU: b"1"})

    assert (page_of(unique, b"1"), page_of(unique, b"2")) == (B, A)


@pytest.mark.parametrize("how", ["field", "page", "takedown"])
def test_value_is_free_once_its_page_no_longer_has_it(unique, how):
    unique.store.put(A, {SKU: b"1"})
    unique.clock.advance_ms(10)
    match how:
        case "field":
            unique.store.delete_fields(A, [SKU])
        case "page":
            unique.store.remove(A)
        case "takedown":
            unique.store.takedowns.take_down(url=A)
    unique.clock.advance_ms(10)

    unique.store.put(B, {SKU: b"1"})

    assert page_of(unique, b"1") == B


def test_value_follows_its_page_to_the_canonical_url(unique):
    unique.store.put(A, {SKU: b"1"})
    unique.clock.advance_ms(10)

    unique.store.aliases.merge(A, B)
    unique.clock.advance_ms(10)

    assert page_of(unique, b"1") == B
    with pytest.raises(NotUnique):
        unique.store.put(C, {SKU: b"1"})
    unique.store.put(A, {SKU: b"1"})
    assert page_of(unique, b"1") == B


def test_merged_page_keeps_the_later_value_and_frees_the_other(unique):
    unique.store.put(B, {SKU: b"newer"}, at_ms=NOW_MS)
    unique.store.put(A, {SKU: b"older"}, at_ms=NOW_MS - 5)
    unique.clock.advance_ms(10)

    unique.store.aliases.merge(A, B)
    unique.clock.advance_ms(10)
    unique.store.put(C, {SKU: b"older"})

    assert (page_of(unique, b"newer"), page_of(unique, b"older")) == (B, C)


def test_fetch_never_sets_or_fails_on_a_unique_field(unique):
    unique.store.put(A, {SKU: b"1"})
    unique.clock.advance_ms(10)

    unique.store.write_pages([
        page(A, NOW_MS + 10, fields={SKU: b"2", "page.title": b'"t"'}),
        page(B, NOW_MS + 10, fields={SKU: b"1", "page.title": b'"t"'}),
    ])  # fmt: skip

    assert unique.store.get(B).fields == {"page.title": b'"t"'}
    assert unique.store.get(A).fields[SKU] == b"1"
    assert page_of(unique, b"1") == A


def test_import_reports_refused_records_and_writes_the_others(unique):
    unique.store.put(A, {SKU: b"1"})
    writer = BulkWriter(unique.store, unique.store.zen, StoreSettings(unique=(SKU,)), unique.clock)
    records = [
        (1, UrlRecord(url=B, fields={SKU: b"1"})),
        (2, UrlRecord(url=C, fields={SKU: b"2"}, due_at_ms=NOW_MS + 5)),
    ]
    problems = []

    assert writer.write(records, lambda *problem: problems.append(problem)) == 1

    assert [number for number, _ in problems] == [1]
    assert "shop.sku" in problems[0][1]
    assert page_of(unique, b"2") == C
    assert unique.store.get(C).due_at_ms == NOW_MS + 5


def test_repair_enters_stored_values_and_reports_duplicates(tables):
    before = store_harness(tables)
    for url, value in ((A, b"1"), (B, b"1"), (C, b"2")):
        before.store.put(url, {SKU: value})
    store = UrlStore(tables, before.content, StoreSettings(unique=(SKU,)), before.clock)
    assert store.pages.with_value(SKU, b"2").items == []
    lines = []

    repaired = store.maintenance.repair(grace_s=0, report=lines.append).repaired
    again = store.maintenance.repair(grace_s=0).repaired

    assert repaired == {"value of an indexed field missing": 2}
    assert again == {}
    (owner,) = store.pages.with_value(SKU, b"1").items
    (other,) = {A, B} - {owner}
    assert next(line for line in lines if "store.unique" in line).startswith(other)
    assert store.pages.with_value(SKU, b"2").items == [C]


def test_one_of_many_concurrent_writers_gets_a_value(tables):
    unique = store_harness(tables, StoreSettings(unique=(SKU,)))
    urls = [f"http://a.example/{n}" for n in range(8)]

    def put(url):
        try:
            unique.store.put(url, {SKU: b"1"})
        except NotUnique:
            return None
        return url

    with ThreadPoolExecutor(8) as pool:
        (winner,) = [url for url in pool.map(put, urls) if url]

    assert page_of(unique, b"1") == winner
    assert [url for url in urls if unique.store.get(url)] == [winner]


def test_conditional_write_checks_its_version_first(unique):
    version = unique.store.put(A, {SKU: b"1"})
    unique.store.put(B, {SKU: b"2"})

    with pytest.raises(VersionConflict):
        unique.store.put(A, {SKU: b"3"}, if_version="other")
    with pytest.raises(NotUnique):
        unique.store.put(A, {SKU: b"2"}, if_version=version)
    unique.store.put(A, {SKU: b"3"}, if_version=version)

    assert (page_of(unique, b"1"), page_of(unique, b"3")) == (None, A)


def test_extracted_field_cannot_be_unique(tables):
    with pytest.raises(ConfigError, match=r"store\.unique: 'product\.brand' is extracted"):
        UrlStore(tables, MemoryContent(), StoreSettings(unique=("product.brand",)))
