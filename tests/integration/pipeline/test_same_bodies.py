"""
Crawl a site with duplicate pages: bodies are stored once, and duplicates are counted and found.
"""

import orjson
import pytest

from aragog.crawl.pipeline import counters
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from richpins import read
from richpins.fingerprint import distance
from tests.support.origin import page

pytestmark = pytest.mark.redis

WORDS = [f"word{n}" for n in range(400)]
TEXT = f"<title>t</title><main>{' '.join(WORDS)}</main>".encode()
NEAR = TEXT.replace(b"word200", b"another")
OTHER = f"<title>t</title><main>{' '.join(reversed(WORDS))}</main>".encode()
SITE = "http://copies.test"


def test_duplicate_bodies_are_stored_once_counted_and_found_by_lookup(crawl_harness):
    pages = {"/a": page(TEXT), "/b": page(TEXT), "/c": page(NEAR), "/d": page(OTHER)}
    harness = crawl_harness(pages, qps=1000)

    for path in pages:
        harness.crawl([SITE + path], EnqueueOptions())

    counted = harness.pipeline.store.counters.read()
    assert (counted[counters.STORED], counted[counters.SAME_BODY]) == (4, 1)
    store = harness.urls
    assert [store.content(SITE + path).body for path in pages] == [TEXT, TEXT, NEAR, OTHER]
    prints = {
        path: orjson.loads(store.get(SITE + path).fields["page.fingerprint"]) for path in pages
    }
    assert prints["/a"] == read(TEXT, url=SITE, content_type="text/html").fingerprint
    near = store.same.page(f"{SITE}/a", within=3).items
    assert {(one.url, one.is_identical) for one in near} == {
        (f"{SITE}/b", True), (f"{SITE}/c", False),
    }  # fmt: skip
    assert distance(prints["/a"], prints["/c"]) <= 3 < distance(prints["/a"], prints["/d"])
