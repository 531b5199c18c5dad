"""Refreshes requested by sitemaps and feeds, through all stages and with a real origin."""

from dataclasses import dataclass, field
from datetime import UTC, datetime

import pytest

from aragog.settings import RefreshSettings
from aragog.urlstore.signal_reasons import signal_lines
from bench.signals_origin import ShiftedClock, virtual_crawl
from tests.support.origin import Origin, answer

pytestmark = pytest.mark.redis
HOST = "http://site.example"
MAP, FEED, INDEX = f"{HOST}/sitemap.xml", f"{HOST}/feed", f"{HOST}/index.xml"
A, B = f"{HOST}/a", f"{HOST}/b"
DAY_S = 86_400.0
LINK = '<link rel="alternate" type="application/rss+xml" href="/feed">'


@dataclass
class SmallSite:
    """Two pages, their sitemap and their feed; every file has an ETag."""

    clock: ShiftedClock
    titles: dict[str, str] = field(default_factory=lambda: {"/a": "old", "/b": "old"})
    dates: dict[str, int] = field(default_factory=dict)
    """The lastmod of each page, in ms; others are a year old."""
    robots: str = "User-agent: *\nAllow: /\n"
    stamped: bool = False
    seen: list[tuple[str, int]] = field(default_factory=list)

    def change(self, path: str) -> None:
        """Change a page and its date in the sitemap and feed."""
        self.titles[path] += " and new"
        self.dates[path] = self.clock.now_ms()

    def __call__(self, request, _):
        body, kind = self._file(request.path)
        tag, status = f'"{hash(body)}"', 200
        if request.header("If-None-Match") == tag:
            status, body = 304, ""
        self.seen.append((request.path, status))
        return answer(status, body.encode(), headers=(("ETag", tag), ("Content-Type", kind)))

    def _file(self, path):
        if path == "/robots.txt":
            return self.robots, "text/plain"
        if path == "/sitemap.xml":
            rows = [
                f"<url><loc>{HOST}{p}</loc><lastmod>{self._date(p)}</lastmod></url>"
                for p in self.titles
            ]
            return f"<urlset>{''.join(rows)}</urlset>", "application/xml"
        if path == "/index.xml":
            return (
                f"<sitemapindex><sitemap><loc>{MAP}</loc></sitemap></sitemapindex>",
                "application/xml",
            )
        if path == "/feed":
            rows = [
                f"<item><link>{HOST}{p}</link><date>{self._date(p)}</date></item>"
                for p in self.titles
            ]
            return f"<rss><channel>{''.join(rows)}</channel></rss>", "application/rss+xml"
        return f"<!doctype html><title>{self.titles[path]}</title>{LINK}", "text/html"

    def _date(self, path):
        now_ms = self.clock.now_ms()
        at_ms = now_ms if self.stamped else self.dates.get(path, 1_600_000_000_000)
        return datetime.fromtimestamp(at_ms / 1000, UTC).isoformat()

    def of(self, path):
        """The statuses of the requests for a path."""
        return [status for seen, status in self.seen if seen == path]


@pytest.fixture
def make(redis_url, tmp_path):
    """Makes a site that was crawled with its sitemap: `make(refresh settings)`."""
    harnesses = []

    def made(refresh=None, *, walk=True, **site_options):
        clock = ShiftedClock()
        site = SmallSite(clock, **site_options)
        origin = Origin({"/*": site, "/robots.txt": site})
        origin.start()
        context = virtual_crawl(origin, redis_url, tmp_path, clock, refresh or RefreshSettings())
        crawl = context.__enter__()
        harnesses.append((context, origin))
        crawl.enqueue([A, B])
        if walk:
            crawl.enqueue([MAP], sitemap=True, refresh=True, depth=1)
        return site, crawl

    yield made
    for context, origin in harnesses:
        context.__exit__(None, None, None)
        origin.stop()


def title(crawl, url):
    return crawl.pipeline.store.store.get(url).fields["page.title"].decode()


