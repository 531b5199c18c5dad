"""The page sample: a page is equally likely to be in it whether its host is large or small."""

from aragog.urlstore.freshness import freshness
from aragog.urlstore.hosts import is_in_sample
from tests.support.stores import NOW_MS, page

HOUR_MS = 3_600_000
FACTS = {"page_type": "page"}


def test_sample_includes_pages_of_one_large_host(harness):
    """After a random key come the first pages of a host, and most of those hosts are small."""
    large = [f"https://large.example/{n}" for n in range(1200)]
    small = [f"https://s{n}.example/" for n in range(400)]
    chosen = [url for url in [*large, *small] if is_in_sample(url)]
    pages = [
        page(url, NOW_MS - HOUR_MS * ("large" in url), fields={"t": b"1"}, facts=FACTS)
        for url in large + small
    ]
    for at in range(0, len(pages), 200):
        harness.store.write_pages(pages[at : at + 200])

    found = freshness(harness.store.zen, NOW_MS, len(chosen) // 4)["page"]

    assert len(chosen) // 4 <= found.pages < len(chosen)
    assert found.age_p50_s == 3600
    everything = freshness(harness.store.zen, NOW_MS)["page"]
    assert everything.pages == len(pages)
