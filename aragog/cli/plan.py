"""`aragog plan`: the machines and storage that a crawl needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.table import Table

from aragog.cli.arguments import FiniteRange
from aragog.cli.arguments import as_json as as_json_option
from aragog.cli.capacity import Costs, Demand, Plan, read_costs
from aragog.cli.capacity import plan as needs_of
from aragog.terminal import SafeConsole, echo, echo_json

_POSITIVE = FiniteRange(min=0, min_open=True)
_SHARE = FiniteRange(0, 1, min_open=True)


@click.command("plan")
@click.option(
    "--urls", type=_POSITIVE, required=True, help="Number of fetches in --days, such as 1e9."
)
@click.option("--domains", type=_POSITIVE, required=True, help="Number of registered domains.")
@click.option("--days", type=_POSITIVE, default=7, show_default=True)
@click.option("--page-bytes", type=_POSITIVE, default=62_000, show_default=True)
@click.option(
    "--waiting",
    type=FiniteRange(min=0),
    help="Number of waiting URLs; default: those of a day.",
)
@click.option(
    "--changed", type=_SHARE, default=1, show_default=True, help="Share of fetches with a new body."
)
@click.option(
    "--qps", type=_POSITIVE, default=10, show_default=True, help="Requests a second to one domain."
)
@click.option(
    "--store",
    type=click.Choice(("hbase", "postgres")),
    default="hbase",
    show_default=True,
    help="Where the tables are.",
)
@click.option(
    "--jobs",
    type=click.Choice(("redis", "postgres")),
    default="redis",
    show_default=True,
    help="Where the broker keeps its jobs.",
)
@click.option("--cores", type=click.IntRange(1), default=16, show_default=True)
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    help="A TOML file with prices and costs of your own (docs/scale.md).",
)
@click.option("--costs", is_flag=True, help="Also print the prices and measured costs.")
@as_json_option
def plan(*, prices: Path | None, costs: bool, as_json: bool, **demand: Any) -> None:
    """
    Compute what a crawl needs (machines, Redis, HBase or PostgreSQL, S3) and its first bottleneck.

    It uses measured costs and list prices, and asks no server. docs/scale.md explains the figures.
    """
    used = read_costs(prices)
    result = needs_of(Demand(**demand), used)
    if as_json:
        _print_json(result, used if costs else None)
        return
    console = SafeConsole()
    console.print(_needs(result))
    echo("\nBottlenecks (share of the capacity of one unit):")
    console.print(_limits(result))
    if costs:
        echo("\nMeasured:")
        console.print(_costs(used))


def _print_json(result: Plan, costs: Costs | None) -> None:
    plan_json = {
        "needs": [need._asdict() for need in result.needs],
        "limits": [limit._asdict() for limit in result.limits],
    }
    if costs:
        plan_json["costs"] = [{"name": name, **cost._asdict()} for name, cost in costs.items()]
    echo_json(plan_json, indent=True)


def _grid() -> Table:
    return Table(box=None, show_header=False, pad_edge=False)


def _needs(result: Plan) -> Table:
    table = _grid()
    for need in result.needs:
        table.add_row(need.name, amount(need.amount), need.unit, need.because)
    return table


def _limits(result: Plan) -> Table:
    table = _grid()
    for limit in result.limits:
        table.add_row(f"{limit.load:.0%}", limit.name, limit.remedy)
    return table


def _costs(costs: Costs) -> Table:
    table = _grid()
    for name, cost in costs.items():
        table.add_row(name, f"{cost.value:g}", cost.unit, cost.measured_by)
    return table


def amount(value: float) -> str:
    """A number with two significant digits below 10, else without decimals. Pure."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
