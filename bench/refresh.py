"""
Compare the refresh policy with a fixed interval and the optimum, for the same number of fetches.

    python -m bench.refresh [--urls 3000] [--days 120] [--effort 1] [--jobs 2]
    python -m bench.refresh --world "products alone" --scarce 120 [--cycles 12] [--true-rates]

Pages change by Poisson processes. Every fetch goes through
`aragog.urlstore.refresh_policy.decide`, which learns only if there was a change since the last one.
Freshness is the share of time during which the stored page equals the page, in the second half of
the days. For the same number of fetches it prints one fixed interval for all pages (and how many
more fetches it needs for the same freshness), and the optimum with every rate known (Cho and
Garcia-Molina's allocation). No network, no clock.

The scarce worlds are one domain each, which allows one request per page every few days, far fewer
than its pages need. All due pages go through `aragog.urlstore.crawl_budget.ration`, tick by tick,
as in the task that beat runs, with a thousand ticks per cycle. Pages are added during the first
half of a cycle (the time to fetch each once); the second half of the cycles counts.
"""

from __future__ import annotations

import argparse
import heapq
import math
import random
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from aragog.settings import RefreshSettings
from aragog.urlstore.change_rate import ratio
from aragog.urlstore.crawl_budget import Budget, ration
from aragog.urlstore.records import Due
from aragog.urlstore.refresh_policy import RefreshState, Seen, decide
from aragog.urlstore.usual_intervals import DAY_S, HOUR_S
from bench.quick import add_quick

FIELD = {"product": "product.price", "page": "page.title"}


def mixed(rng: random.Random) -> tuple[str, float]:
    """The pages of a shopping and cooking crawler: type, and seconds between changes."""
    page_type, median_s, sigma = rng.choices(
        [
            ("product", 60 * HOUR_S, 1.5),
            ("recipe", 300 * DAY_S, 1.5),
            ("article", 40 * DAY_S, 1.5),
            ("page", 60 * DAY_S, 2.0),
        ],
        [40, 25, 20, 15],
    )[0]
    return str(page_type), float(median_s) * math.exp(rng.gauss(0, float(sigma)))


def products(rng: random.Random) -> tuple[str, float]:
    """One page type, with prices that change from hourly to yearly."""
    return "product", 4 * DAY_S * math.exp(rng.gauss(0, 2.0))


def published_rates(rng: random.Random) -> tuple[str, float]:
    """How often pages of 270 sites changed (Cho and Garcia-Molina, VLDB 2000, all domains)."""
    low, high = rng.choices(
        [(0.25, 1), (1, 7), (7, 30), (30, 120), (120, 1200)], [23, 15, 16, 16, 30]
    )[0]
    return "page", DAY_S * math.exp(rng.uniform(math.log(low), math.log(high)))


def with_noise(rng: random.Random) -> tuple[str, float]:
    """
    The same, but two of five pages differ at each fetch because of counters, tokens or
    random text.
    """
    return ("page", 60.0) if rng.random() < 0.4 else published_rates(rng)


WORLDS: dict[str, Callable[[random.Random], tuple[str, float]]] = {
    "four types": mixed,
    "products alone": products,
    "published shares": published_rates,
    "with noise": with_noise,
}


SCARCE_WORLDS = (
    ("four types", 30.0),
    ("four types", 120.0),
    ("four types", 365.0),
    ("products alone", 30.0),
    ("products alone", 120.0),
    ("products alone", 365.0),
    ("published shares", 120.0),
    ("with noise", 120.0),
    ("with noise", 365.0),
)
"""Worlds, and the days in which their domain allows one request per page."""
CYCLE_TICKS = 1000
"""With ticks of 5 s, the 23 days of ten million pages at 5 per second have 400 times as many."""


@dataclass
class Sum:
    """Sums over some pages: seconds fresh, fetches, and the true change rates."""

    fresh_s: float
    fetches: int
    rates: list[float]
    cpu_s: float


