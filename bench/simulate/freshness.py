"""
Simulate how fresh a large web is kept, compared with the optimum for the same fetches.

Pages are drawn from a world of `bench.refresh` and go through the real `decide`. Those of domains
whose rate is too low also go through the real `ration`. Single domains are too small to matter, so
domains are sampled: the largest ones have their own pages, all others share one sample of pages.
Weights are URLs.

Two optima for the same number of fetches, with every rate of change known:

- fixed intervals (Cho and Garcia-Molina, Effective Page Refresh Policies for Web Crawlers, 2003):
  for each domain whose rate is too low, and for all others together;
- fetches at random times (Azar and others, Tractable Near-Optimal Policies for Crawling, PNAS
  2018), solved by their LAMBDACRAWL: page i with change rate d is fetched at the rate sqrt(d / p) -
  d, with one price p.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from aragog.settings import RefreshSettings
from aragog.urlstore.usual_intervals import DAY_S
from bench.refresh import Domain, best_freshness, replay
from bench.simulate.web import Web

MAX_HOSTS = 40
"""The number of domains that are also evaluated separately."""


@dataclass(frozen=True, slots=True)
class FreshnessResult:
    """Means over all pages."""

    fresh: float
    """Share of the time during which a stored page equals the page."""
    best: float
    """The optimum with fixed intervals for the same fetches."""
    random_best: float
    """The optimum of Azar and others for the same fetches."""
    fetches_s: float
    """Fetches per second of the whole web."""
    scarce: float
    """Share of the pages on domains whose rate is too low for the policy's intervals."""

    @property
    def of_best(self) -> float:
        """Return how close the policy is to the optimum."""
        return self.fresh / self.best


@dataclass(frozen=True, slots=True)
class Sample:
    """How many pages represent the others."""

    world: str = "published shares"
    pages: int = 1000
    scarce_pages: int = 100
    days: float = 120.0
    cycles: float = 6.0
    seed: int = 1


def random_optimum(rates: Sequence[float], fetches_s: float) -> float:
    """
    Return the mean freshness of the best fetches at random times (LAMBDACRAWL).

    Args:
        rates: changes per second of each page.
        fetches_s: fetches per second of all pages together.
    """
    low, high = 1e-12, 1e12
    for _ in range(200):
        price = math.sqrt(low * high)
        spent = sum(max(0.0, math.sqrt(rate / price) - rate) for rate in rates)
        low, high = (price, high) if spent > fetches_s else (low, price)
    fetch_rates = [(rate, max(0.0, math.sqrt(rate / price) - rate)) for rate in rates]
    return sum(fetch_rate / (fetch_rate + rate) for rate, fetch_rate in fetch_rates) / len(rates)


def simulate(
    web: Web, refresh: RefreshSettings, *, qps: float, sample: Sample | None = None
) -> FreshnessResult:
    """Keep all pages of the web fresh, each domain within its share of its rate."""
    sample = sample or Sample()
    unlimited = _unlimited_part(sample, _key(refresh))
    rate_s = qps * refresh.domain_share
    parts = []
    sizes = web.sizes()
    for _, urls in sizes[:MAX_HOSTS]:
        if unlimited.fetches_per_page_s * urls <= rate_s:
            break
        parts.append((urls, _scarce_part(sample, _key(refresh), urls / rate_s / DAY_S)))
    scarce_urls = sum(urls for urls, _ in parts)
    parts.append((web.urls - scarce_urls, unlimited))
    total = sum(urls for urls, _ in parts)

    def mean(name: str) -> float:
        return sum(urls * getattr(part, name) for urls, part in parts) / total

    return FreshnessResult(
        mean("fresh"),
        mean("best"),
        mean("random_best"),
        total * mean("fetches_per_page_s"),
        scarce_urls / total,
    )


@dataclass(frozen=True, slots=True)
class _Part:
    fresh: float
    best: float
    random_best: float
    fetches_per_page_s: float
    """Fetches per second of a page."""


Key = tuple[float, float, float]


def _key(refresh: RefreshSettings) -> Key:
    return refresh.effort, refresh.min_interval_s, refresh.max_interval_s


def _settings(key: Key) -> RefreshSettings:
    return RefreshSettings(effort=key[0], min_interval_s=key[1], max_interval_s=key[2])


@lru_cache(maxsize=64)
def _unlimited_part(sample: Sample, key: Key) -> _Part:
    result = replay(sample.world, sample.pages, sample.days, _settings(key), sample.seed)
    window_s = sample.days * DAY_S / 2
    return _part(
        result.rates, result.fresh_s / window_s / len(result.rates), result.fetches / window_s
    )


@lru_cache(maxsize=256)
def _scarce_part(sample: Sample, key: Key, every_days: float) -> _Part:
    domain = Domain(sample.world, sample.scarce_pages, every_days, _settings(key), sample.seed)
    domain.run(sample.cycles)
    window_s = every_days * DAY_S * sample.cycles / 2
    rates = [1 / page.every_s for page in domain.pages]
    fresh = domain.fresh_ms / 1000 / window_s / len(rates)
    return _part(rates, fresh, domain.fetches / window_s)


def _part(rates: Sequence[float], fresh: float, fetches_s: float) -> _Part:
    best = best_freshness(rates, fetches_s)
    return _Part(fresh, best, random_optimum(rates, fetches_s), fetches_s / len(rates))
