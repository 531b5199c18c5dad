"""The table that ends a run: URLs that were not stored, why, and the setting to change."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from rich.console import Console
from rich.table import Table
from rich.text import Text

from aragog.cli.processes.run_tracker import NotStored
from aragog.fetcher.outcome import OutcomeKind
from aragog.fetcher.ssrf import SsrfFilter
from aragog.settings import FetchSettings, Settings
from aragog.terminal import echo, one_line

MOST_SHOWN = 20
_NAME = re.compile(r"\b([a-z]+)\.([a-z_]+)\b")
_PORTS = {"http": 80, "https": 443}
_EVERYTHING = ("0.0.0.0/0", "::/0")
_OF_OUTCOME = {
    OutcomeKind.TOO_LARGE: "fetch.max_body_bytes",
    OutcomeKind.UNREADABLE: "fetch.content_types",
}


def print_problems(
    problems: Sequence[NotStored], count: int, settings: Settings, console: Console
) -> None:
    """
    Print the first `MOST_SHOWN` problems, also after `--quiet`.

    Args:
        problems: at least the first of them.
        count: how many there are in all.
        settings: of the system that fetched them.
        console: where the run reports.
    """
    rows = [(*problem, setting_of(problem, settings)) for problem in problems[:MOST_SHOWN]]
    more = f"and {count - len(rows):,} more URLs that were not stored"
    if console.quiet:
        for url, outcome, reason, setting in rows:
            echo(one_line(f"{url}: {outcome}: {reason} {setting}".rstrip()), err=True)
        if count > len(rows):
            echo(more, err=True)
        return
    table = Table("not stored", "outcome", "reason", "setting to change", box=None, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(one_line(cell), overflow="fold") for cell in row))
    if rows:
        console.print(table)
    if count > len(rows):
        console.print(more, highlight=False)


def setting_of(problem: NotStored, settings: Settings) -> str:
    """The settings that would let a URL be fetched, separated by commas; "": none would."""
    named = [
        f"{section}.{key}"
        for section, key in _NAME.findall(problem.reason)
        if hasattr(getattr(settings, section, None), key)
    ]
    if problem.outcome == OutcomeKind.BLOCKED:
        named += _of_blocked(problem, settings)
    elif not named and problem.outcome in _OF_OUTCOME:
        named.append(_OF_OUTCOME[OutcomeKind(problem.outcome)])
    return ", ".join(dict.fromkeys(named))


def _of_blocked(problem: NotStored, settings: Settings) -> list[str]:
    """The settings without which the SSRF filter, or an operator, blocks a URL."""
    overrides = settings.politeness.overrides_file
    if overrides is not None and str(overrides) in problem.reason:
        return ["politeness.overrides_file"]
    if "fetch.user_agent" in problem.reason or "politeness." in problem.reason:
        return []
    parts = urlsplit(problem.url)
    port = parts.port or _PORTS.get(parts.scheme, 0)
    other_port = port not in settings.fetch.allowed_ports
    with_port = dataclasses.replace(settings.fetch, allowed_ports=(port,))
    named = ["fetch.allowed_ports"] if other_port else []
    # The text of a name does not show that it resolves to a local address.
    is_local = not other_port or SsrfFilter(with_port).vet_url(problem.url) is not None
    if is_local and _may_be_allowed(with_port, problem.url):
        named.append("fetch.allowed_networks")
    return named


def _may_be_allowed(fetch: FetchSettings, url: str) -> bool:
    """Whether `fetch.allowed_networks` can permit a URL; never a cloud's metadata service."""
    open_to_all = dataclasses.replace(fetch, allowed_networks=_EVERYTHING)
    return SsrfFilter(open_to_all).vet_url(url) is None