def replay(world: str, urls: int, days: float, settings: RefreshSettings, seed: int) -> Sum:
    """Simulate every page, one after another."""
    rng = random.Random(seed)
    return replay_pages((WORLDS[world](rng) for _ in range(urls)), days, settings, rng)


def replay_pages(
    pages: Iterable[tuple[str, float]], days: float, settings: RefreshSettings, rng: random.Random
) -> Sum:
    """Simulate these pages, given the type and the seconds between changes of each."""
    end_ms, start_ms = int(days * DAY_S * 1000), int(days * DAY_S * 500)
    total = Sum(0.0, 0, [], 0.0)
    started = time.process_time()
    for page_type, every_s in pages:
        total.rates.append(1 / every_s)
        field = FIELD.get(page_type, page_type + ".x")
        state, changed, at_ms = None, False, 1
        while at_ms < end_ms:
            seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type=page_type)
            fields = (field,)
            state, due_ms = decide(
                state, seen, fields if changed else (), fields, settings, spread=rng.random()
            )
            fresh_ms = rng.expovariate(1 / every_s) * 1000
            until_ms = min(due_ms or end_ms, end_ms)
            changed = at_ms + fresh_ms < until_ms
            total.fetches += at_ms >= start_ms
            fresh = min(at_ms + fresh_ms, until_ms) - max(at_ms, start_ms)
            total.fresh_s += max(fresh, 0) / 1000
            at_ms = until_ms
    total.cpu_s = time.process_time() - started
    return total


def _settings(effort: float) -> RefreshSettings:
    """Return settings without interval bounds, which hide the policy's effect."""
    return RefreshSettings(effort=effort, min_interval_s=60.0, max_interval_s=90 * DAY_S)


@dataclass(slots=True)
class _Page:
    """One page of a scarce world."""

    page_type: str
    every_s: float
    url: str
    state: RefreshState | None = None
    fetched_ms: float = 0.0
    changes_ms: float = 0.0
    """Its first change after that."""


class Domain:
    """
    One domain that allows too few requests for its pages.

    Args:
        world: one of `WORLDS`.
        urls: the number of its pages.
        every_days: the days in which the domain allows one request per page.
        settings: the settings of `decide`.
        seed: the random seed.
        true_rates: True to compute prices from every page's true rate, to evaluate the mechanism
            alone.
    """

    def __init__(
        self,
        world: str,
        urls: int,
        every_days: float,
        settings: RefreshSettings,
        seed: int,
        *,
        true_rates: bool = False,
    ) -> None:
        self._true_rates = true_rates
        self._rng = random.Random(seed)
        self._settings = settings
        self._budget = Budget()
        self.cycle_ms = every_days * DAY_S * 1000
        self.rate_per_s = urls / (every_days * DAY_S)
        self.pages = [_Page(*WORLDS[world](self._rng), str(n)) for n in range(urls)]
        self._due = [(self._rng.random() * self.cycle_ms / 2, n) for n in range(urls)]
        heapq.heapify(self._due)
        self.fetches = 0
        self.postponed = 0
        self.fresh_ms = 0.0

    def run(self, cycles: float) -> None:
        """Run all ticks. Only the second half is measured."""
        tick_s = self.cycle_ms / 1000 / CYCLE_TICKS
        start_ms, end_ms = self.cycle_ms * cycles / 2, self.cycle_ms * cycles
        now_ms = tick_s * 1000
        while now_ms < end_ms:
            self._tick(int(now_ms), tick_s, start_ms)
            now_ms += tick_s * 1000
        for page in self.pages:
            self._count(page, end_ms, start_ms)

    def _tick(self, now_ms: int, tick_s: float, start_ms: float) -> None:
        due: list[Due] = []
        while self._due and self._due[0][0] <= now_ms:
            at_ms, n = heapq.heappop(self._due)
            page = self.pages[n]
            if page.state is None:
                self._fetch(n, page, now_ms)  # new URLs have their own requests
            else:
                due.append(Due(page.url, int(at_ms), self._state_for_budget(page, page.state)))
        result = ration(due, self._budget, rate_per_s=self.rate_per_s, now_ms=now_ms, tick_s=tick_s)
        self._budget = result.budget
        self.postponed += len(result.later)
        for item, at_ms in result.later:
            heapq.heappush(self._due, (at_ms, int(item.url)))
        for item in result.go:
            page = self.pages[int(item.url)]
            self._count(page, now_ms, start_ms)
            self.fetches += now_ms >= start_ms
            self._fetch(int(item.url), page, now_ms)

    def _state_for_budget(self, page: _Page, state: RefreshState) -> RefreshState:
        weight = 1e6
        return (
            state._replace(a=weight, b_s=weight * page.every_s, changes=0)
            if self._true_rates
            else state
        )

    def _fetch(self, n: int, page: _Page, now_ms: int) -> None:
        changed = page.state is not None and page.changes_ms < now_ms
        seen = Seen(outcome="Fetched", fetched_at_ms=now_ms, page_type=page.page_type)
        fields = (FIELD.get(page.page_type, page.page_type + ".x"),)
        page.state, due_ms = decide(
            page.state,
            seen,
            fields if changed else (),
            fields,
            self._settings,
            spread=self._rng.random(),
        )
        page.fetched_ms = now_ms
        page.changes_ms = now_ms + self._rng.expovariate(1 / page.every_s) * 1000
        heapq.heappush(self._due, (due_ms or now_ms, n))

    def _count(self, page: _Page, until_ms: float, start_ms: float) -> None:
        fresh_ms = min(page.changes_ms, until_ms) - max(page.fetched_ms, start_ms)
        self.fresh_ms += max(fresh_ms, 0.0)


