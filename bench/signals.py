"""
Measure the value of sitemaps and feeds for the refresh schedule: freshness at equal requests, with
and without.

    python -m bench.signals [--files feed] [--urls 300] [--days 60] [--world "published shares"]

One host of each kind below, whose pages change by Poisson processes (the worlds of
`bench.refresh`). All decisions are made by the store's own code: the due index, readings of the
sitemap, marks, trust. Each fetch of a page and each reading of a file is a request; the second half
of the days counts. Without signals, the same pages are replayed ten times with the effort that
takes the same number of requests (`bench.refresh.replay_pages`). No network; time is simulated in
steps of a quarter of an hour.

`--files` says what the host has: a sitemap with all pages, a feed with the 20 pages whose dates
are the newest, or both.

    exact        the date is the instant of each change
    by day       it is the day of each change
    half told    it reports three changes of five, and one false change for each two of these
    new alone    it reports no change: it is when the page was made
    today        it is today's date for every page, whatever happened
    at the time  it is the instant of the response, for every page
"""

from __future__ import annotations

import argparse
import math
import random
from collections.abc import Callable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from aragog.pages.sitemaps import SitemapUrl
from aragog.runtime.clock import ManualClock
from aragog.settings import RefreshSettings, StoreSettings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.records import ContentWrite, Due, PageWrite
from aragog.urlstore.refresh_policy import Seen
from aragog.urlstore.signal_sources import SOURCES
from aragog.urlstore.store import UrlStore
from aragog.urlstore.usual_intervals import DAY_S, FEED, SITEMAP
from bench.quick import add_quick
from bench.refresh import FIELD, WORLDS, replay_pages
from zengraph.tables.memory import MemoryTables

START_MS = 1_700_000_000_000
STEP_S = 900.0
DAY_MS = 86_400_000
FILES = {SITEMAP: (SITEMAP,), FEED: (FEED,), "both": (SITEMAP, FEED)}
"""What a host has, by the option `--files`."""
FILE_URLS = {SITEMAP: "http://site.example/sitemap.xml", FEED: "http://site.example/feed.xml"}
FEED_ENTRIES = 20
REPORTED_SHARE, FALSE_REPORT_SHARE = 0.6, 0.5
REPETITIONS = 10


@dataclass(slots=True)
class SimulatedPage:
    """A page, and what the files of its host report about it."""

    url: str
    page_type: str
    every_s: float
    next_ms: float
    version: int = 0
    changed_ms: float = START_MS
    reported_ms: float = START_MS
    false_ms: float = math.inf
    """When the files report a false change."""
    stored: int = -1
    stale_since_ms: float | None = None


@dataclass
class Site:
    """One host, whose pages change over time."""

    kind: str
    world: str
    urls: int
    seed: int
    start_ms: int = START_MS
    files: tuple[str, ...] = (SITEMAP,)
    """The kinds of its files: `sitemap`, `feed`, or both."""
    pages: dict[str, SimulatedPage] = field(init=False)

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self.pages = {}
        for number in range(self.urls):
            page_type, every_s = WORLDS[self.world](self._rng)
            url = f"http://site.example/{number}"
            self.pages[url] = SimulatedPage(
                url,
                page_type,
                every_s,
                self.start_ms + self._rng.expovariate(1 / every_s) * 1000,
                changed_ms=self.start_ms,
                reported_ms=self.start_ms,
            )

    def advance(self, page: SimulatedPage, now_ms: float) -> None:
        """Change a page up to the current time."""
        while page.next_ms <= now_ms:
            page.version += 1
            page.changed_ms = page.next_ms
            if page.stored >= 0 and page.stale_since_ms is None:
                page.stale_since_ms = page.changed_ms
            if self.kind != "half told" or self._rng.random() < REPORTED_SHARE:
                page.reported_ms = page.changed_ms
                if self.kind == "half told" and self._rng.random() < FALSE_REPORT_SHARE:
                    page.false_ms = page.changed_ms + self._rng.random() * page.every_s * 500
            page.next_ms += self._rng.expovariate(1 / page.every_s) * 1000

        if page.false_ms <= now_ms:
            page.reported_ms, page.false_ms = max(page.reported_ms, page.false_ms), math.inf

    def entries(self, kind: str, now_ms: int) -> list[SitemapUrl]:
        """Return the current entries of the sitemap, or of the feed, which has the newest first."""
        for page in self.pages.values():
            self.advance(page, now_ms)
        pages = list(self.pages.values())
        if kind == FEED:
            pages = sorted(pages, key=lambda page: -page.reported_ms)[:FEED_ENTRIES]
        return [SitemapUrl(page.url, *self._date(page, now_ms)) for page in pages]

    def _date(self, page: SimulatedPage, now_ms: int) -> tuple[int, int | None]:
        match self.kind:
            case "by day":
                return _day(page.reported_ms)
            case "today":
                return _day(now_ms)
            case "at the time":
                return now_ms, None
            case "new alone":
                return self.start_ms, None
        return int(min(page.reported_ms, now_ms)), None


