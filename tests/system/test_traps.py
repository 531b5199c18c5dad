"""`aragog run` on a host with a trap and a harmless one: what it fetches of each."""

import pytest

from bench.traps.harmless_sites import documentation
from bench.traps.measure import crawl
from bench.traps.more_trapped_sites import more_trapped_sites

pytestmark = [pytest.mark.redis, pytest.mark.slow]


def test_a_whole_system_fetches_all_real_pages_and_few_of_a_trap():
    pager = next(site for site in more_trapped_sites() if site.host == "marlow-walks.test")
    sites = [pager, documentation()]

    scores = crawl(sites, qps=100, for_s=300).scores

    for site in sites:
        assert scores[site.host].fetched == site.pages, site.host
    assert scores[pager.host].in_trap <= 0.1 * len(pager.pages)