def replay_scarce(
    world: str,
    urls: int,
    every_days: float,
    cycles: float,
    effort: float,
    seed: int,
    *,
    true_rates: bool = False,
) -> tuple[Sum, int]:
    """Simulate one domain. Returns its sums and how often a URL was postponed."""
    started = time.process_time()
    domain = Domain(world, urls, every_days, _settings(effort), seed, true_rates=true_rates)
    domain.run(cycles)
    rates = [1 / page.every_s for page in domain.pages]
    cpu_s = time.process_time() - started
    return Sum(domain.fresh_ms / 1000, domain.fetches, rates, cpu_s), domain.postponed


def fixed_freshness(rates: Sequence[float], every_s: float) -> float:
    """Return the freshness of one interval for all."""
    return sum(-math.expm1(-r * every_s) / (r * every_s) for r in rates) / len(rates)


def fetch_ratio(rates: Sequence[float], fresh: float, every_s: float) -> float:
    """Return how many times the fetches one interval for all needs for the same freshness."""
    low, high = every_s / 100, every_s * 100
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fixed_freshness(rates, middle) > fresh else (low, middle)
    return every_s / low


def best_freshness(rates: Sequence[float], fetches_per_s: float) -> float:
    """
    Return the best freshness at a number of fetches per second, if every change rate is
    known.
    """
    binned = _bins(rates)
    low, high = 1e-9, max(rates) ** -1 * 1e9
    for _ in range(80):
        marginal_freshness_s = math.sqrt(low * high)
        spent = sum(
            n / (ratio(r * marginal_freshness_s) / r)
            for r, n in binned
            if r * marginal_freshness_s < 0.99
        )
        low, high = (
            (marginal_freshness_s, high) if spent > fetches_per_s else (low, marginal_freshness_s)
        )
    total = 0.0
    for rate, number in binned:
        if rate * marginal_freshness_s < 0.99:
            steps = ratio(rate * marginal_freshness_s)
            total += number * -math.expm1(-steps) / steps
    return total / len(rates)


