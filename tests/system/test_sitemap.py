"""A sitemap is a source of URLs."""

import pytest

from aragog.bootstrap.stores import url_store
from aragog.client import Aragog
from aragog.standalone.demo.sites import PLACES
from tests.support.standalone import standalone

pytestmark = [pytest.mark.redis, pytest.mark.slow]


def test_what_an_index_of_sitemaps_lists_is_fetched_and_once_only(demo_web):
    urls = [f"http://travel.test/{place[0]}" for place in PLACES]
    with standalone(demo_web) as system, Aragog(system.settings) as client:
        client.enqueue(["http://travel.test/sitemap.xml"], sitemap=True)
        system.finish(client)
        first = client.counters()["stored"]
        client.enqueue(["http://travel.test/sitemap.xml"], sitemap=True)
        system.finish(client)

        store = url_store(system.settings)
        records = store.get_many(urls)
        facts = store.get("http://travel.test/sitemap.xml").facts
        store.close()

        assert client.counters()["stored"] == first == len(PLACES)
    assert [r.facts["outcome"] for r in records] == ["Fetched"] * len(PLACES)
    assert facts["outcome"] in ("Fetched", "NotModified")
