"""Journal rows written while a compaction reads the journal, bucket by bucket."""

from tests.support.stores import NOW_MS, page, store_harness, write_into_bucket
from zengraph.links import ListLimits
from zengraph.tables.memory import MemoryTables

A, B = "http://a.example/", "http://b.example/"


class InterruptedTables(MemoryTables):
    """Calls `between` once, before the first scan of bucket 8 of the journal."""

    between = None

    def __getitem__(self, name):
        table = super().__getitem__(name)
        return InterruptedJournal(table, self) if name == "j" else table


class InterruptedJournal:
    def __init__(self, table, tables):
        self._table, self._tables = table, tables

    def __getattr__(self, name):
        return getattr(self._table, name)

    def scan(self, start, stop, **options):
        between = self._tables.between
        if start[:1] == b"\x08" and between is not None:
            self._tables.between = None
            between()
        return self._table.scan(start, stop, **options)


def test_removal_read_before_its_addition_waits_for_it():
    """The addition is written to a bucket already read, and the removal to one not yet read."""
    tables = InterruptedTables()
    harness = store_harness(tables, lists=ListLimits(many_deltas=1))

    def add_and_remove():
        write_into_bucket(harness, 0, page(A, NOW_MS, links=[B]))
        write_into_bucket(harness, 15, page(A, NOW_MS + 1, links=[]))

    tables.between = add_and_remove
    for _ in range(3):
        harness.store.maintenance.compact_links(10)

    assert tables.between is None
    assert harness.sources(B) == []
    assert harness.store.links.count_inlinks(B) == 0