def test_unchanged_sitemap_costs_one_conditional_request(make):
    site, crawl = make()

    crawl.step(1.2 * DAY_S)
    crawl.step(3600)

    assert site.of("/sitemap.xml") == [200, 304]
    assert site.of("/a") == [200]


def test_page_is_refetched_when_its_sitemap_reports_a_change_not_by_time(make):
    site, crawl = make()
    crawl.step(3600)
    site.change("/a")

    crawl.step(1.2 * DAY_S)  # the sitemap is read
    crawl.step(60)  # the page is due

    assert title(crawl, A) == '"old and new"'
    assert (len(site.of("/a")), len(site.of("/b"))) == (2, 1)


def test_reason_of_a_refresh_is_shown_with_the_trust_in_its_host(make):
    site, crawl = make()
    crawl.step(3600)
    site.change("/a")
    crawl.step(1.2 * DAY_S)

    store = crawl.pipeline.store.store
    mark, trust = store.signals.of_page(A)
    state, now_ms = store.schedule.refresh_state(A), crawl.clock.now_ms()
    lines = dict(signal_lines(state, mark, trust, store.signals.settings, now_ms))

    assert "believed 50%, so the page is due" in lines["signal"]
    assert lines["dates of its host"].startswith("not proven yet")


def test_confirmed_signal_counts_once_for_its_host(make):
    site, crawl = make()
    crawl.step(3600)
    site.change("/a")
    for seconds in (1.2 * DAY_S, 60):
        crawl.step(seconds)

    trust = crawl.pipeline.store.store.signals.trusts(["site.example"])["site.example"]

    assert (round(trust.checked, 3), round(trust.changed, 3)) == (1.0, 1.0)


def test_host_that_dates_all_pages_by_the_response_is_not_trusted(make):
    site, crawl = make(stamped=True)
    walked = len(site.of("/a"))
    for _ in range(4):
        crawl.step(1.2 * DAY_S)
        crawl.step(60)

    assert len(site.of("/sitemap.xml")) > 1
    assert len(site.of("/a")) == len(site.of("/b")) == walked


def test_rereading_a_sitemap_enqueues_no_new_page(make):
    site, crawl = make()
    site.titles["/new"] = "new"

    crawl.step(1.2 * DAY_S)
    crawl.step(60)

    assert site.of("/sitemap.xml") == [200, 200]
    assert site.of("/new") == []


def test_sitemaps_and_feeds_of_watched_hosts_are_found_by_robots_txt_and_links(make):
    site, crawl = make(walk=False, robots=f"Sitemap: {INDEX}\n")
    schedule = crawl.pipeline.store.store.schedule
    crawl.step(8 * DAY_S)
    assert site.of("/feed") == site.of("/index.xml") == []

    schedule.watch(A, "shop")
    for _ in range(40):
        crawl.step(DAY_S)

    assert site.of("/feed")[0] == 200
    assert site.of("/index.xml")[0] == 200
    assert site.of("/sitemap.xml")[0] == 200
    assert set(site.of("/feed")[1:]) == {304}
    assert schedule.refresh_state(FEED).page_type == "feed"


def test_page_named_by_a_feed_is_refetched(make):
    site, crawl = make(walk=False)
    crawl.enqueue([FEED], sitemap=True, refresh=True)
    crawl.step(3600)
    site.change("/b")

    crawl.step(0.5 * DAY_S)
    crawl.step(60)

    assert title(crawl, B) == '"old and new"'


def test_pages_wait_for_their_schedule_without_signals(make):
    site, crawl = make(RefreshSettings(signals=False))
    site.change("/a")

    for _ in range(4):
        crawl.step(1.2 * DAY_S)

    assert site.of("/sitemap.xml") == [200]
    assert site.of("/a") == [200]


def test_signal_does_not_refetch_an_unwatched_page(make):
    site, crawl = make()
    schedule = crawl.pipeline.store.store.schedule
    schedule.watch(A, "shop")
    schedule.unwatch(A, "shop")
    crawl.step(3600)
    site.change("/a")

    crawl.step(1.2 * DAY_S)
    crawl.step(60)

    assert site.of("/a") == [200]
