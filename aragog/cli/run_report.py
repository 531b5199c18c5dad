"""
What a run prints at its end: a table of unstored URLs, and a card of a stored page.

The table has the reason and the setting to change. The card has the page's title, type and a few
values of its Rich Pin (typed metadata), with their sources and ages.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import orjson
from rich.console import Console
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from aragog.cli.run_output import RunOutput
from aragog.cli.run_tracker import NotStored, RunTracker
from aragog.cli.terminal import echo, one_line, printable, warn
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.fetcher.user_agent import user_agent_refusal
from aragog.crawl.politeness.blocked_hosts import SETTING as BLOCKED_HOSTS
from aragog.crawl.politeness.blocked_hosts import BlockedHosts
from aragog.crawl.politeness.overrides import Overrides
from aragog.errors import CONFIG
from aragog.fetch_record.causes import RefusalCause
from aragog.fetch_record.outcome import OutcomeKind
from aragog.observability.formatting import format_duration, to_one_line
from aragog.settings import FetchSettings, Settings
from aragog.urlstore.records import FieldInfo, Record
from aragog.urlstore.store import UrlStore
from urlspelling.domain import host

MAX_PROBLEMS_SHOWN = 20
_DEFAULT_PORTS = {"http": 80, "https": 443}
_ALL_NETWORKS = ("0.0.0.0/0", "::/0")
_OUTCOME_SETTINGS = {
    OutcomeKind.TOO_LARGE: "fetch.max_body_bytes",
    OutcomeKind.UNREADABLE: "fetch.content_types",
}

# A card shows these first, then the page's other fields.
FIRST_FIELDS = (
    "page.title", "page.type", "product.price", "product.currency", "product.availability",
    "product.brand", "product.rating", "page.description", "page.image",
)  # fmt: skip
HIDDEN_FIELDS = (
    "page.extractor_version", "page.canonical_url", "page.images", "page.types", "page.markdown",
    "page.text_version", "page.rules_version",
)  # fmt: skip
MAX_CARD_ROWS = 12
MAX_VALUE_CHARS = 60
MAX_CANDIDATES = 25


def print_problems(
    problems: Sequence[NotStored], count: int, settings: Settings, console: Console
) -> None:
    """
    Print the first `MAX_PROBLEMS_SHOWN` problems, even with `--quiet`.

    Args:
        problems: the run's first problems.
        count: the total number of problems.
        settings: the settings of the running system.
        console: prints the table.
    """
    rows = [
        (problem.url, problem.outcome, problem.reason, settings_to_change(problem, settings))
        for problem in problems[:MAX_PROBLEMS_SHOWN]
    ]
    more_text = f"and {count - len(rows):,} more URLs that were not stored"
    if console.quiet:
        for url, outcome, reason, setting in rows:
            echo(one_line(f"{url}: {outcome}: {reason} {setting}".rstrip()), err=True)
        if count > len(rows):
            echo(more_text, err=True)
        return
    table = Table("not stored", "outcome", "reason", "setting to change", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(one_line(cell), overflow="fold") for cell in row))
    if rows:
        console.print(table)
    if count > len(rows):
        console.print(more_text, highlight=False)


def print_outcomes(outcomes: Mapping[str, int], console: Console) -> None:
    """Print how many URLs have each outcome, the most frequent first."""
    if sum(outcomes.values()) <= MAX_PROBLEMS_SHOWN:
        return  # the table already shows all of them
    by_frequency = sorted(outcomes.items(), key=lambda item: (-item[1], item[0]))
    warn(console, "not stored: " + ", ".join(f"{count:,} {name}" for name, count in by_frequency))


def completeness(output: RunOutput, tracker: RunTracker) -> str:
    """
    Describe how complete a run's file is: `1,998 records of 2,000 URLs, 2 without (2 gone 410)`.

    If two URLs lead to one page, they have one record. Files are counted separately: `; 38 of 40
    files (2 gone 404)`.
    """
    urls = tracker.total + tracker.rejected - tracker.files - tracker.missing_files.total()
    missing: Counter[str] = Counter(tracker.outcomes)
    missing["not accepted"] = tracker.rejected
    missing["still waiting"] = tracker.in_flight
    run_pages = output.pages if output.has_items else output.records - output.kept
    missing["same page as another URL"] = urls - run_pages - missing.total()
    reasons = ", ".join(f"{count:,} {name}" for name, count in missing.most_common() if count > 0)
    earlier_text = f"; {output.kept:,} from earlier runs" if output.kept else ""
    records = (
        f"{output.records:,} items on {run_pages:,} pages"
        if output.has_items
        else f"{run_pages:,} records"
    )
    records_text = f"{records} of {urls:,} URLs"
    absent_text = f", {urls - run_pages:,} without ({reasons})" if urls > run_pages else ""
    files = files_text(tracker)
    return records_text + absent_text + earlier_text + (f"; {files}" if files else "")


def files_text(tracker: RunTracker) -> str:
    """Describe how many of the items' files are stored; "" without files."""
    missing = tracker.missing_files
    count = tracker.files + missing.total()
    reasons = ", ".join(f"{number:,} {name}" for name, number in missing.most_common())
    if not count:
        return ""
    return f"{tracker.files:,} of {count:,} files" + (f" ({reasons})" if reasons else "")