def _bins(rates: Sequence[float]) -> list[tuple[float, int]]:
    """Return at most 2,000 different rates, each with the number of pages close to it."""
    size = max(1, len(rates) // 2000)
    ordered = sorted(rates)
    groups = [ordered[start : start + size] for start in range(0, len(ordered), size)]
    return [(sum(group) / len(group), len(group)) for group in groups]


def measure(world: str, options: argparse.Namespace) -> tuple[str, ...]:
    """Return a row of the table."""
    share = -(-options.urls // options.jobs)
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = [
            pool.submit(replay, world, share, options.days, _settings(options.effort), seed)
            for seed in range(options.jobs)
        ]
        parts = [future.result() for future in futures]
    fetches = sum(part.fetches for part in parts)
    cpu_us = sum(part.cpu_s for part in parts) / (2 * fetches) * 1e6
    return (world, *_compare(parts, options.days * DAY_S / 2), f"{cpu_us:.0f} µs")


def measure_scarce(world: str, every_days: float, options: argparse.Namespace) -> tuple[str, ...]:
    """Return a row of the other table. Each job simulates one domain."""
    share = -(-options.urls // options.jobs)
    arguments = (world, share, every_days, options.cycles, options.effort)
    with ProcessPoolExecutor(options.jobs) as pool:
        futures = [
            pool.submit(replay_scarce, *arguments, seed, true_rates=options.true_rates)
            for seed in range(options.jobs)
        ]
        result = [future.result() for future in futures]
    parts = [part for part, _ in result]
    fetches = sum(part.fetches for part in parts)
    cpu_us = sum(part.cpu_s for part in parts) / (2 * fetches) * 1e6
    postponed = sum(number for _, number in result) / (2 * fetches)
    window_s = every_days * DAY_S * options.cycles / 2
    return (world, *_compare(parts, window_s), f"{postponed:.1f}", f"{cpu_us:.0f} µs")


def _compare(parts: Sequence[Sum], window_s: float) -> tuple[str, ...]:
    rates = [rate for part in parts for rate in part.rates]
    fetches = sum(part.fetches for part in parts)
    fresh = sum(part.fresh_s for part in parts) / (window_s * len(rates))
    interval_s = window_s * len(rates) / fetches
    fixed_fresh, best_fresh = (
        fixed_freshness(rates, interval_s),
        best_freshness(rates, fetches / window_s),
    )
    interval = (
        f"{interval_s / HOUR_S:.1f} h" if interval_s < 4 * DAY_S else f"{interval_s / DAY_S:.0f} d"
    )
    return (
        interval,
        f"{fresh:.3f}",
        f"{fixed_fresh:.3f}",
        f"{best_fresh:.3f}",
        f"{fresh / fixed_fresh:.2f}",
        f"{best_fresh / fixed_fresh:.2f}",
        f"{fresh / best_fresh:.2f}",
        f"{fetch_ratio(rates, fresh, interval_s):.2f}",
    )


_COLUMNS = (
    "pages", "fetched every", "fresh", "fixed interval", "optimum", "fresh / fixed",
    "optimum / fixed", "fresh / optimum", "fetches of fixed for the same",
)  # fmt: skip


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title)
    for name in (*_COLUMNS, *columns, "CPU per fetch"):
        table.add_column(name, justify="left" if name == "pages" else "right")
    return table


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=3000)
    parser.add_argument("--days", type=float, default=120)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--cycles", type=float, default=12, help="of scarce worlds: fetches per page"
    )
    parser.add_argument("--scarce", type=float, help="days for one fetch per page; only this world")
    parser.add_argument(
        "--true-rates", action="store_true", help="scarce: with every true rate known"
    )
    parser.add_argument("--world", choices=list(WORLDS))
    add_quick(parser, urls=150, days=15.0, cycles=2.0)
    options = parser.parse_args()
    size = f"{options.urls:,} URLs"
    if not options.scarce:
        table = _table(f"{size}, {options.days:g} days, effort {options.effort:g}")
        for world in [options.world] if options.world else WORLDS:
            table.add_row(*measure(world, options))
        Console(width=160).print(table)
    scarce = (
        [(options.world or "products alone", options.scarce)] if options.scarce else SCARCE_WORLDS
    )
    table = _table(f"{size} of a scarce domain, {options.cycles:g} cycles", "postponed per fetch")
    for world, every_days in scarce:
        if options.world in (None, world):
            table.add_row(*measure_scarce(world, every_days, options))
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
