"""
Plain reads of two processes with caches, on every engine: never too old, and own writes at once.
"""

import random

from aragog.runtime.clock import ManualClock
from aragog.settings import StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS, SAME, page
from zengraph.tables.read_cache import CachedTables, ReadCache

URLS = [f"http://a.example/{number}" for number in range(3)]
AGE_MS = 1000
STEPS = 300
ANYONE = "anyone"


def store_over(tables, clock):
    return UrlStore(tables, MemoryContent(), StoreSettings(), clock)


def served_over(tables, clock):
    """The store of an API process."""
    cache = ReadCache(AGE_MS / 1000, 1_000_000, lambda: clock.now_ms() / 1000)
    return store_over(CachedTables(tables, cache), clock)


def number_in(store, url):
    """The number written there last, as a plain read sees it; 0 without one."""
    (values,) = store.pages.values([url], ("title",))
    return int(values.values[0]) if values and values.values[0] else 0


def write(store, url, number, clock, rng):
    """Put a field, or store a page with it, for an alias or for the first URL itself."""
    value = b"%d" % number
    if rng.random() < 0.5:
        store.put(url, {"title": value})
    else:
        itself = [url] if url == URLS[0] else []
        fetched = rng.choice([f"{url}?from=0", f"{url}?from=1", *itself])
        parts = {"canonical_url": url, "fields": {"title": value}, "likeness": SAME}
        store.write_pages([page(fetched, clock.now_ms(), **parts)])


def test_cached_reads_are_never_too_old_and_show_own_writes_at_once(tables):
    rng, clock = random.Random(7), ManualClock(NOW_MS)
    worker = store_over(tables, clock)
    api = [served_over(tables, clock) for _ in range(2)]
    writes = [(NOW_MS, url, ANYONE, 0) for url in URLS]

    for number in range(1, STEPS):
        clock.advance_ms(rng.choice([1, 1, 20, 300, AGE_MS]))
        url, reader = rng.choice(URLS), rng.randrange(2)
        action = rng.random()
        if action < 0.3:
            who = rng.choice([None, 0, 1])
            write(worker if who is None else api[who], url, number, clock, rng)
            # An alias that agrees with the page that owns the record adds nothing to it.
            if number_in(worker, url) == number:
                writes.append((clock.now_ms(), url, who, number))
        else:
            before_ms = clock.now_ms() - AGE_MS
            known = [n for at, of, who, n in writes if of == url and who in (reader, ANYONE)]
            known += [n for at, of, _, n in writes if of == url and at < before_ms]
            spelling = url if action < 0.8 else f"{url}?from={rng.randrange(2)}"
            if spelling == url or number_in(worker, spelling):
                assert number_in(api[reader], spelling) >= max(known)


def test_only_plain_reads_are_cached(tables):
    clock = ManualClock(NOW_MS)
    worker, api = store_over(tables, clock), served_over(tables, clock)
    worker.put(URLS[0], {"title": b"1"})
    assert number_in(api, URLS[0]) == 1

    worker.put(URLS[0], {"title": b"2"})

    assert api.get(URLS[0]).fields["title"] == b"2"
    assert api.get_many(URLS[:1], ["title"])[0].fields["title"] == b"2"
    clock.advance_ms(AGE_MS + 1)
    assert number_in(api, URLS[0]) == 2


def test_page_taken_down_by_this_process_leaves_its_cache(tables):
    clock = ManualClock(NOW_MS)
    api = served_over(tables, clock)
    api.put(URLS[0], {"title": b"1"})
    assert number_in(api, URLS[0]) == 1

    api.remove(URLS[0])

    assert api.pages.values(URLS[:1], ("title",)) == [None]
