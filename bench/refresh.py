"""
What refreshing by the real interval logic is worth: pages kept fresh, for the same fetches.

    python -m bench.refresh [--urls 3000] [--days 120] [--effort 1] [--jobs 2]

Pages change by Poisson processes; every fetch goes through `aragog.urlstore.refresh.decide`, which
is told only whether there was a change since the last one. Freshness is the share of time that
what is stored is what the page says, of the second half of the days. Beside it, for the same
number of fetches: one fixed interval for all pages (and how many times the fetches it would need
for our freshness), and the best that could be done by somebody
who knew every page's rate (Cho and Garcia-Molina's allocation). No network, no clock.
"""

from __future__ import annotations

import argparse
import math
import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from aragog.settings import RefreshSettings
from aragog.urlstore.refresh import DAY_S, HOUR_S, Seen, decide, ratio

FIELD = {"product": "product.price", "page": "page.title"}


def mixed(rng: random.Random) -> tuple[str, float]:
    """What a shopping and cooking site's crawler holds: type, and seconds between changes."""
    of, median_s, sigma = rng.choices(
        [
            ("product", 60 * HOUR_S, 1.5),
            ("recipe", 300 * DAY_S, 1.5),
            ("article", 40 * DAY_S, 1.5),
            ("page", 60 * DAY_S, 2.0),
        ],
        [40, 25, 20, 15],
    )[0]
    return str(of), float(median_s) * math.exp(rng.gauss(0, float(sigma)))


def products(rng: random.Random) -> tuple[str, float]:
    """One type alone, prices that move from hourly to yearly."""
    return "product", 4 * DAY_S * math.exp(rng.gauss(0, 2.0))


def published(rng: random.Random) -> tuple[str, float]:
    """How often pages of 270 sites changed (Cho and Garcia-Molina, VLDB 2000, all domains)."""
    low, high = rng.choices(
        [(0.25, 1), (1, 7), (7, 30), (30, 120), (120, 1200)], [23, 15, 16, 16, 30]
    )[0]
    return "page", DAY_S * math.exp(rng.uniform(math.log(low), math.log(high)))


def noisy(rng: random.Random) -> tuple[str, float]:
    """The same, and two pages of five that are another at each look: counters, tokens, dice."""
    return ("page", 60.0) if rng.random() < 0.4 else published(rng)


WORLDS: dict[str, Callable[[random.Random], tuple[str, float]]] = {
    "four types": mixed,
    "products alone": products,
    "published shares": published,
    "with noise": noisy,
}


@dataclass
class Sum:
    """Of some pages: seconds fresh, fetches, and the rates they really had."""

    fresh_s: float
    fetches: int
    rates: list[float]
    cpu_s: float


def replay(world: str, urls: int, days: float, effort: float, seed: int) -> Sum:
    """Every page through its days, one after another."""
    rng = random.Random(seed)
    settings = RefreshSettings(effort=effort, min_interval_s=60.0, max_interval_s=90 * DAY_S)
    end_ms, begin_ms = int(days * DAY_S * 1000), int(days * DAY_S * 500)
    total = Sum(0.0, 0, [], 0.0)
    started = time.process_time()
    for _ in range(urls):
        of, every_s = WORLDS[world](rng)
        total.rates.append(1 / every_s)
        field = FIELD.get(of, of + ".x")
        state, changed, at_ms = None, False, 1
        while at_ms < end_ms:
            seen = Seen(outcome="Fetched", fetched_at_ms=at_ms, page_type=of)
            fields = (field,)
            state, due_ms = decide(
                state, seen, fields if changed else (), fields, settings, spread=rng.random()
            )
            fresh_ms = rng.expovariate(1 / every_s) * 1000
            upto_ms = min(due_ms or end_ms, end_ms)
            changed = at_ms + fresh_ms < upto_ms
            total.fetches += at_ms >= begin_ms
            fresh = min(at_ms + fresh_ms, upto_ms) - max(at_ms, begin_ms)
            total.fresh_s += max(fresh, 0) / 1000
            at_ms = upto_ms
    total.cpu_s = time.process_time() - started
    return total


def fixed(rates: Sequence[float], every_s: float) -> float:
    """The freshness of one interval for all."""
    return sum(-math.expm1(-r * every_s) / (r * every_s) for r in rates) / len(rates)


def needed(rates: Sequence[float], fresh: float, every_s: float) -> float:
    """How many times the fetches one interval for all needs to be as fresh."""
    low, high = every_s / 100, every_s * 100
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if fixed(rates, middle) > fresh else (low, middle)
    return every_s / low


def optimum(rates: Sequence[float], fetches_per_s: float) -> float:
    """The best freshness of so many fetches a second, every rate being known."""
    binned = _binned(rates)
    low, high = 1e-9, max(rates) ** -1 * 1e9
    for _ in range(80):
        worth_s = math.sqrt(low * high)
        spent = sum(n / (ratio(r * worth_s) / r) for r, n in binned if r * worth_s < 0.99)
        low, high = (worth_s, high) if spent > fetches_per_s else (low, worth_s)
    found = 0.0
    for rate, number in binned:
        if rate * worth_s < 0.99:
            steps = ratio(rate * worth_s)
            found += number * -math.expm1(-steps) / steps
    return found / len(rates)


def _binned(rates: Sequence[float]) -> list[tuple[float, int]]:
    """At most 2,000 different rates, each with how many pages have about it."""
    size = max(1, len(rates) // 2000)
    ordered = sorted(rates)
    groups = [ordered[at : at + size] for at in range(0, len(ordered), size)]
    return [(sum(group) / len(group), len(group)) for group in groups]


def measure(world: str, options: argparse.Namespace) -> tuple[str, ...]:
    """A line of the table."""
    share = -(-options.urls // options.jobs)
    with ProcessPoolExecutor(options.jobs) as pool:
        parts = list(
            pool.map(
                replay,
                *zip(
                    *[(world, share, options.days, options.effort, n) for n in range(options.jobs)],
                    strict=True,
                ),
            )
        )
    rates = [rate for part in parts for rate in part.rates]
    window_s = options.days * DAY_S / 2
    fetches = sum(part.fetches for part in parts)
    ours = sum(part.fresh_s for part in parts) / (window_s * len(rates))
    each_s = window_s * len(rates) / fetches
    even, best = fixed(rates, each_s), optimum(rates, fetches / window_s)
    cpu_us = sum(part.cpu_s for part in parts) / (2 * fetches) * 1e6
    return (
        world,
        f"{each_s / HOUR_S:.1f} h",
        f"{ours:.3f}",
        f"{even:.3f}",
        f"{best:.3f}",
        f"{ours / even:.2f}",
        f"{ours / best:.2f}",
        f"{needed(rates, ours, each_s):.2f}",
        f"{cpu_us:.0f} µs",
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--urls", type=int, default=3000)
    parser.add_argument("--days", type=float, default=120)
    parser.add_argument("--effort", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--world", choices=list(WORLDS))
    options = parser.parse_args()
    table = Table(title=f"{options.urls:,} URLs, {options.days:g} days, effort {options.effort:g}")
    for name in (
        "pages", "fetched every", "fresh", "fixed interval", "optimum", "of fixed", "of optimum",
        "fetches fixed needs", "CPU a fetch",
    ):  # fmt: skip
        table.add_column(name, justify="left" if name == "pages" else "right")
    for world in [options.world] if options.world else WORLDS:
        table.add_row(*measure(world, options))
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
