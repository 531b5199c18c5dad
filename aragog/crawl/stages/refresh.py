"""
Fetches due URLs again, spread evenly over time, less urgently than new URLs, and within each
domain's rate.

A tick (one run) takes the URLs that have become due since the previous tick. After an outage, it
takes the oldest first. The later the oldest URL is, the more URLs a tick takes, so that the backlog
is spread over `refresh.smooth_s`. From each domain, it takes `refresh.domain_share` of the requests
that the rate allows until the next tick, or a tenth of that while other URLs have reserved the
domain's slots (request times). `aragog.urlstore.crawl_budget` chooses these URLs, and new times for
the others.
Postponed URLs stay in the due index.

It is safe to run twice, and in several beat processes at once. A tick is claimed with
check-and-put, each due row is claimed before it is enqueued, and a waiting URL is not enqueued
again. If a run is killed, its claims expire and the rows are due again.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from aragog.crawl.pipeline.counters import Counters
from aragog.crawl.pipeline.crawl_records import REFRESHED
from aragog.crawl.pipeline.messages import AS_KEPT, PRIORITY_REFRESH
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.enqueue_options import SOURCE_OPTIONS, EnqueueOptions
from aragog.observability.instruments import REFRESH_URLS
from aragog.runtime.clock import Clock
from aragog.settings import Settings
from aragog.urlstore.change_signals import SEARCH_INTERVAL_MS, ChangeSignals
from aragog.urlstore.crawl_budget import ration
from aragog.urlstore.records import Due
from aragog.urlstore.schedule import Schedule
from aragog.urlstore.signal_sources import SOURCES
from urlspelling import InvalidUrl, normalize
from urlspelling.domain import host, origin, registered_domain

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tick:
    """The results of one run."""

    enqueued: int = 0
    postponed: int = 0
    lag_ms: int = 0
    """How late the oldest URL was."""


# Longer than it normally takes to store an enqueued URL. Storing writes the row again.
CLAIM_S = 900.0
TICK_NAME = "refresh"
TICK_S = 5.0
# A slightly early beat process must not lose its tick, and two must not both get one.
_MIN_TICK_SHARE = 0.8
# A tick catches up on at most this much backlog.
_MAX_TICK_S = 60.0
# How many URLs a tick claims at most, to keep its memory below about 50 MB. It also stops when the
# next tick is due. Later ticks claim the rest.
_MAX_CLAIMED = 100_000
_MAX_HOSTS_CHECKED = 20
_MAX_PAGES = 20
_MAX_SITEMAPS = 5
"""How many of the sitemaps in one robots.txt are used."""
PAGE_OPTIONS = EnqueueOptions(
    refresh=True, priority=PRIORITY_REFRESH, purposes=AS_KEPT, crawl_number=REFRESHED
)
# While other URLs have reserved a domain's slots, refreshes get this part of their usual share.
_BUSY_SHARE = 0.1
_ENQUEUED, _POSTPONED = (REFRESH_URLS.labels(name) for name in REFRESH_URLS.values)


def horizon_ms(oldest_ms: int, now_ms: int, *, tick_s: float, smooth_s: float) -> int:
    """
    Return the time before which a URL must be due for this tick. This is now, unless the oldest due
    URL is late.

    A tick covers the time since the previous tick; twice that time if the oldest URL is `smooth_s`
    late, three times if it is twice as late, and so on. So the ticks share a backlog about evenly.
    """
    lag_ms = now_ms - oldest_ms
    tick_ms = tick_s * 1000
    if lag_ms <= 2 * tick_ms:
        return now_ms
    return min(now_ms, oldest_ms + int(tick_ms * (1 + lag_ms / (smooth_s * 1000))))


@dataclass(frozen=True, slots=True)
class RefreshStage:
    """Enqueues due URLs, within their domains' rates."""

    schedule: Schedule
    limiter: Limiter
    robots: RobotsCache
    enqueuer: Enqueuer
    counters: Counters
    clock: Clock
    settings: Settings
    signals: ChangeSignals | None = None
    """None to skip the search for sitemaps and feeds."""

    def run(self) -> Tick:
        """Enqueue due URLs. Does nothing if another beat process has just done so."""
        self.counters.record_tick()
        now_ms = self.clock.now_ms()
        elapsed_s = self.schedule.take_tick(TICK_NAME, now_ms, TICK_S * _MIN_TICK_SHARE)
        if elapsed_s is None:
            return Tick()
        elapsed_s = min(elapsed_s, _MAX_TICK_S)
        oldest_ms = self.schedule.oldest_due_ms(now_ms)
        if oldest_ms is None:
            return Tick()
        smooth_s = self.settings.refresh.smooth_s
        upto_ms = horizon_ms(oldest_ms, now_ms, tick_s=elapsed_s, smooth_s=smooth_s)
        due_pages = self._claim(now_ms, upto_ms)
        to_fetch, postponed = self._split_by_rate(due_pages, now_ms=now_ms, tick_s=elapsed_s)
        self.schedule.postpone(postponed)
        sources = [due_page.url for due_page in to_fetch if _is_source(due_page)]
        enqueued = self._enqueue(
            [due_page.url for due_page in to_fetch if not _is_source(due_page)], PAGE_OPTIONS
        )
        enqueued += self._enqueue(sources, SOURCE_OPTIONS)
        self._find_sources(to_fetch, now_ms)
        _ENQUEUED.add(len(to_fetch))
        _POSTPONED.add(len(postponed))
        return Tick(enqueued, len(postponed), now_ms - oldest_ms)

    def _enqueue(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        return sum(1 for _ in self.enqueuer.enqueue(urls, options))

    def _find_sources(self, due_pages: Sequence[Due], now_ms: int) -> None:
        """
        Start reading the sitemaps and feeds of watched pages' hosts.

        robots.txt lists sitemaps, and pages link to feeds. Each host is checked once a week, at
        most `_MAX_HOSTS_CHECKED` hosts per tick.
        """
        if self.signals is None or not self.settings.refresh.signals:
            return
        watched_urls: dict[str, list[str]] = defaultdict(list)
        for due_page in due_pages:
            if due_page.watched:
                watched_urls[host(due_page.url)].append(due_page.url)
        trusts = self.signals.trusts(watched_urls)
        due_hosts = [n for n, t in trusts.items() if t.looked_at_ms + SEARCH_INTERVAL_MS <= now_ms]
        for name in due_hosts[:_MAX_HOSTS_CHECKED]:
            self._check_host(name, watched_urls[name][:_MAX_PAGES], self.signals)
            self.signals.record_search(name, now_ms)  # last, so a killed run repeats it

    def _check_host(self, host_name: str, pages: Sequence[str], signals: ChangeSignals) -> None:
        origin_url = origin(pages[0])
        rules = self.robots.get_many([origin_url])[origin_url].rules
        sitemaps = signals.new_sources(_sitemaps(origin_url, rules.sitemaps if rules else ()))
        feeds = signals.new_feeds(pages)
        if sitemaps or feeds:
            log.info("%s: reading %d sitemaps and %d feeds", host_name, len(sitemaps), len(feeds))
            self._enqueue([*sitemaps, *feeds], SOURCE_OPTIONS)

    def _claim(self, now_ms: int, upto_ms: int) -> list[Due]:
        due_pages: list[Due] = []
        deadline_s = self.clock.monotonic_s() + TICK_S
        while len(due_pages) < _MAX_CLAIMED and self.clock.monotonic_s() < deadline_s:
            size = self.settings.refresh.batch
            claimed = self.schedule.claim_due(now_ms, size, CLAIM_S, upto_ms=upto_ms)
            due_pages += claimed
            if not claimed:
                break
        return due_pages

    def _split_by_rate(
        self, due_pages: Sequence[Due], *, now_ms: int, tick_s: float
    ) -> tuple[list[Due], list[tuple[Due, int]]]:
        """
        Split due URLs into those within the share of their domain, and postponed ones with their
        new times.
        """
        by_domain: dict[str, list[Due]] = defaultdict(list)
        for due_page in due_pages:
            by_domain[self.limiter.key_for(due_page.url)].append(due_page)
        rates = self._rates(by_domain, tick_s)
        budgets = self.schedule.budgets(list(by_domain))
        to_fetch: list[Due] = []
        postponed: list[tuple[Due, int]] = []
        changed_budgets = {}
        for key, pages in by_domain.items():
            rationed = ration(
                pages, budgets[key], rate_per_s=rates[key], now_ms=now_ms, tick_s=tick_s
            )
            to_fetch += rationed.go
            postponed += rationed.later
            if rationed.budget is not budgets[key]:
                changed_budgets[key] = rationed.budget
        self.schedule.keep_budgets(changed_budgets)
        return to_fetch, postponed

    def _rates(self, by_domain: Mapping[str, Sequence[Due]], tick_s: float) -> dict[str, float]:
        limiter, share = self.limiter, self.settings.refresh.domain_share
        reports = limiter.describe(list(by_domain)) if by_domain else {}
        delays = self._crawl_delays(by_domain)
        rates = {}
        for key, report in reports.items():
            qps = report.qps
            if key in delays:
                qps = min(qps, 1e6 / report.interval_us(limiter.interval_us(key, delays[key])))
            is_busy = report.backlog_ms > tick_s * 1000
            rates[key] = max(qps * share * (_BUSY_SHARE if is_busy else 1.0), 1e-4)
        return rates

    def _crawl_delays(self, by_domain: Mapping[str, Sequence[Due]]) -> dict[str, float]:
        """
        Return the Crawl-delay of each domain with more than one URL, from the first
        URL's origin.
        """
        origins = {key: origin(pages[0].url) for key, pages in by_domain.items() if len(pages) > 1}
        cached = self.robots.get_many(origins.values()) if origins else {}
        agent = self.settings.fetch.user_agent
        delays = {
            key: rules.crawl_delay_s(agent)
            for key, origin_url in origins.items()
            if (rules := cached[origin_url].rules)
        }
        return {key: delay_s for key, delay_s in delays.items() if delay_s}


def _is_source(due_page: Due) -> bool:
    return due_page.state is not None and due_page.state.page_type in SOURCES


def _sitemaps(origin_url: str, urls: Iterable[str]) -> list[str]:
    """Return the first sitemaps in an origin's robots.txt, within its registered domain."""
    domain, sitemaps = registered_domain(origin_url), []
    for text in urls:
        with suppress(InvalidUrl):
            url = normalize(text, origin_url)
            if registered_domain(url) == domain:
                sitemaps.append(url)
    return sitemaps[:_MAX_SITEMAPS]
