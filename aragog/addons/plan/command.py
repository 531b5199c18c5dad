"""The command `aragog plan`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.table import Table

from aragog.addons.plan.capacity import Plan
from aragog.addons.plan.capacity import plan as compute_plan
from aragog.addons.plan.costs import Costs, read_costs
from aragog.addons.plan.demand import Demand, Need
from aragog.cli.arguments import FiniteRange
from aragog.cli.arguments import as_json as as_json_option
from aragog.cli.terminal import SafeConsole, echo, echo_json

_POSITIVE = FiniteRange(min=0, min_open=True)
_NON_NEGATIVE = FiniteRange(min=0)
_POSITIVE_SHARE = FiniteRange(0, 1, min_open=True)
_SHARE = FiniteRange(0, 1)
_F = TypeVar("_F", bound=Callable[..., Any])


def _number_option(name: str, text: str, *, range_: FiniteRange = _POSITIVE) -> Callable[[_F], _F]:
    field = name.removeprefix("--").replace("-", "_")
    default = getattr(Demand(urls=1, domains=1), field)
    default_options = {} if default is None else {"default": default, "show_default": True}
    return click.option(name, type=range_, help=text, **default_options)


@click.command("plan")
@click.option(
    "--urls", type=_POSITIVE, required=True, help="Number of first fetches in --days, such as 1e9."
)
@click.option("--domains", type=_POSITIVE, required=True, help="Number of registered domains.")
@_number_option("--days", "Time for these fetches, in days.")
@_number_option("--hosts", "Number of hosts; default: one per domain.")
@_number_option("--largest-domain", "URLs on the largest domain; default: by Zipf's law.")
@_number_option("--page-bytes", "Mean size of a body.")
@_number_option("--links", "Mean number of links on a page.", range_=_NON_NEGATIVE)
@_number_option(
    "--waiting", "Number of queued URLs; default: one day's URLs.", range_=_NON_NEGATIVE
)
@_number_option("--changed", "Share of fetches with a new body.", range_=_POSITIVE_SHARE)
@_number_option("--qps", "Requests per second to a domain.")
@_number_option("--https-share", "Share of fetches over HTTPS.", range_=_SHARE)
@_number_option("--latency-ms", "Mean time of a fetch.")
@_number_option(
    "--pages-per-connection",
    "Fetches per connection; default: visits to a host are spread evenly.",
    range_=FiniteRange(min=1),
)
@_number_option("--sitemap-urls", "Sitemap entries read per day.", range_=_NON_NEGATIVE)
@_number_option(
    "--stored", "Pages that are kept fresh, in addition to --urls.", range_=_NON_NEGATIVE
)
@_number_option("--refresh-days", "Mean time between two refreshes of a page.")
@_number_option("--not-modified", "Share of refreshes answered with 304.", range_=_SHARE)
@_number_option("--refresh-changed", "Share of refreshes with a new body.", range_=_SHARE)
@_number_option(
    "--reads-per-second", "Records read through the API per second.", range_=_NON_NEGATIVE
)
@_number_option("--hit-ratio", "Share of reads that the store answers from memory.", range_=_SHARE)
@_number_option("--redis-memory", "Memory of a Redis server, in GB.")
@click.option(
    "--store",
    type=click.Choice(("hbase", "postgres")),
    default="hbase",
    show_default=True,
    help="Database for the tables.",
)
@click.option(
    "--jobs",
    type=click.Choice(("redis", "postgres")),
    default="redis",
    show_default=True,
    help="Database for the broker's jobs.",
)
@click.option(
    "--content",
    type=click.Choice(("packs", "objects")),
    default="packs",
    show_default=True,
    help="How content is stored.",
)
@_number_option("--content-reads", "Reads of content, as a share of --urls.", range_=_NON_NEGATIVE)
@click.option("--cores", type=click.IntRange(1), default=16, show_default=True)
@click.option(
    "--prices",
    type=click.Path(path_type=Path),
    help="A TOML file that overrides prices and costs (docs/performance.md#scale).",
)
@click.option("--costs", is_flag=True, help="Also print the prices and measured costs.")
@as_json_option
def plan(*, prices: Path | None, costs: bool, as_json: bool, **demand: Any) -> None:
    """
    Compute what a crawl needs (machines, Redis, HBase or PostgreSQL, S3) and its first bottleneck.

    It uses measured costs and list prices, and contacts no servers (docs/performance.md).
    """
    if demand["refresh_changed"] + demand["not_modified"] > 1:
        raise click.BadParameter("--not-modified and --refresh-changed must sum to at most 1")
    all_costs = read_costs(prices)
    requested = Demand(**demand)
    result = compute_plan(requested, all_costs)
    if as_json:
        _print_json(result, all_costs if costs else None)
        return
    console = SafeConsole()
    console.print(_needs_table(result))
    threshold = f"{requested.utilization:.0%} of a CPU or 100% of the rest"
    echo(f"\nBottlenecks (load as a share of one server's capacity; act above {threshold}):")
    console.print(_limits_table(result))
    if costs:
        echo("\nMeasured:")
        console.print(_costs_table(all_costs))


def _print_json(result: Plan, costs: Costs | None) -> None:
    plan_json = {
        "needs": [_need_json(need) for need in result.needs],
        "limits": [limit._asdict() for limit in result.limits],
    }
    if costs:
        plan_json["costs"] = [{"name": name, **cost._asdict()} for name, cost in costs.items()]
    echo_json(plan_json, indent=True)


def _need_json(need: Need) -> dict[str, Any]:
    return {
        "name": need.name,
        "amount": need.amount,
        "unit": need.unit,
        "because": need.reason,
    }


def _grid() -> Table:
    return Table(box=None, show_header=False, pad_edge=False)


def _needs_table(result: Plan) -> Table:
    table = _grid()
    for need in result.needs:
        table.add_row(need.name, amount(need.amount), need.unit, need.reason)
    return table


def _limits_table(result: Plan) -> Table:
    table = _grid()
    for limit in result.limits:
        table.add_row(f"{limit.load:,.0%}", limit.name, limit.remedy)
    return table


def _costs_table(costs: Costs) -> Table:
    table = _grid()
    for name, cost in costs.items():
        table.add_row(name, f"{cost.value:g}", cost.unit, cost.measured_by)
    return table


def amount(value: float) -> str:
    """Format a number with two significant digits below 10, otherwise without decimals."""
    return f"{value:,.0f}" if value >= 10 or value == int(value) else f"{value:.2g}"
