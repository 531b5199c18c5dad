"""Requests to watch and unwatch URLs, over ports in memory."""

from aragog.crawl.stages.watch import WatchBatch, apply_watches
from tests.support.stores import NOW_MS

URLS = [f"http://h{n}.example/" for n in range(5)]


def test_later_of_two_requests_counts_in_any_order(ports):
    apply_watches(
        WatchBatch((URLS[0],), "team", watch=False, at_ms=NOW_MS + 2), ports.store.schedule
    )
    apply_watches(
        WatchBatch((URLS[0],), "team", watch=True, at_ms=NOW_MS + 1), ports.store.schedule
    )
    apply_watches(
        WatchBatch((URLS[1],), "team", watch=True, at_ms=NOW_MS + 1), ports.store.schedule
    )

    assert [ports.store.schedule.watchers(url) for url in URLS[:2]] == [[], ["team"]]
