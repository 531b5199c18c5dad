"""The commands `aragog domain …`."""

from __future__ import annotations

import getpass
import os
import socket
from contextlib import closing
from dataclasses import asdict

import click
from rich.table import Table

from aragog.bootstrap.dashboard import components
from aragog.cli.arguments import COUNT, as_json
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo, echo_json, note, print_table
from aragog.dashboard.components import Components
from aragog.dashboard.domains import PAGE_SIZE, SORTS, change_domain, find_domains, live_overrides
from aragog.observability.formatting import format_time

REASON = click.option("--reason", default="", help="The reason, stored in the history.")


@click.group()
def domain() -> None:
    """Show why domains wait, and change their rates."""


def _components() -> closing[Components]:
    return closing(components(command_settings()))


def _current_user() -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # in a container, the user may have no name
        user = f"uid {os.getuid()}"
    return f"{user}@{socket.gethostname()}"


@domain.command("list")
@click.argument("search", default="")
@click.option("--sort", type=click.Choice(list(SORTS)), default="backlog", help="Sort order.")
@click.option("--cursor", help="Continue a list from the cursor that it printed.")
@as_json
def list_domains(search: str, sort: str, cursor: str | None, *, as_json: bool) -> None:
    """List domains whose names contain SEARCH, one page at a time; without SEARCH, all."""
    with _components() as opened:
        rows, next_cursor = find_domains(opened, sort, search, cursor)
    if as_json:
        echo_json({"domains": [asdict(row) for row in rows], "cursor": next_cursor})
        return
    table = Table(box=None, pad_edge=False)
    for title in (
        "domain",
        "rate",
        "waiting",
        "backlog",
        "robots.txt",
        "outcomes",
        "errors",
        "held back by",
    ):
        table.add_column(title)
    for r in rows:
        errors = str(r.errors_in_a_row)
        waiting = f"{r.waiting:,}"
        table.add_row(r.domain, r.rate, waiting, r.backlog, r.robots, r.outcomes, errors, r.cause)
    print_table(table)
    if next_cursor:
        echo(f"more: --cursor {next_cursor}", err=True)


@domain.command()
@click.argument("name")
@click.argument("qps", type=float, required=False)
@REASON
def rate(name: str, qps: float | None, reason: str) -> None:
    """Limit NAME to QPS requests per second; without QPS, restore its default rate."""
    with _components() as opened:
        key = change_domain(opened, name, "rate", user_name=_current_user(), reason=reason, qps=qps)
    _print_change(key, "rate")


@domain.command()
@click.argument("name")
@click.argument("hours", required=False)
@REASON
def quiet(name: str, hours: str | None, reason: str) -> None:
    """
    Send NAME no requests at these HOURS of each day, such as "08:00-18:00 Europe/Berlin".

    Without HOURS, remove its quiet hours.
    """
    user_name = _current_user()
    with _components() as opened:
        key = change_domain(opened, name, "quiet", user_name=user_name, reason=reason, hours=hours)
    _print_change(key, "quiet hours")


@domain.command()
@click.argument("name")
@REASON
def stop(name: str, reason: str) -> None:
    """Stop sending requests to NAME; its URLs wait until `resume`."""
    with _components() as opened:
        key = change_domain(opened, name, "stop", user_name=_current_user(), reason=reason)
    _print_change(key, "stop")


@domain.command()
@click.argument("name")
@REASON
def resume(name: str, reason: str) -> None:
    """Resume a domain that was stopped."""
    with _components() as opened:
        key = change_domain(opened, name, "resume", user_name=_current_user(), reason=reason)
    _print_change(key, "resume")


def _print_change(key: str, setting: str) -> None:
    applies = "apply" if setting.endswith("s") else "applies"
    note(f"{key}: {setting} {applies} in every process within five seconds")


@domain.command()
@click.argument("name", required=False)
@click.option(
    "--limit", type=COUNT, default=PAGE_SIZE, show_default=True, help="Maximum number of changes."
)
@as_json
def history(name: str | None, limit: int, *, as_json: bool) -> None:
    """List changes to all domains or to NAME, and who made them, latest first."""
    with _components() as opened:
        changes = live_overrides(opened).history(limit, name)
    if as_json:
        echo_json([asdict(change) for change in changes])
        return
    table = Table("when", "who", "domain", "change", "reason", box=None, pad_edge=False)
    for change in changes:
        table.add_row(
            format_time(change.at_ms), change.who, change.domain, change.what, change.reason
        )
    print_table(table)
