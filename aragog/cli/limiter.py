"""The commands `aragog limiter …`, for the rate limiter's nodes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict

import click
from rich.table import Table

from aragog.bootstrap.redis_services import connect_overrides, limiter, limiter_ring
from aragog.cli.arguments import Host, as_json
from aragog.cli.data_folder import command_settings
from aragog.cli.terminal import echo, echo_json, note, print_table
from aragog.crawl.politeness.limiter_ring import LimiterRing, RingReport
from pinlater.redis.address import is_usable


class RedisUrl(click.ParamType):  # type: ignore[type-arg] # generic since click 8.3
    """The URL of a Redis server."""

    name = "url"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        if not is_usable(value):
            self.fail(f"{value[:80]!r} is not a Redis URL (redis://… or rediss://…)", param, ctx)
        return value


NODE = click.argument("node")


@click.group("limiter")
def limiter_command() -> None:
    """Show and change the nodes of the rate limiter, which share the domains."""


@contextmanager
def _open_ring() -> Iterator[LimiterRing]:
    ring = limiter_ring(command_settings(), note)
    try:
        yield ring
    finally:
        ring.close()


@limiter_command.command("list")
@as_json
def list_nodes(*, as_json: bool) -> None:
    """List the nodes, their share of the domains, and whether domains are moving."""
    with _open_ring() as ring:
        report = ring.report()
    if as_json:
        echo_json(asdict(report))
        return
    table = Table("node", "state", "share", "answers", "ring", box=None, pad_edge=False)
    for node_report in report.nodes:
        answers, current = (
            "yes" if node_report.answers else "no",
            "current" if node_report.ring else "older",
        )
        table.add_row(
            node_report.node, node_report.state, f"{node_report.share:.0%}", answers, current
        )
    print_table(table)
    echo(_summary(report))


def _summary(report: RingReport) -> str:
    if not report.moving:
        return f"epoch {report.epoch}"
    lost_text = f"; given up: {', '.join(report.lost)}" if report.lost else ""
    text = f"epoch {report.epoch}: domains are moving; `aragog limiter finish` resumes the move"
    return text + lost_text


@limiter_command.command()
@click.argument("domain", type=Host())
@as_json
def show(domain: str, *, as_json: bool) -> None:
    """Show which node is responsible for DOMAIN."""
    settings = command_settings()
    names = limiter(settings.resolved(), connect_overrides(settings))
    key = names.key_for(f"http://{domain}/")
    names.close()
    with _open_ring() as ring:
        location = ring.locate(key)
    if as_json:
        echo_json({"domain": key, "node": location.node, "before": location.former_owners})
        return
    former_nodes = [node for node in location.former_owners if node != location.node]
    echo(
        f"{key}: {location.node}"
        + (f", moving from {', '.join(former_nodes)}" if former_nodes else "")
    )


@limiter_command.command()
@click.argument("node", type=RedisUrl())
def add(node: str) -> None:
    """Add NODE, a Redis URL; its share of the domains moves to it."""
    with _open_ring() as ring:
        ring.add(node)
    note(f"{node}: responsible for its share of the domains")


@limiter_command.command()
@NODE
def drain(node: str) -> None:
    """Move all domains of NODE to the other nodes; it stays in the list."""
    with _open_ring() as ring:
        ring.drain(node)
    note(f"{node}: responsible for no domain")


@limiter_command.command()
@NODE
@click.option(
    "--lost",
    is_flag=True,
    help="Give up a node that does not respond: its pauses and backoffs are lost.",
)
def remove(node: str, *, lost: bool) -> None:
    """Drain NODE and remove it from the list."""
    with _open_ring() as ring:
        ring.remove(node, lost=lost)
    note(f"{node}: removed; it may be stopped")


@limiter_command.command()
def finish() -> None:
    """Resume a change that was interrupted."""
    with _open_ring() as ring:
        ring.finish()
        echo(_summary(ring.report()))
