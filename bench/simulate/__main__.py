"""
Simulate a crawl of a large web in virtual time: duration, waiting times, memory, and freshness.

    python -m bench.simulate [--urls 1e9] [--domains 1e7] [--processes N] [--json FILE]
                             [--no-sensitivity]

No network, no server, no clock: pure functions of aragog run against a model of a web
(`bench.simulate.web`). The large crawl is aggregated by classes of domains
(`bench.simulate.large`). A small web of 10,000 domains is simulated event by event
(`bench.simulate.small`) and, with the same inputs, in aggregate, and the difference is printed. The
freshness of stored pages is compared with two optima (`bench.simulate.freshness`), and every
setting in the simulation is halved and doubled. Takes about a minute of CPU.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from aragog.addons.plan.costs import read_costs
from aragog.settings import Settings
from bench.quick import add_quick
from bench.refresh import WORLDS
from bench.simulate import freshness, large, process, sensitivity
from bench.simulate.parts import Machines
from bench.simulate.small import RESERVED_THREADS, SmallCrawl
from bench.simulate.web import Web

DAY_S = 86_400.0
SHARES = (0.25, 0.5, 0.9, 0.99, 1.0)
GOAL_PAGES_S = 1653
"""A billion pages in a week."""
console = Console(width=150)


def capacity_s(web: Web, settings: Settings, *, urls: int = 40_000) -> process.Throughput:
    """
    Return the throughput of one fetch process on that web, without the part reserved for urgent
    URLs.
    """
    shape = process.ProcessShape(
        settings.workers.fetch - RESERVED_THREADS,
        settings.fetch.concurrency,
        settings.pipeline.batch_size,
        Machines().fetch_cpu_s,
    )
    return process.run(shape, web.response_s, urls=urls)


def whole_crawl(web: Web, settings: Settings, processes: int) -> dict[str, float]:
    """Simulate the large crawl: days until shares of it are done, and the memory of its queue."""
    capacity = capacity_s(web, settings)
    result = large.crawl(web, settings.politeness, processes * capacity.urls_s)
    waiting_url = read_costs()["waiting_url"].value
    table = Table(
        "crawl", "value", title=f"{web.urls:,.0f} URLs on {web.domains:,} domains", box=None
    )
    figures = {
        "fetches/s of one process": capacity.urls_s,
        "fetch processes": processes,
        **{
            f"days until {share:.0%} are done": result.share_done_s(share) / DAY_S
            for share in SHARES
        },
        "days in which machines are the limit": result.machines_s / DAY_S,
        "days in which first visits take all threads": result.first_visits_s / DAY_S,
        "GB of queue, at the start": web.urls * waiting_url / 1e9,
        "GB of queue, mean until 99% are done": result.mean_waiting * waiting_url / 1e9,
    }
    _print(table, figures)
    return figures


def validation(settings: Settings, *, domains: int, urls: float) -> dict[str, float]:
    """Simulate a small web, exactly and in aggregate."""
    web = Web(domains=domains, urls=urls)
    processes = 4
    exact = SmallCrawl(web, settings, Machines(processes, canonicalize_s=1e4)).run(probes=60)
    capacity = capacity_s(web, settings)
    aggregated = large.crawl(web, settings.politeness, processes * capacity.urls_s)
    table = Table(
        "done",
        "exact (s)",
        "aggregated (s)",
        "error",
        title=f"{exact.urls:,} URLs, both ways",
        box=None,
    )
    errors = {}
    for share in SHARES:
        exact_s, aggregated_s = exact.share_done_s(share), aggregated.share_done_s(share)
        errors[f"{share:.0%}"] = aggregated_s / exact_s - 1
        table.add_row(
            f"{share:.0%}",
            f"{exact_s:.0f}",
            f"{aggregated_s:.0f}",
            f"{aggregated_s / exact_s - 1:+.0%}",
        )
    console.print(table)
    return errors


def limited_by_rates(settings: Settings, *, urls: int) -> dict[str, float]:
    """Simulate a crawl limited only by the rates of its domains, event by event."""
    result = sensitivity.limited_by_rates(settings, urls=urls)
    table = Table("limited by the rates of 200 domains", "value", box=None)
    figures = result._asdict()
    _print(table, figures)
    return figures


def kept_fresh(web: Web, settings: Settings, sample: freshness.Sample) -> dict[str, float]:
    """Return the freshness of all pages once they are stored."""
    result = freshness.simulate(web, settings.refresh, qps=settings.politeness.qps, sample=sample)
    table = Table("refresh", "value", title=f"{sample.world}, all pages stored", box=None)
    figures = {
        **asdict(result),
        "of_best": result.of_best,
        "of_random_best": result.fresh / result.random_best,
    }
    _print(table, figures)
    return figures


def processes_by_setting(web: Web) -> list[dict[str, float]]:
    """Return the throughput of a fetch process with other threads and concurrency settings."""
    table = Table(
        "threads",
        "concurrency",
        "fetches/s",
        "s per batch",
        "in flight",
        "CPU",
        title="one fetch process",
        box=None,
    )
    rows = []
    for threads in (8, 16, 32, 64):
        for concurrency in (32, 64, 128, 256):
            shape = process.ProcessShape(threads, concurrency, 25, Machines().fetch_cpu_s)
            result = process.run(shape, web.response_s, urls=20_000)
            rows.append({"threads": threads, "concurrency": concurrency, **result._asdict()})
            table.add_row(
                str(threads), str(concurrency), f"{result.urls_s:.0f}", f"{result.batch_s:.1f}",
                f"{result.in_flight:.0f}", f"{result.cpu:.0%}",
            )  # fmt: skip
    console.print(table)
    return rows


def _print(table: Table, figures: dict[str, float]) -> None:
    for name, value in figures.items():
        table.add_row(name.replace("_", " "), f"{value:,.3g}" if value < 1000 else f"{value:,.0f}")
    console.print(table)
    console.print()


def main(arguments: Sequence[str] | None = None) -> None:
    """Print all tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--urls", type=float, default=1e9)
    parser.add_argument("--domains", type=float, default=1e7)
    parser.add_argument("--processes", type=int, help="default: enough for a billion pages a week")
    parser.add_argument("--world", choices=list(WORLDS), default="published shares")
    parser.add_argument("--small-domains", type=int, default=10_000)
    parser.add_argument("--small-urls", type=int, default=200_000)
    parser.add_argument("--no-sensitivity", action="store_true")
    parser.add_argument("--json", type=Path)
    add_quick(parser, small_domains=500, small_urls=8000, no_sensitivity=True)
    options = parser.parse_args(arguments)
    started_s = time.process_time()
    settings = Settings()
    web = Web(domains=int(options.domains), urls=options.urls)
    sample = freshness.Sample(world=options.world)
    if options.quick:
        sample = replace(sample, pages=150, scarce_pages=40, days=30, cycles=2)
    processes = options.processes or -(-GOAL_PAGES_S // int(capacity_s(web, settings).urls_s))
    results: dict[str, Any] = {
        "crawl": whole_crawl(web, settings, processes),
        "error": validation(settings, domains=options.small_domains, urls=options.small_urls),
        "by_rates": limited_by_rates(settings, urls=4000 if options.quick else 60_000),
        "processes": processes_by_setting(web),
        "refresh": kept_fresh(web, settings, sample),
    }
    if not options.no_sensitivity:
        results["sensitivity"] = sensitivity.table(settings, web, sample, console)
    print(f"{time.process_time() - started_s:.0f} s of CPU")
    if options.json:
        options.json.write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
