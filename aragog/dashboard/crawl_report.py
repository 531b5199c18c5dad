"""Crawl reports as JSON, Markdown, and a self-contained HTML file. Does no I/O."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any, NamedTuple

from aragog.crawl.stages.crawl_reports import CrawlReport
from aragog.crawl.stages.crawl_status import CrawlStatus
from aragog.dashboard.hours_plot import (
    HOUR_MS,
    OTHER_COLOR,
    STORED_COLOR,
    WIDTH,
    hours_plot,
    plot_bar,
)
from aragog.observability.formatting import format_duration, format_time

MAX_ROWS = 100
_HIDDEN_FIELDS = (
    "past", "v", "number", "is_seeding", "round_urls", "round_bytes", "notify_secret", "notified",
    "told_ms",
)  # fmt: skip
_OPEN_COLUMNS = ("domain", "waiting", "rate", "achieved", "time left", "held back by")
STYLE = """
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: 1rem 0; }
th, td { padding: .2rem .8rem .2rem 0; text-align: left; vertical-align: top; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
svg { width: 100%; height: auto; }
"""


def plain_status(status: CrawlStatus) -> dict[str, Any]:
    """Return a crawl's status as a JSON object."""
    record, counts = status.record.to_json_values(), status.counts
    options = {name: value for name, value in record.items() if name not in _HIDDEN_FIELDS}
    return {
        **options,
        "state": status.display_state,
        "enqueued": counts.enqueued,
        "waiting": counts.waiting,
        "repeated": counts.repeated,
        "bytes": counts.bytes,
        "outcomes": dict(counts.outcomes),
        "notes": dict(counts.notes),
    }


def plain_report(report: CrawlReport) -> dict[str, Any]:
    """Return a report as a JSON object."""
    return {
        "crawl": plain_status(report.status),
        "domains": {domain: dict(counts) for domain, counts in _largest_domains(report.domains)},
        "hours": [
            {"at_ms": hour * HOUR_MS, "outcomes": dict(counts)}
            for hour, counts in report.hours.items()
        ],
        "failures": [asdict(failure) for failure in report.failures],
        "refused": dict(report.refused),
        "traps": report.traps,
        "closed_templates": [asdict(template) for template in report.closed[:MAX_ROWS]],
        "rates": {
            "achieved": report.achieved.total,
            "achieved_recently": report.achieved.recent,
            "in_force": report.rate,
        },
        "open": [asdict(domain) for domain in report.open],
        "open_domains": report.open_domains,
        "seconds_left": report.seconds_left,
        "stuck": report.stuck,
    }


class ReportSection(NamedTuple):
    """One table in a report."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[Sequence[str]]


def sections(report: CrawlReport) -> Iterator[ReportSection]:
    """Yield the report as tables. Empty tables are left out."""
    candidates = (
        ReportSection("Outcomes", ("outcome", "URLs"), _count_rows(report.status.counts.outcomes)),
        ReportSection("Time left", ("", ""), _time_left_rows(report)),
        ReportSection("Rates", ("rate", "URLs per second"), _rate_rows(report)),
        ReportSection("Failures", ("outcome", "domain", "URLs", "today", "yesterday"), [
            (f.outcome, f.domain, f"{f.urls:,}", f"{f.today:,}", f"{f.yesterday:,}")
            for f in report.failures[:MAX_ROWS]
        ]),
        ReportSection("Refused by robots.txt, by the site's usage preferences, or by an operator",
                      ("outcome", "URLs"), _count_rows(report.refused)),
        ReportSection("Hosts whose robots.txt is unreachable", ("domain", "waiting"), [
            (d.domain, f"{d.waiting:,}") for d in report.open if d.robots_unreachable
        ][:MAX_ROWS]),
        ReportSection("Open domains", _OPEN_COLUMNS, [
            (d.domain, f"{d.waiting:,}", f"{d.rate:.3g}/s", f"{d.achieved_rate:.3g}/s",
             _time_text(d.seconds_left), d.held_by)
            for d in report.open[:MAX_ROWS]
        ]),
        ReportSection("Traps", ("host", "URL template", "why its links are not followed"), [
            (t.host, t.template, t.reason) for t in report.closed[:MAX_ROWS]
        ]),
        ReportSection("Domains", ("domain", "URLs", "stored"), [
            (domain, f"{counts.total():,}", f"{counts['stored']:,}")
            for domain, counts in _largest_domains(report.domains)
        ]),
    )  # fmt: skip
    return (section for section in candidates if section.rows)


def _count_rows(counts: Mapping[str, int]) -> list[tuple[str, str]]:
    return [(name, f"{count:,}") for name, count in counts.items()]


def _time_left_rows(report: CrawlReport) -> list[tuple[str, str]]:
    if not report.open_domains:
        return []
    slowest = next((domain for domain in report.open if domain.seconds_left is not None), None)
    rows = [("open domains", f"{report.open_domains:,}")]
    if slowest is not None:
        text = f"{_time_text(slowest.seconds_left)}, until {slowest.domain} is done"
        rows.append(("at current rates", text))
    if report.stuck:
        rows.append(("on paused domains", f"{report.stuck:,} URLs"))
    return rows


def _rate_rows(report: CrawlReport) -> list[tuple[str, str]]:
    if not report.hours:
        return []
    return [
        ("achieved since the start", f"{report.achieved.total:.3g}"),
        ("achieved in this hour and the one before", f"{report.achieved.recent:.3g}"),
        ("allowed by the open domains", f"{report.rate:.3g}"),
    ]


def _time_text(seconds: float | None) -> str:
    return "paused" if seconds is None else format_duration(round(seconds * 1000))


def _largest_domains(domains: Mapping[str, Counter[str]]) -> list[tuple[str, Counter[str]]]:
    return sorted(domains.items(), key=lambda item: (-item[1].total(), item[0]))[:MAX_ROWS]


def _summary_rows(report: CrawlReport) -> list[tuple[str, str]]:
    status = report.status
    counts, record = status.counts, status.record
    facts = [("state", f"{status.display_state} {record.reason}".strip())]
    if record.created_at_ms:
        facts.append(("started", format_time(record.created_at_ms)))
    if record.next_round_ms and not record.has_ended:
        facts.append(
            ("next round", f"{format_time(record.next_round_ms)}, round {record.round + 1}")
        )
    facts += [("scope", rule) for rule in record.scope.rules]
    numbers = {
        "enqueued": counts.enqueued, "waiting": counts.waiting,
        "found again after they were stored": counts.repeated,
        "bytes": counts.bytes, "domains": len(report.domains),
        "unchanged since they were stored": counts.notes.get("unchanged", 0),
        "duplicates of another URL": counts.notes.get("duplicate", 0),
        "links on hold until their URL template has been sampled": counts.held,
        "skipped as crawler traps": report.traps,
    }  # fmt: skip
    return [*facts, *((name, f"{number:,}") for name, number in numbers.items())]


def report_markdown(report: CrawlReport) -> str:
    """Return the report as Markdown."""
    lines = [
        f"# {report.status.record.name}",
        "",
        *_markdown_table(("", ""), _summary_rows(report)),
    ]
    for section in sections(report):
        lines += ["", f"## {section.title}", "", *_markdown_table(section.columns, section.rows)]
    return "\n".join(lines) + "\n"


def _markdown_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"

    return [line(titles), line(["---"] * len(titles)), *map(line, rows)]


def report_html(report: CrawlReport) -> str:
    """Return the report as a self-contained HTML file with plots."""
    name = escape(report.status.record.name)
    parts = [_html_table(("", ""), _summary_rows(report))]
    if report.hours:
        parts += ["<h2>URLs over time</h2>", hours_plot(report.hours).svg()]
    for section in sections(report):
        parts += [f"<h2>{escape(section.title)}</h2>", _html_table(section.columns, section.rows)]
        if section.title == "Outcomes":
            parts.append(_outcome_bars(report.status.counts.outcomes))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{STYLE}</style></head>"
        f"<body><main><h1>{name}</h1>{''.join(parts)}</main></body></html>\n"
    )


def _html_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    cells = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    head = f"<tr>{cells}</tr>" if any(titles) else ""
    body = "".join(f"<tr>{''.join(map(_html_cell, row))}</tr>" for row in rows)
    return f"<table>{head}{body}</table>"


def _html_cell(value: str) -> str:
    is_number = value.replace(",", "").isdigit()
    return f"<td{' class=number' if is_number else ''}>{escape(value)}</td>"


def _outcome_bars(outcomes: Mapping[str, int]) -> str:
    max_count, step = max(outcomes.values(), default=1), 18
    lines = [
        plot_bar(
            0,
            n * step,
            WIDTH * count / max_count,
            step - 2,
            _outcome_color(outcome),
            f"{outcome}: {count:,}",
        ).svg()
        for n, (outcome, count) in enumerate(outcomes.items())
    ]
    box = f'viewBox="0 0 {WIDTH} {step * len(lines)}"'
    return f'<svg {box} role="img" aria-label="URLs by outcome">{"".join(lines)}</svg>'


def _outcome_color(outcome: str) -> str:
    return STORED_COLOR if outcome == "stored" else OTHER_COLOR
