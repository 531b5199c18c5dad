"""The commands `aragog templates …`."""

from __future__ import annotations

from dataclasses import asdict

import click
from rich.table import Table

from aragog.cli.arguments import Host, as_json
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo_json, note, print_table
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.traps.host_budget import TemplateDecision
from aragog.crawl.traps.host_templates import host_templates
from aragog.crawl.traps.trap_store import TrapStore


@click.group()
def templates() -> None:
    """Show which URL templates of a host are followed; open or close one."""


def _trap_store() -> TrapStore:
    return SharedState.from_settings(command_settings()).traps


@templates.command("list")
@click.argument("host", type=Host())
@as_json
def list_templates(host: str, *, as_json: bool) -> None:
    """List the URL templates of HOST, closed ones first."""
    templates_of_host = host_templates(_trap_store(), host)
    if as_json:
        echo_json(asdict(templates_of_host))
        return
    table = Table(box=None, pad_edge=False)
    for title in ("template", "state", "by", "with results", "nothing", "reason"):
        table.add_column(title)
    for template in templates_of_host.templates:
        table.add_row(*map(str, asdict(template).values()))
    print_table(table)
    note(f"{templates_of_host.held} links waiting, {templates_of_host.left_out} not followed")


@templates.command("open")
@click.argument("host", type=Host())
@click.argument("template")
def open_template(host: str, template: str) -> None:
    """Follow all links of HOST with this TEMPLATE."""
    _trap_store().decide(host, template, TemplateDecision.OPEN)
    note(f"open: {template} of {host}")


@templates.command("close")
@click.argument("host", type=Host())
@click.argument("template")
def close_template(host: str, template: str) -> None:
    """
    Stop following links of HOST with this TEMPLATE.

    URLs that are already queued are fetched; use `aragog cancel --pattern` to cancel them.
    """
    _trap_store().decide(host, template, TemplateDecision.CLOSED)
    note(f"closed: {template} of {host}")


@templates.command("learn")
@click.argument("host", type=Host())
@click.argument("template", required=False)
def learn_template(host: str, template: str | None) -> None:
    """Revoke a decision about TEMPLATE; without TEMPLATE, forget everything learned about HOST."""
    if template is None:
        _trap_store().forget(host)
        note(f"reset: all templates of {host}")
        return
    _trap_store().decide(host, template, None)
    note(f"learned: {template} of {host}")
