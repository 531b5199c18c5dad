"""`bench.signals`: exact dates help a lot, worthless ones cost little."""

import pytest

from aragog.settings import RefreshSettings
from bench.signals import Site, SiteResult, freshness_without_signals, keep_fresh

URLS, DAYS = 40, 24


def kept(kind, **settings) -> SiteResult:
    return keep_fresh(Site(kind, "published shares", URLS, 1), DAYS, RefreshSettings(**settings))


def test_exact_dates_halve_the_stale_time_for_the_same_requests():
    done = kept("exact")
    site = Site("exact", "published shares", URLS, 1)

    fresh = freshness_without_signals(site, DAYS, done.fetches + done.readings)

    assert 1 - done.fresh < (1 - fresh) / 2


@pytest.mark.parametrize("kind", ["today", "at the time", "new alone"])
def test_useless_dates_cause_few_extra_requests(kind):
    done, off = kept(kind), kept(kind, signals=False)

    assert done.fetches + done.readings < 1.2 * (off.fetches + off.readings)
    assert done.fresh > off.fresh - 0.03


def test_no_sitemap_is_read_without_signals():
    assert kept("exact", signals=False).readings == 0
