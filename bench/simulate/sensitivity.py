"""The effect on a crawl of halving or doubling one setting."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from rich.console import Console
from rich.table import Table

from aragog.settings import Settings
from bench.simulate import freshness
from bench.simulate.parts import Machines, SmallResult
from bench.simulate.small import SmallCrawl
from bench.simulate.web import Web

CRAWL_SETTINGS = (
    "politeness.qps", "politeness.wait_inline_ms", "politeness.slot_window_ms",
    "politeness.crawl_delay_cap_s", "fetch.concurrency", "workers.fetch",
    "fetch.concurrency, workers.fetch", "pipeline.batch_size", "pipeline.spool_max_bytes",
    "pipeline.retry_first_s", "pipeline.max_attempts",
)  # fmt: skip
REFRESH_SETTINGS = (
    "refresh.effort", "refresh.domain_share", "refresh.min_interval_s", "refresh.max_interval_s",
)  # fmt: skip
SPOOL_BYTES = 128 * 2**20


class CrawlFigures(NamedTuple):
    """One crawl, simulated event by event."""

    median_s: float
    """Time until half of the URLs are done."""
    end_s: float
    """Time until 99% are done."""
    rate_used: float
    """Share of the allowed requests that were sent while a domain had work."""
    fairness: float
    """Jain's index of these shares by domain."""
    visits: float
    """Task runs per URL."""
    urgent_median_s: float
    urgent_p99_s: float
    failed: float
    """Share of the URLs that were abandoned."""
    spool_mb: float
    """The peak fill level of the spool."""


def limited_by_machines(settings: Settings) -> CrawlFigures:
    """Simulate 2,000 domains, one fetch process, and stages after it that have spare capacity."""
    web = Web(domains=2000, urls=30_000)
    return _figures(SmallCrawl(web, settings, Machines(canonicalize_s=350)).run(probes=60))


def limited_by_rates(settings: Settings, *, urls: int = 40_000) -> CrawlFigures:
    """
    Simulate 200 domains of similar sizes, enough processes, and the spool of eight
    Redis servers.
    """
    web = Web(domains=200, urls=urls, exponent=0.3)
    settings = scale_settings(settings, "pipeline.spool_max_bytes", 8)
    machines = Machines(processes=60, canonicalize_s=1e4)
    return _figures(SmallCrawl(web, settings, machines).run(probes=40, probe_every_s=1.0))


def _figures(result: SmallResult) -> CrawlFigures:
    urgent = sorted(result.urgent_s) or [0.0]
    return CrawlFigures(
        result.share_done_s(0.5), result.share_done_s(0.99), result.rate_used, result.fairness,
        result.visits / result.urls, urgent[len(urgent) // 2], urgent[int(0.99 * len(urgent))],
        result.failed / result.urls, result.spool_bytes / 1e6,
    )  # fmt: skip


def scale_settings(settings: Settings, names: str, factor: float) -> Settings:
    """Return the settings with some fields (`section.field`, separated by commas) multiplied."""
    for name in names.split(", "):
        section_name, field = name.split(".")
        section_settings = getattr(settings, section_name)
        value = getattr(section_settings, field) or SPOOL_BYTES
        new = max(1, round(value * factor)) if isinstance(value, int) else value * factor
        settings = replace(settings, **{section_name: replace(section_settings, **{field: new})})
    return settings


def table(
    settings: Settings, web: Web, sample: freshness.Sample, console: Console
) -> dict[str, Any]:
    """Print both tables, and return their figures by setting and factor."""
    return {**_crawls(settings, console), **_refreshes(settings, web, sample, console)}


def _crawls(settings: Settings, console: Console) -> dict[str, Any]:
    headings = (
        "machines: half (s)",
        "99% (s)",
        "urgent p99 (s)",
        "spool MB",
        "rates: 99% (s)",
        "rate used",
        "urgent p99 (s)",
        "visits",
        "abandoned",
    )
    table = Table("crawl setting", "", *headings, title="sensitivity of a crawl", box=None)
    results: dict[str, Any] = {}
    for name, factor in [("defaults", 1.0), *((n, f) for n in CRAWL_SETTINGS for f in (0.5, 2.0))]:
        scaled = settings if factor == 1 else scale_settings(settings, name, factor)
        machines, rates = limited_by_machines(scaled), limited_by_rates(scaled, urls=20_000)
        results[f"{name} x {factor:g}"] = {"machines": machines._asdict(), "rates": rates._asdict()}
        table.add_row(
            name, f"x {factor:g}", f"{machines.median_s:.0f}", f"{machines.end_s:.0f}",
            f"{machines.urgent_p99_s:.2f}", f"{machines.spool_mb:.1f}", f"{rates.end_s:.0f}",
            f"{rates.rate_used:.1%}", f"{rates.urgent_p99_s:.2f}", f"{rates.visits:.2f}",
            f"{rates.failed:.2%}",
        )  # fmt: skip
    console.print(table)
    return results


def _refreshes(
    settings: Settings, web: Web, sample: freshness.Sample, console: Console
) -> dict[str, Any]:
    table = Table(
        "refresh setting",
        "",
        "fresh",
        "optimum",
        "fresh / optimum",
        "fetches/s",
        title="sensitivity of refreshes",
        box=None,
    )
    results: dict[str, Any] = {}
    for name, factor in [
        ("defaults", 1.0),
        *((n, f) for n in REFRESH_SETTINGS for f in (0.5, 2.0)),
    ]:
        scaled = settings if factor == 1 else scale_settings(settings, name, factor)
        result = freshness.simulate(web, scaled.refresh, qps=scaled.politeness.qps, sample=sample)
        results[f"{name} x {factor:g}, refresh"] = {
            "fresh": result.fresh,
            "of_best": result.of_best,
            "fetches_s": result.fetches_s,
        }
        table.add_row(
            name, f"x {factor:g}", f"{result.fresh:.3f}", f"{result.best:.3f}",
            f"{result.of_best:.1%}", f"{result.fetches_s:,.0f}",
        )  # fmt: skip
    console.print(table)
    return results
