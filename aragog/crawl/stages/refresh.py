"""
Fetch due URLs again: at a lower priority than new ones, within each domain's rate, spread evenly.

A tick takes the URLs that have come due since the previous tick. After an outage it takes the
oldest first, at a rate that grows with the delay, so that the backlog is spread over
`refresh.smooth_s`. Of one domain a tick takes `refresh.domain_share` of what its rate allows until
the next tick, and a tenth of that while others have reserved its slots.
`aragog.urlstore.crawl_budget` chooses these URLs and the time of the others. Postponed
URLs stay in the due index.

Safe to run twice and by several beats at once: a tick is taken by check-and-put, a due row is
claimed before it is enqueued, and a URL that waits already is not enqueued again. A run that is
killed after the claim loses nothing: the claim runs out and the row is due once more.
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
from aragog.urlstore.change_signals import LOOKED_AGAIN_MS, ChangeSignals
from aragog.urlstore.crawl_budget import ration
from aragog.urlstore.records import Due
from aragog.urlstore.schedule import Schedule
from aragog.urlstore.signal_sources import SOURCES
from urlspelling import InvalidUrl, normalize
from urlspelling.domain import host, origin, registered_domain

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tick:
    """The counts of one run."""

    enqueued: int = 0
    postponed: int = 0
    lag_ms: int = 0
    """How late the oldest was."""


# Longer than a fetch takes from queue to store on a healthy system; the row is written again then.
CLAIM_S = 900.0
TICK = "refresh"
TICK_S = 5.0
# Beats that are a little early must not lose their tick, two beats must not get two.
_EARLY_S = 0.8
# The longest backlog that one tick makes up for; more would arrive all at once.
_LONGEST_TICK_S = 60.0
# A tick claims no more URLs, which bounds its memory to about 50 MB, and stops claiming when the
# next tick is due. The rest is claimed by later ticks.
_MOST_CLAIMED = 100_000
_MOST_LOOKED_AT = 20
_MOST_PAGES = 20
_MOST_SITEMAPS = 5
"""Sitemaps that are taken of one robots.txt."""
PAGE_OPTIONS = EnqueueOptions(
    refresh=True, priority=PRIORITY_REFRESH, purposes=AS_KEPT, crawl_number=REFRESHED
)
# Of a domain whose slots are reserved: refreshing is slow there, but it does not stop.
_BUSY_SHARE = 0.1
_ENQUEUED, _POSTPONED = (REFRESH_URLS.of(name) for name in REFRESH_URLS.values)


def horizon_ms(oldest_ms: int, now_ms: int, *, tick_s: float, smooth_s: float) -> int:
    """
    The instant up to which a tick enqueues due URLs: now, unless many are late.

    A tick covers the time since the last one; twice that if the oldest is `smooth_s` late, three
    times if it is twice as late, and so on. So each tick takes about the same share of a backlog.
    """
    lag_ms = now_ms - oldest_ms
    tick_ms = tick_s * 1000
    if lag_ms <= 2 * tick_ms:
        return now_ms
    return min(now_ms, oldest_ms + int(tick_ms * (1 + lag_ms / (smooth_s * 1000))))


@dataclass(frozen=True, slots=True)
class RefreshStage:
    """Enqueues URLs that are due, within the rates of their domains."""

    schedule: Schedule
    limiter: Limiter
    robots: RobotsCache
    enqueuer: Enqueuer
    counters: Counters
    clock: Clock
    settings: Settings
    signals: ChangeSignals | None = None
    """None: no sitemaps and feeds are looked for."""

    def run(self) -> Tick:
        """Enqueue what is due; nothing when another beat has just done so."""
        self.counters.note_tick()
        now_ms = self.clock.now_ms()
        passed_s = self.schedule.take_tick(TICK, now_ms, TICK_S * _EARLY_S)
        if passed_s is None:
            return Tick()
        passed_s = min(passed_s, _LONGEST_TICK_S)
        oldest_ms = self.schedule.oldest_due_ms(now_ms)
        if oldest_ms is None:
            return Tick()
        smooth_s = self.settings.refresh.smooth_s
        upto_ms = horizon_ms(oldest_ms, now_ms, tick_s=passed_s, smooth_s=smooth_s)
        due = self._claimed(now_ms, upto_ms)
        now, later = self._within_rates(due, now_ms=now_ms, tick_s=passed_s)
        self.schedule.postpone(later)
        sources = [one.url for one in now if _is_source(one)]
        enqueued = self._enqueue([one.url for one in now if not _is_source(one)], PAGE_OPTIONS)
        enqueued += self._enqueue(sources, SOURCE_OPTIONS)
        self._look_for_sources(now, now_ms)
        _ENQUEUED.add(len(now))
        _POSTPONED.add(len(later))
        return Tick(enqueued, len(later), now_ms - oldest_ms)

    def _enqueue(self, urls: Sequence[str], options: EnqueueOptions) -> int:
        return sum(1 for _ in self.enqueuer.enqueue(urls, options))

    def _look_for_sources(self, due: Sequence[Due], now_ms: int) -> None:
        """
        Read the sitemaps and feeds of watched pages' hosts that are not read yet.

        Sitemaps are named by robots.txt, feeds by the pages themselves. Each host is checked once
        a week, at most `_MOST_LOOKED_AT` in a tick.
        """
        if self.signals is None or not self.settings.refresh.signals:
            return
        watched: dict[str, list[str]] = defaultdict(list)
        for one in due:
            if one.watched:
                watched[host(one.url)].append(one.url)
        trusts = self.signals.trusts(watched)
        late = [n for n, t in trusts.items() if t.looked_at_ms + LOOKED_AGAIN_MS <= now_ms]
        for name in late[:_MOST_LOOKED_AT]:
            self._look_at(name, watched[name][:_MOST_PAGES], self.signals)
            self.signals.looked_at(name, now_ms)  # afterward: one that is killed looks again

    def _look_at(self, name: str, pages: Sequence[str], signals: ChangeSignals) -> None:
        of = origin(pages[0])
        rules = self.robots.get_many([of])[of].rules
        sitemaps = signals.new_sources(_sitemaps(of, rules.sitemaps if rules else ()))
        feeds = signals.new_feeds(pages)
        if sitemaps or feeds:
            log.info("%s: reads %d sitemaps and %d feeds", name, len(sitemaps), len(feeds))
            self._enqueue([*sitemaps, *feeds], SOURCE_OPTIONS)

    def _claimed(self, now_ms: int, upto_ms: int) -> list[Due]:
        due: list[Due] = []
        until_s = self.clock.monotonic_s() + TICK_S
        while len(due) < _MOST_CLAIMED and self.clock.monotonic_s() < until_s:
            size = self.settings.refresh.batch
            claimed = self.schedule.claim_due(now_ms, size, CLAIM_S, upto_ms=upto_ms)
            due += claimed
            if not claimed:
                break
        return due

    def _within_rates(
        self, due: Sequence[Due], *, now_ms: int, tick_s: float
    ) -> tuple[list[Due], list[tuple[Due, int]]]:
        """The URLs to fetch now, and postponed ones with their times, by each domain's share."""
        by_domain: dict[str, list[Due]] = defaultdict(list)
        for due_page in due:
            by_domain[self.limiter.key_for(due_page.url)].append(due_page)
        rates = self._rates(by_domain, tick_s)
        budgets = self.schedule.budgets(list(by_domain))
        now: list[Due] = []
        later: list[tuple[Due, int]] = []
        changed = {}
        for key, pages in by_domain.items():
            done = ration(pages, budgets[key], rate_per_s=rates[key], now_ms=now_ms, tick_s=tick_s)
            now += done.go
            later += done.later
            if done.budget is not budgets[key]:
                changed[key] = done.budget
        self.schedule.keep_budgets(changed)
        return now, later

    def _rates(self, by_domain: Mapping[str, Sequence[Due]], tick_s: float) -> dict[str, float]:
        """Refreshes a second that each domain may be asked."""
        limiter, share = self.limiter, self.settings.refresh.domain_share
        reports = limiter.describe(list(by_domain)) if by_domain else {}
        delays = self._crawl_delays(by_domain)
        rates = {}
        for key, report in reports.items():
            qps = report.qps
            if key in delays:
                qps = min(qps, 1e6 / report.interval_us(limiter.interval_us(key, delays[key])))
            busy = report.backlog_ms > tick_s * 1000
            rates[key] = max(qps * share * (_BUSY_SHARE if busy else 1.0), 1e-4)
        return rates

    def _crawl_delays(self, by_domain: Mapping[str, Sequence[Due]]) -> dict[str, float]:
        """The Crawl-delay of each domain with more than one URL, from the first URL's origin."""
        origins = {key: origin(pages[0].url) for key, pages in by_domain.items() if len(pages) > 1}
        cached = self.robots.get_many(origins.values()) if origins else {}
        agent = self.settings.fetch.user_agent
        delays = {
            key: rules.crawl_delay_s(agent)
            for key, origin_url in origins.items()
            if (rules := cached[origin_url].rules)
        }
        return {key: delay_s for key, delay_s in delays.items() if delay_s}


def _is_source(due: Due) -> bool:
    return due.state is not None and due.state.page_type in SOURCES


def _sitemaps(of: str, named: Iterable[str]) -> list[str]:
    """The first sitemaps of the origin's own registered domain that its robots.txt names."""
    domain, found = registered_domain(of), []
    for text in named:
        with suppress(InvalidUrl):
            url = normalize(text, of)
            if registered_domain(url) == domain:
                found.append(url)
    return found[:_MOST_SITEMAPS]
