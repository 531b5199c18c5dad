"""What readings of sitemaps write, for any number of runs and pieces."""

import pytest

from aragog.pages.sitemaps import SitemapUrl
from aragog.settings import RefreshSettings
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.signal_trust import PROBES, Evidence, HostTrust, add_evidence, to_cell
from aragog.urlstore.usual_intervals import DAY_S
from tests.support.stores import NOW_MS, body, page, store_harness
from zengraph.tables.memory import MemoryTables

HOST = "site.example"
MAP = f"http://{HOST}/sitemap.xml"
DAY_MS = 86_400_000
PROVEN = add_evidence(HostTrust(), [Evidence(1.0, True, True, 0.1)] * 30, NOW_MS)
FALSE = add_evidence(HostTrust(), [Evidence(0.0, True, True, 0.1)] * 30, NOW_MS)


def urls(count):
    return [f"http://{HOST}/{n}" for n in range(count)]


@pytest.fixture
def harness():
    """A store with 30 pages fetched now, one day later."""
    made = store_harness(MemoryTables())
    for url in urls(30):
        seen = Seen(outcome="Fetched", fetched_at_ms=NOW_MS, page_type="page")
        made.store.write_pages([page(url, NOW_MS, content=body("x"), seen=seen)])
    made.clock.advance_ms(DAY_MS)
    return made


def trust(harness, value):
    harness.store.signals.change(HOST, lambda _: value)


def read(harness, entries, at_ms=NOW_MS + DAY_MS):
    """Reads a file and returns the number of signals found."""
    reading = harness.store.signals.reading(
        entries, kind="sitemap", fetched_at_ms=at_ms, sender=MAP
    )
    reading.take(entries)
    reading.close()
    return reading.signal_count


def changed(count):
    return [SitemapUrl(url, NOW_MS + 3_600_000) for url in urls(count)]


def due_now(harness):
    now_ms = harness.clock.now_ms()
    return [url for url in urls(30) if harness.store.get(url).due_at_ms <= now_ms]


def test_repeated_reading_counts_once(harness):
    trust(harness, PROVEN)

    first, second = read(harness, changed(3)), read(harness, changed(3))

    assert first == pytest.approx(second)
    assert first > 2
    assert due_now(harness) == urls(3)
    assert len(harness.store.schedule.claim_due(harness.clock.now_ms(), 100, 60)) == 3


def test_later_reading_without_news_writes_nothing(harness):
    trust(harness, PROVEN)
    read(harness, changed(3))
    before = harness.store.signals.of_page(urls(1)[0])[0]

    assert read(harness, changed(3), NOW_MS + DAY_MS + 5000) == 0
    assert harness.store.signals.of_page(urls(1)[0])[0] == before


def test_unproven_host_is_tried_with_a_few_pages(harness):
    read(harness, changed(30))

    assert len(due_now(harness)) == PROBES


def test_distrusted_host_gives_no_signals_and_costs_no_writes(harness):
    trust(harness, FALSE)

    assert read(harness, changed(30)) == 0
    assert due_now(harness) == []
    assert harness.store.signals.of_page(urls(1)[0])[0] is None


def test_page_is_not_fetched_before_the_minimum_interval(harness):
    harness.store.signals.settings = RefreshSettings(min_interval_s=2 * DAY_S)
    trust(harness, PROVEN)
    read(harness, changed(1))

    assert harness.store.get(urls(1)[0]).due_at_ms == NOW_MS + 2 * DAY_MS


def test_concurrent_trust_updates_are_both_kept(harness):
    signals = harness.store.signals
    key = {"name": HOST, "change": lambda before: before._replace(checked=before.checked + 1)}

    def slower(before):
        if before.checked == 0:
            signals.change(**key)
        return before._replace(changed=before.changed + 1)

    trust(harness, HostTrust(at_ms=harness.clock.now_ms()))
    signals.change(HOST, slower)

    found = signals.trusts([HOST])[HOST]
    assert (round(found.checked, 6), round(found.changed, 6)) == (1, 1)


def test_wrong_signal_counts_against_its_host(harness):
    trust(harness, PROVEN)
    read(harness, changed(1))
    at_ms = NOW_MS + DAY_MS + 60_000
    harness.clock.advance_ms(60_000)
    seen = Seen(outcome="NotModified", fetched_at_ms=at_ms)
    harness.store.write_pages([page(urls(1)[0], at_ms, seen=seen)])

    after = harness.store.signals.trusts([HOST])[HOST]

    assert after.checked > PROVEN.checked * 0.9
    assert after.precision < PROVEN.precision


def test_interval_grows_for_a_host_whose_silence_is_trusted(harness):
    silent = add_evidence(PROVEN, [Evidence(0.0, False, True, 0.1)] * 30, NOW_MS)
    trust(harness, read_later(silent))
    url, other = urls(2)
    read(harness, [SitemapUrl(url, NOW_MS - DAY_MS)])
    at_ms = NOW_MS + 2 * DAY_MS
    harness.clock.advance_ms(DAY_MS)
    for one in (url, other):
        seen = Seen(outcome="NotModified", fetched_at_ms=at_ms)
        harness.store.write_pages([page(one, at_ms, seen=seen)])

    wait, usual = (harness.store.get(one).due_at_ms - at_ms for one in (url, other))
    assert wait > 1.5 * usual


def read_later(trust):
    return trust._replace(read_at_ms=NOW_MS + DAY_MS)


def test_feed_stored_as_a_page_stays_a_page(harness):
    url = urls(1)[0]
    before = harness.store.get(url).due_at_ms
    at_ms = NOW_MS + DAY_MS
    seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, source="feed")
    harness.store.write_pages([page(url, at_ms, seen=seen)])

    assert harness.store.schedule.refresh_state(url).page_type == "page"
    assert harness.store.get(url).due_at_ms == before


def test_trust_of_a_host_is_small():
    most = read_later(PROVEN)._replace(feeds=("a" * 32,) * 3)

    assert len(to_cell(most)) < 400