def _day(at_ms: float) -> tuple[int, int]:
    start_ms = int(at_ms // DAY_MS * DAY_MS)
    return start_ms, start_ms + DAY_MS - 1


KINDS = ("exact", "by day", "half told", "new alone", "today", "at the time")


@dataclass(slots=True)
class SiteResult:
    """The results of keeping a host fresh, for the second half of the days."""

    fresh: float
    fetches: int
    readings: int


def keep_fresh(site: Site, days: float, settings: RefreshSettings) -> SiteResult:
    """Keep a host's pages fresh with the store's own schedule."""
    clock = ManualClock(START_MS)
    store = UrlStore(MemoryTables(clock), MemoryContent(), StoreSettings(), clock, settings)
    count_from_ms, end_ms = START_MS + int(days * DAY_MS / 2), START_MS + int(days * DAY_MS)
    result = SiteResult(0.0, 0, 0)
    stale_ms = [0.0]

    def count(now_ms: int, *, is_page: bool) -> None:
        if now_ms >= count_from_ms:
            result.fetches += is_page
            result.readings += not is_page

    def count_stale(page: SimulatedPage, now_ms: float) -> None:
        if page.stale_since_ms is not None:
            stale_ms[0] += max(now_ms - max(page.stale_since_ms, count_from_ms), 0)
            page.stale_since_ms = None

    def fetch(page: SimulatedPage, now_ms: int) -> PageWrite:
        site.advance(page, now_ms)
        count_stale(page, now_ms)
        page.stored = page.version
        count(now_ms, is_page=True)
        return _page_write(page, now_ms)

    store.write_pages([fetch(page, START_MS + 1) for page in site.pages.values()])
    clock.advance_ms(1000)
    store.write_pages(
        [_file_write(kind, site, store, clock.now_ms(), settings, count) for kind in site.files]
    )
    while clock.now_ms() < end_ms:
        clock.advance_ms(STEP_S * 1000)
        now_ms = clock.now_ms()
        due = store.schedule.claim_due(now_ms, 10_000, 60)
        writes = [
            _file_write(kind, site, store, now_ms, settings, count)
            if (kind := _kind(due_url)) in SOURCES
            else fetch(site.pages[due_url.url], now_ms)
            for due_url in due
        ]
        for start in range(0, len(writes), 100):
            store.write_pages(writes[start : start + 100])
    for page in site.pages.values():
        site.advance(page, end_ms)
        count_stale(page, end_ms)
    result.fresh = 1 - stale_ms[0] / (end_ms - count_from_ms) / len(site.pages)
    return result


def _kind(due: Due) -> str:
    return due.state.page_type if due.state else ""


def _page_write(page: SimulatedPage, now_ms: int) -> PageWrite:
    return PageWrite(
        url=page.url,
        final_url=page.url,
        canonical_url=page.url,
        fetched_at_ms=now_ms,
        fields={FIELD.get(page.page_type, page.page_type + ".x"): b"%d" % page.version},
        content=ContentWrite(b"x", length_bytes=1),
        seen=Seen(outcome="Fetched", fetched_at_ms=now_ms, page_type=page.page_type),
    )


def _file_write(
    kind: str,
    site: Site,
    store: UrlStore,
    now_ms: int,
    settings: RefreshSettings,
    count: Callable[..., None],
) -> PageWrite:
    """Read a sitemap or feed like the stages do."""
    if settings.signals:
        count(now_ms, is_page=False)
    entries, url = site.entries(kind, now_ms), FILE_URLS[kind]
    reading = store.signals.reading(entries, kind=kind, fetched_at_ms=now_ms, sender=url)
    reading.take(entries)
    reading.close()
    seen = Seen(
        outcome="Fetched", fetched_at_ms=now_ms, source=kind, signal_count=reading.signal_count
    )
    return PageWrite(
        url=url, final_url=url, canonical_url=url, fetched_at_ms=now_ms, seen=seen,
        facts={"outcome": "Fetched", "status": 200},
    )  # fmt: skip


def freshness_without_signals(site: Site, days: float, requests: int) -> float:
    """Return the freshness of the same pages without signals, for the same number of requests."""
    return replay_effort(site, days, requests, random.Random(1))[1]


def replay_effort(
    site: Site, days: float, requests: int, rng: random.Random
) -> tuple[float, float]:
    """Return the effort that takes this many requests without signals, and its freshness."""
    pages = [(page.page_type, page.every_s) for page in site.pages.values()] * REPETITIONS
    low, high = 0.02, 50.0
    for _ in range(12):
        effort = math.sqrt(low * high)
        result = replay_pages(pages, days, _settings(effort, signals=False), rng)
        low, high = (low, effort) if result.fetches > requests * REPETITIONS else (effort, high)
    return effort, result.fresh_s / (days * DAY_S / 2) / len(pages)


def _settings(effort: float, *, signals: bool) -> RefreshSettings:
    return RefreshSettings(effort=effort, signals=signals)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=300)
    parser.add_argument("--days", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--world", choices=list(WORLDS), default="published shares")
    parser.add_argument("--site", choices=KINDS, help="only this kind of dates")
    parser.add_argument("--files", choices=list(FILES), default=SITEMAP)
    add_quick(parser, urls=40, days=10.0)
    options = parser.parse_args()
    table = Table(
        title=f"{options.files}, {options.world}: {options.urls:,} URLs, {options.days:g} days"
    )
    for name in (
        "dates", "requests per day and page", "for files", "fresh", "without", "stale time saved"
    ):  # fmt: skip
        table.add_column(name, justify="left" if name == "dates" else "right")
    for kind in [options.site] if options.site else KINDS:
        files = FILES[options.files]
        site = Site(kind, options.world, options.urls, options.seed, files=files)
        result = keep_fresh(site, options.days, _settings(1.0, signals=True))
        requests = result.fetches + result.readings
        fresh = freshness_without_signals(site, options.days, requests)
        table.add_row(
            kind,
            f"{requests / (options.days / 2) / options.urls:.3f}",
            f"{result.readings / requests:.1%}",
            f"{result.fresh:.3f}",
            f"{fresh:.3f}",
            f"{1 - (1 - result.fresh) / (1 - fresh):.0%}",
        )
    Console(width=120).print(table)


if __name__ == "__main__":
    main()