def settings_to_change(problem: NotStored, settings: Settings) -> str:
    """Return the comma-separated settings to change so that a URL is fetched, or ""."""
    if problem.outcome == OutcomeKind.BLOCKED:
        return ", ".join(_blocking_settings(problem, settings))
    if problem.is_file and problem.outcome == OutcomeKind.UNREADABLE:
        return "fetch.file_types"
    if problem.outcome in _OUTCOME_SETTINGS:
        return _OUTCOME_SETTINGS[OutcomeKind(problem.outcome)]
    return ""


def _blocking_settings(problem: NotStored, settings: Settings) -> list[str]:
    url = problem.ended_at or problem.url
    match problem.cause:
        case RefusalCause.NO_CONTACT:
            return ["fetch.user_agent"]
        case RefusalCause.BLOCKED_HOST:
            return _operator_setting(url, settings)
        case RefusalCause.URL | RefusalCause.ADDRESS:
            return _ssrf_settings(url, settings)
        case _:  # an older version stored no cause
            by_contact = ["fetch.user_agent"] if user_agent_refusal(settings.fetch, url) else []
            return by_contact or _operator_setting(url, settings) or _ssrf_settings(url, settings)


def _operator_setting(url: str, settings: Settings) -> list[str]:
    if _is_overridden(url, settings.politeness.overrides_file):
        return ["politeness.overrides_file"]
    blocked = BlockedHosts(settings.politeness.blocked_hosts)
    return [BLOCKED_HOSTS] if blocked.find(host(url)) else []


def _ssrf_settings(url: str, settings: Settings) -> list[str]:
    parts = urlsplit(url)
    port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 0)
    is_other_port = port not in settings.fetch.allowed_ports
    with_port_allowed = dataclasses.replace(settings.fetch, allowed_ports=(port,))
    settings_to_change = ["fetch.allowed_ports"] if is_other_port else []
    # A host name that resolves to a local address does not look local.
    is_local = not is_other_port or SsrfFilter(with_port_allowed).vet_url(url) is not None
    if is_local and _can_be_allowed(with_port_allowed, url):
        settings_to_change.append("fetch.allowed_networks")
    return settings_to_change


def _is_overridden(url: str, overrides_file: Path | None) -> bool:
    if overrides_file is None:
        return False
    with suppress(*CONFIG):  # the file may have become invalid since the run
        override = Overrides(overrides_file).find(host(url))
        return override is not None and override.blocked
    return False


def _can_be_allowed(fetch: FetchSettings, url: str) -> bool:
    """True if `fetch.allowed_networks` can permit a URL. It cannot permit metadata services."""
    open_to_all = dataclasses.replace(fetch, allowed_networks=_ALL_NETWORKS)
    return SsrfFilter(open_to_all).vet_url(url) is None


def best_record(store: UrlStore, urls: Iterable[str]) -> Record | None:
    """Return the page with the most fields among the first `MAX_CANDIDATES` URLs, or None."""
    records = [
        store.get(url, info=True) for url, _ in zip(urls, range(MAX_CANDIDATES), strict=False)
    ]
    pages = [record for record in records if record is not None and record.fields]
    return max(pages, key=lambda record: len(record.fields), default=None)


def card(store: UrlStore, record: Record) -> Panel:
    """Return the card of a page that has fields."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    table.add_column(style="dim")
    now_ms = time.time() * 1000
    for name in _shown_fields(record)[:MAX_CARD_ROWS]:
        value = _value_text(
            orjson.loads(orjson.dumps(store.formats.to_json(name, record.fields[name])))
        )
        info = record.info.get(name)
        table.add_row(
            name,
            Text(printable(to_one_line(value, MAX_VALUE_CHARS))),
            _source_and_age(info, now_ms),
        )
    return Panel(table, title=Text(printable(to_one_line(record.canonical_url, 100))), expand=False)


def _shown_fields(record: Record) -> list[str]:
    leading = [name for name in FIRST_FIELDS if name in record.fields]
    others = sorted(record.fields.keys() - set(leading) - set(HIDDEN_FIELDS))
    return leading + [name for name in others if not name.endswith("_groups")]


def _source_and_age(info: FieldInfo | None, now_ms: float) -> str:
    """Describe where a value was found, and its age: `json-ld, 3 min ago`."""
    if info is None:
        return ""
    syntax = (info.provenance or "derived").partition(" ")[0]
    return f"{printable(syntax)}, {format_duration(now_ms - info.at_ms)} ago"


def _value_text(value: Any) -> str:
    if isinstance(value, dict):
        return _value_text(
            value.get("url", ", ".join(f"{k} {_value_text(v)}" for k, v in value.items()))
        )
    if isinstance(value, list):
        return ", ".join(map(_value_text, value))
    return str(value)
