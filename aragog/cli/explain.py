"""The commands `aragog explain` and `aragog status`."""

from __future__ import annotations

from contextlib import closing
from dataclasses import asdict

import click
from rich.table import Table
from rich.text import Text

from aragog.api.json_values import to_json
from aragog.api.operations.values import BUILT_IN
from aragog.bootstrap.dashboard import components
from aragog.bootstrap.stores import url_store
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo_json, print_table, printable
from aragog.client import Aragog
from aragog.dashboard.explanation import explain_url
from aragog.dashboard.waiting import waiting_counts
from aragog.errors import BrokerUnavailable
from aragog.observability.formatting import format_duration
from aragog.settings import Settings
from aragog.urlstore.freshness import Freshness


@click.command()
@click.argument("url")
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def explain(url: str, *, as_json: bool) -> None:
    """Explain URL: spelling, SSRF filter, robots.txt, slot, canonical URL, fields, links."""
    with closing(components(command_settings())) as opened:
        explanation = explain_url(url, opened)
    if as_json:
        echo_json(to_json(explanation, BUILT_IN))
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for section in explanation.sections:
        table.add_row(Text(section.title, "underline"), "")
        for line in section.lines:
            note = Text(f"  {printable(line.note)}" if line.note else "", "dim")
            table.add_row(f"  {line.name}", Text(printable(line.text)) + note)
        if section.problem:
            table.add_row("  unknown", section.problem)
    print_table(table)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
def status(*, as_json: bool) -> None:
    """Show how many URLs are in flight, and the outcomes of the others."""
    settings = command_settings()
    with Aragog(settings) as client:
        counts = {"in_flight": client.in_flight(), **client.counters()}
    freshness_by_type = _read_freshness(settings)
    waits = _wait_counts(settings)
    if as_json:
        by_type = {
            page_type: asdict(freshness) for page_type, freshness in freshness_by_type.items()
        }
        echo_json({**counts, "freshness": by_type, "waits_for": waits})
        return
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="bold")
    table.add_column(justify="right")
    for name, number in counts.items():
        table.add_row(name.replace("_", " "), f"{number:,}")
    for name, number in waits.items():
        table.add_row(f"wait for {name}", f"{number:,}")
    print_table(table)
    if freshness_by_type:
        print_table(_freshness_table(freshness_by_type))


def _wait_counts(settings: Settings) -> dict[str, int]:
    """Count URLs by what they are waiting for, estimated from a sample. Empty without pinlater."""
    try:
        with closing(components(settings)) as opened:
            return waiting_counts(opened)
    except BrokerUnavailable:
        return {}


def _read_freshness(settings: Settings) -> dict[str, Freshness]:
    """Return freshness by page type, estimated from a sample. Empty if there is no store yet."""
    if settings.store.engine == "sqlite" and not (settings.data_dir / "store").exists():
        return {}
    with closing(url_store(settings)) as store:
        return store.maintenance.freshness()


def _freshness_table(freshness_by_type: dict[str, Freshness]) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in ("type", "sampled", "age p50", "age p95", "refreshed on time"):
        table.add_column(name, justify="left" if name == "type" else "right")
    for page_type, freshness in freshness_by_type.items():
        ages = (
            format_duration(1000 * age_s) for age_s in (freshness.age_p50_s, freshness.age_p95_s)
        )
        table.add_row(page_type, str(freshness.pages), *ages, f"{freshness.on_time:.0%}")
    return table
