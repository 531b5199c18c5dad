"""The cache of nodes in an API process."""

import random
import tracemalloc

from zengraph.clock import ManualClock
from zengraph.tables.memory import MemoryTables
from zengraph.tables.read_cache import CachedTables, ReadCache

COLUMNS = (b"m:a", b"m:b")
ROW = b"r" * 16


class Reads:
    """Returns the same values for any row, and records which rows were read."""

    def __init__(self, value=b"v"):
        self.value, self.rows = value, []

    def __call__(self, rows, columns):
        self.rows.append(list(rows))
        return {row: (self.value, *[None] * (len(columns) - 1)) for row in rows}


def cache_of(clock=None, *, max_bytes=1_000_000):
    clock = clock or ManualClock(0)
    return ReadCache(2.0, max_bytes, lambda: clock.now_ms() / 1000)


def test_cached_row_is_not_read_again_until_it_expires():
    clock, reads = ManualClock(0), Reads()
    cache = cache_of(clock)

    cache.read([ROW], COLUMNS, reads)
    clock.advance_ms(2000)
    assert cache.read([ROW, b"other"], COLUMNS, reads)[ROW] == (b"v", None)
    clock.advance_ms(1)
    cache.read([ROW], COLUMNS, reads)

    assert reads.rows == [[ROW], [b"other"], [ROW]]


def test_age_is_counted_from_before_the_read():
    clock, reads = ManualClock(0), Reads()
    cache = cache_of(clock)

    def slow(rows, columns):
        clock.advance_ms(1500)
        return reads(rows, columns)

    cache.read([ROW], COLUMNS, slow)
    clock.advance_ms(600)
    cache.read([ROW], COLUMNS, reads)

    assert len(reads.rows) == 2


def test_other_columns_are_a_separate_entry():
    cache, reads = cache_of(), Reads()

    assert cache.read([ROW], COLUMNS, reads)[ROW] == (b"v", None)
    assert cache.read([ROW], COLUMNS[:1], reads)[ROW] == (b"v",)


def test_write_drops_the_row_for_all_columns():
    cache, reads = cache_of(), Reads()
    cache.read([ROW], COLUMNS, reads)
    cache.read([ROW], COLUMNS[:1], reads)

    cache.drop([ROW])
    reads.value = b"new"

    assert cache.read([ROW], COLUMNS, reads)[ROW][0] == b"new"
    assert cache.read([ROW], COLUMNS[:1], reads)[ROW][0] == b"new"


def test_row_written_during_its_read_is_not_cached():
    cache, reads = cache_of(), Reads(b"old")

    def overtaken(rows, columns):
        values = reads(rows, columns)
        cache.drop([ROW])
        return values

    cache.read([ROW], COLUMNS, overtaken)
    reads.value = b"new"

    assert cache.read([ROW], COLUMNS, reads)[ROW][0] == b"new"


def test_missing_rows_are_not_cached():
    cache, reads = cache_of(), Reads()

    assert cache.read([ROW], COLUMNS, lambda *_: {}) == {}
    assert cache.read([ROW], COLUMNS, reads)[ROW][0] == b"v"


def test_memory_is_bounded():
    rng = random.Random(1)
    cache = cache_of(max_bytes=500_000)
    tracemalloc.start()
    for _ in range(3000):
        size = rng.choice([0, 5, 50, 2000])
        columns = tuple(b"m:%d" % n for n in range(rng.randrange(1, 12)))
        row = rng.randbytes(16)
        cache.read(
            [row], columns, lambda rows, cs, n=size: {r: (b"x" * n,) * len(cs) for r in rows}
        )
        cache.read([row], columns, lambda rows, cs, n=size: {r: (rng.randbytes(n),) for r in rows})
    used_bytes = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()

    assert cache.size_bytes <= 500_000
    assert used_bytes < 600_000


def test_more_column_sets_than_the_cache_keeps_are_all_read():
    cache = cache_of()

    for number in range(200):
        reads = Reads(b"%d" % number)
        assert cache.read([ROW], (b"m:%d" % number,), reads)[ROW] == (b"%d" % number,)

    cache.drop([ROW])
    assert cache.read([ROW], (b"m:199",), Reads(b"new"))[ROW] == (b"new",)


def test_every_write_to_nodes_drops_the_rows_even_if_it_fails():
    inner = MemoryTables(ManualClock())
    cache = cache_of()
    tables = CachedTables(inner, cache)
    nodes = tables["n"]
    writes = [
        lambda: nodes.put(ROW, {b"m:a": b"1"}, at_ms=1),
        lambda: nodes.put_many([(ROW, {b"m:a": b"2"}, 2)]),
        lambda: nodes.check_and_put(ROW, b"m:a", b"2", b"3"),
        lambda: nodes.check_and_put_many([(ROW, b"m:a", b"3", b"4")]),
        lambda: tables.write([("n", ROW, {b"m:b": b"5"}, 5)]),
        lambda: nodes.delete(ROW, [b"m:b"], at_ms=6),
        lambda: nodes.delete_many([(ROW, [b"m:b"], 6)]),
        lambda: nodes.put_and_delete_many([(ROW, {b"m:a": b"7"}, 7)], []),
        lambda: nodes.put_and_delete_many([], [(ROW, [b"m:a"], 8)]),
        lambda: nodes.incr(ROW, b"c:n", 1),
    ]
    for write in writes:
        nodes.values_many([ROW], COLUMNS)
        write()
        assert nodes.values_many([ROW], COLUMNS) == inner["n"].values_many([ROW], COLUMNS)
    assert tables["e"] is inner["e"]
