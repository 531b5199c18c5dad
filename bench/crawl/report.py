"""Print the costs of crawls, and write them as Markdown tables with a plot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import median

from bench import figures
from bench.crawl.sides import Crawl

Results = Mapping[str, Mapping[str, Sequence[Crawl]]]
"""The crawls by page set and side, one per round."""


def cpu_ms(crawl: Crawl) -> float:
    """Return the CPU milliseconds per page."""
    return 1000 * crawl.cpu_s / crawl.pages


def rate(crawl: Crawl) -> float:
    """Return the pages per second."""
    return crawl.pages / crawl.seconds


def print_crawl(side: str, crawl: Crawl) -> None:
    """Print one crawl with the CPU of each role."""
    print(f"  {side:7} {rate(crawl):6.1f} pages/s {cpu_ms(crawl):6.2f} CPU ms/page", flush=True)
    if side == "aragog":
        _report(crawl)
    for role, used_s in crawl.roles.most_common():
        print(f"    {role:25} {1000 * used_s / crawl.pages:6.2f}", flush=True)
    if crawl.connections:
        print(f"    connections                {crawl.connections:5}", flush=True)
    for label, memory_mb in (("highest", crawl.peak_memory_mb), ("at the end", crawl.memory_mb)):
        if memory_mb:
            parts = ", ".join(f"{role} {mb}" for role, mb in memory_mb.most_common())
            print(f"    memory {label}, PSS: {memory_mb.total()} MB ({parts})", flush=True)


def _report(crawl: Crawl) -> None:
    roles = {
        "redis": "redis_shared",
        "fetch": "fetch",
        "canonicalize": "canonicalize",
        "store": "store",
    }
    figures.report(**{cost: 1000 * crawl.roles[role] / crawl.pages for role, cost in roles.items()})


def table(results: Results) -> list[str]:
    """Return the Markdown table of all sets and sides; empty without results."""
    sides = _sides(results)
    rows = [f"| set | | {' | '.join(sides)} |", "|---" * (len(sides) + 2) + "|"]
    for name, crawls in results.items():
        cpu = [format(_median(crawls[side], cpu_ms), ".1f") for side in sides]
        rows += [
            f"| {name} | CPU per page (ms) | {' | '.join(cpu)} |",
            f"| {name} | lowest to highest | {' | '.join(_range(crawls[side]) for side in sides)} |",
        ]
        if "aragog" in crawls:
            ratios = [f"{_ratio(crawls, side):.2f}" for side in sides]
            rows.append(f"| {name} | aragog's CPU divided by this | {' | '.join(ratios)} |")
        rates = [format(_median(crawls[side], rate), ".0f") for side in sides]
        rows.append(f"| {name} | pages/s | {' | '.join(rates)} |")
    return rows


def markdown(results: Results) -> str:
    """Return the table of all sides, the roles of aragog, and a plot."""
    return "\n".join([*table(results), "", *_roles(results), "", *_plot(results), ""])


def _sides(results: Results) -> list[str]:
    return list(next(iter(results.values()), {}))


def _roles(results: Results) -> list[str]:
    names = list(results)
    costs = {name: _role_ms(results[name]["aragog"]) for name in names}
    roles = sorted(costs[names[0]], key=lambda role: -costs[names[0]][role])
    rows = [
        f"| {role} | " + " | ".join(f"{costs[name][role]:.2f}" for name in names) + " |"
        for role in roles
    ]
    return [
        f"| CPU ms per page, by process | {' | '.join(names)} |",
        "|---" * (len(names) + 1) + "|",
        *rows,
    ]


def _plot(results: Results) -> list[str]:
    sides = _sides(results)
    labels = [f'"{name}, {side}"' for name in results for side in sides]
    values = [
        f"{_median(crawls[side], cpu_ms):.1f}" for crawls in results.values() for side in sides
    ]
    return [
        "```mermaid",
        "xychart-beta",
        '    title "CPU ms per page"',
        f"    x-axis [{', '.join(labels)}]",
        '    y-axis "ms"',
        f"    bar [{', '.join(values)}]",
        "```",
    ]


def _median(crawls: Sequence[Crawl], figure: Callable[[Crawl], float]) -> float:
    return median(map(figure, crawls))


def _ratio(crawls: Mapping[str, Sequence[Crawl]], side: str) -> float:
    return _median(crawls["aragog"], cpu_ms) / _median(crawls[side], cpu_ms)


def _range(crawls: Sequence[Crawl]) -> str:
    cpu_ms_of_runs = [cpu_ms(crawl) for crawl in crawls]
    return f"{min(cpu_ms_of_runs):.1f} to {max(cpu_ms_of_runs):.1f}"


def _role_ms(crawls: Sequence[Crawl]) -> Counter[str]:
    """Return the median of each role, in CPU ms per page."""
    roles = {role for crawl in crawls for role in crawl.roles}
    return Counter(
        {role: median(1000 * crawl.roles[role] / crawl.pages for crawl in crawls) for role in roles}
    )
