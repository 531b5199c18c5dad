"""How many calls the tables get: on HBase each one is a round trip."""

import pytest

from tests.support.stores import NOW_MS, page, store_harness
from zengraph.tables.memory import MemoryTables

A, B, C = (f"http://{x}.example/" for x in "abc")


class Counting(MemoryTables):
    """Counts calls; a scan is one call."""

    def __init__(self):
        super().__init__()
        self.calls: list[str] = []

    def __getitem__(self, name):
        return _CountingTable(super().__getitem__(name), name, self.calls)


class _CountingTable:
    def __init__(self, table, name, calls):
        self._table, self._name, self._calls = table, name, calls

    def __getattr__(self, method):
        def call(*args, **options):
            self._calls.append(f"{self._name}.{method}")
            return getattr(self._table, method)(*args, **options)

        return call


@pytest.fixture
def harness():
    harness = store_harness(Counting())
    harness.store.write_pages(
        [page(A, canonical_url=B, fields={"t": b"1"}), page(C, fields={"t": b"2"})]
    )
    harness.tables.calls.clear()
    return harness


def test_url_that_is_not_an_alias_takes_one_call(harness):
    assert harness.store.get(C).fields == {"t": b"2"}
    assert harness.tables.calls == ["n.get"]


def test_alias_takes_two_calls(harness):
    assert harness.store.get(A).canonical_url == B
    assert len(harness.tables.calls) == 2


def test_many_urls_take_one_call_or_two_with_aliases(harness):
    harness.store.get_many([C, "http://nobody.example/"])
    assert len(harness.tables.calls) == 1
    harness.tables.calls.clear()
    harness.store.get_many([A, C, B])
    assert len(harness.tables.calls) <= 2


@pytest.mark.parametrize("read", ["inlinks", "count_inlinks"])
def test_inlinks_of_a_page_without_aliases_take_two_calls(harness, read):
    assert getattr(harness.store.links, read)(C) is not None
    assert len(harness.tables.calls) == 2


def test_batch_takes_the_same_number_of_calls_for_any_size(harness):
    def cost(start, count):
        harness.tables.calls.clear()
        urls = [f"http://p{number}.example/" for number in range(start, start + count)]
        harness.store.write_pages(
            [page(u, NOW_MS, fields={"t": b"1"}, links=[A], due_at_ms=NOW_MS + 5) for u in urls]
        )
        return len(harness.tables.calls)

    assert cost(0, 25) == cost(100, 1) <= 12


def test_links_are_read_before_the_write_only_if_the_page_was_stored_before(harness):
    harness.store.write_pages([page("http://new.example/", links=[A])])
    assert "o.get_many" not in harness.tables.calls

    harness.store.write_pages([page("http://new.example/", NOW_MS + 1, links=[B])])
    assert harness.tables.calls.count("o.get_many") == 1


def test_fields_of_many_urls_take_one_call_or_two_with_aliases(harness):
    harness.store.get_many([C, "http://nobody.example/"], ["t"])
    assert harness.tables.calls == ["n.values_many"]
    harness.tables.calls.clear()
    records = harness.store.get_many([A, C, B], ["t"])
    assert [record.canonical_url for record in records] == [B, C, B]
    assert harness.tables.calls == ["n.values_many"]
    harness.tables.calls.clear()
    harness.store.get_many([A], ["t"])
    assert harness.tables.calls == ["n.values_many", "n.get_many"]
