"""Reports of crawls as JSON, Markdown and one HTML file that needs no network. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from aragog.crawl.stages.crawl_control import CrawlReport
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.observability.formatting import at

MOST_DOMAINS = 100
HOUR_MS = 3_600_000
WIDTH, HEIGHT = 720, 160
_HIDDEN = (
    "past", "v", "number", "is_seeding", "round_urls", "round_bytes", "notify_secret", "notified",
)  # fmt: skip
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .2rem .8rem .2rem 0; text-align: left; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; }
rect { fill: #2a6fb0; } rect.other { fill: #b0512a; } text { fill: currentColor; font-size: 11px; }
"""


def plain_status(status: CrawlStatus) -> dict[str, Any]:
    """A crawl as JSON values."""
    record, counts = status.record.plain(), status.counts
    options = {name: value for name, value in record.items() if name not in _HIDDEN}
    return {
        **options,
        "state": status.shown_state,
        "enqueued": counts.enqueued,
        "waiting": counts.waiting,
        "repeated": counts.repeated,
        "bytes": counts.bytes,
        "outcomes": dict(counts.outcomes),
    }


def plain_report(report: CrawlReport) -> dict[str, Any]:
    """A report as JSON values."""
    return {
        "crawl": plain_status(report.status),
        "domains": {domain: dict(counts) for domain, counts in _largest(report.domains)},
        "hours": [
            {"at_ms": hour * HOUR_MS, "outcomes": dict(counts)}
            for hour, counts in report.hours.items()
        ],
    }


def _largest(domains: Mapping[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    return sorted(domains.items(), key=lambda item: (-item[1].total(), item[0]))[:MOST_DOMAINS]


def _facts(status: CrawlStatus) -> list[tuple[str, str]]:
    counts, record = status.counts, status.record
    facts = [("state", f"{status.shown_state} {record.reason}".strip())]
    if record.created_at_ms:
        facts.append(("started", at(record.created_at_ms)))
    facts += [("scope", rule) for rule in record.scope.rules]
    numbers = {
        "enqueued": counts.enqueued, "waiting": counts.waiting, "repeated": counts.repeated,
        "bytes": counts.bytes,
    }  # fmt: skip
    return [*facts, *((name, f"{number:,}") for name, number in numbers.items())]


def _failures(report: CrawlReport) -> list[tuple[str, str, int, str]]:
    """Outcome, domain, count and trend of what failed, the most frequent first."""
    last = max(report.hours, default=0)
    day = Counter[str]()
    before = Counter[str]()
    for hour, counts in report.hours.items():
        (day if hour > last - 24 else before if hour > last - 48 else Counter()).update(counts)
    rows = [
        (outcome, domain, count, _trend(day[outcome], before[outcome]))
        for domain, counts in report.domains.items()
        for outcome, count in counts.items()
        if outcome != "stored"
    ]
    return sorted(rows, key=lambda row: (-row[2], row[0], row[1]))[:MOST_DOMAINS]


def _trend(now: int, before: int) -> str:
    """The last day compared with the day before."""
    if not before:
        return "new" if now else ""
    return f"{(now - before) / before:+.0%}"


def as_markdown(report: CrawlReport) -> str:
    """The report as Markdown."""
    status = report.status
    lines = [f"# {status.record.name}", "", *_table(("", ""), _facts(status))]
    outcomes = [(name, f"{count:,}") for name, count in status.counts.outcomes.items()]
    lines += ["", "## Outcomes", "", *_table(("outcome", "URLs"), outcomes)]
    failures = [(o, d, f"{count:,}", trend) for o, d, count, trend in _failures(report)]
    if failures:
        titles = ("outcome", "domain", "URLs", "last day")
        lines += ["", "## What failed", "", *_table(titles, failures)]
    domains = [(d, f"{c.total():,}", f"{c['stored']:,}") for d, c in _largest(report.domains)]
    if domains:
        lines += ["", "## Domains", "", *_table(("domain", "URLs", "stored"), domains)]
    return "\n".join(lines) + "\n"


def _table(titles: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(titles), line(["---"] * len(titles)), *map(line, rows)]


def as_html(report: CrawlReport) -> str:
    """The report as one HTML file with plots, which loads nothing."""
    status = report.status
    name = escape(status.record.name)
    outcomes = [(o, f"{c:,}") for o, c in status.counts.outcomes.items()]
    failures = [(o, d, f"{count:,}", trend) for o, d, count, trend in _failures(report)]
    domains = [(d, f"{c.total():,}", f"{c['stored']:,}") for d, c in _largest(report.domains)]
    parts = [
        _html_table(("", ""), _facts(status)),
        "<h2>URLs over time</h2>",
        _plot(report.hours),
        "<h2>Outcomes</h2>",
        _html_table(("outcome", "URLs"), outcomes),
        "<h2>What failed</h2>",
        _html_table(("outcome", "domain", "URLs", "last day"), failures),
        "<h2>Domains</h2>",
        _html_table(("domain", "URLs", "stored"), domains),
    ]
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{name}</title>'
        f"<style>{STYLE}</style></head><body><h1>{name}</h1>{''.join(parts)}</body></html>\n"
    )


def _html_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return "<p>none</p>"
    head = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    body = "".join(f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows)
    return f"<table><tr>{head}</tr>{body}</table>"


def _cell(value: str) -> str:
    is_number = value.replace(",", "").isdigit()
    return f"<td{' class=number' if is_number else ''}>{escape(value)}</td>"


def _plot(hours: Mapping[int, Counter[str]]) -> str:
    """Bars of an hour each: stored pages below, all other outcomes above them."""
    if not hours:
        return "<p>none</p>"
    first, last = min(hours), max(hours)
    span = last - first + 1
    most = max(counts.total() for counts in hours.values())
    width = WIDTH / span
    bars = []
    for hour, counts in hours.items():
        left, stored = (hour - first) * width, counts["stored"]
        low, high = HEIGHT * stored / most, HEIGHT * counts.total() / most
        title = (
            f"<title>{at(hour * HOUR_MS)}: {stored} stored, {counts.total() - stored} other</title>"
        )
        bars.append(_bar(left, HEIGHT - low, width, low, "", title))
        bars.append(_bar(left, HEIGHT - high, width, high - low, ' class="other"', title))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT + 20}" role="img" aria-label="URLs an hour, at most '
        f'{most}">{"".join(bars)}<text x="0" y="{HEIGHT + 15}">{at(first * HOUR_MS)}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT + 15}" text-anchor="end">{at(last * HOUR_MS)}</text></svg>'
    )


def _bar(x: float, y: float, width: float, height: float, mark: str, title: str) -> str:
    place = f'x="{x:.1f}" y="{y:.1f}" width="{max(width - 1, 0.5):.1f}" height="{height:.1f}"'
    return f"<rect{mark} {place}>{title}</rect>"
