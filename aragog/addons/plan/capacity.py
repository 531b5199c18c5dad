"""
Estimate the machines and services that a crawl needs, from measured costs and list prices
(`costs.toml`).

The estimates are accurate to an order of magnitude.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from aragog.addons.plan.costs import Costs
from aragog.addons.plan.crawl_load import CrawlLoad
from aragog.addons.plan.demand import DAY_S, Demand, Limit, Need
from aragog.addons.plan.server_needs import (
    HBaseNeeds,
    JobServerNeeds,
    PostgresNeeds,
    RedisNeeds,
    api_needs,
    compaction_limit,
    content_needs,
    up_to,
)


@dataclass(frozen=True, slots=True)
class Plan:
    """The resources that a crawl (`Demand`) needs, and its first bottleneck."""

    needs: tuple[Need, ...]
    limits: tuple[Limit, ...] = field(default=())
    """The limits, the most heavily loaded one first."""

    def amount(self, name: str) -> float:
        """Return the amount of a need; raises KeyError for an unknown name."""
        return {need.name: need.amount for need in self.needs}[name]


def plan(demand: Demand, costs: Costs) -> Plan:
    """Compute a crawl's needs and limits."""
    load = CrawlLoad(demand, costs)
    cores = load.cores()
    machines = math.ceil(sum(cores.values()) / (demand.cores * demand.utilization))
    postgres = demand.store == "postgres"
    store = PostgresNeeds(load, machines) if postgres else HBaseNeeds(load)
    servers: list[RedisNeeds | JobServerNeeds | HBaseNeeds | PostgresNeeds] = [RedisNeeds(load)]
    if demand.jobs == "postgres":
        servers.append(JobServerNeeds(load))
    servers.append(store)
    limits = [compaction_limit(load), *_domain_limits(load), *_schedule_limits(load)]
    return Plan(
        needs=(
            *_crawl_needs(load, cores, machines),
            *(need for server in servers for need in server.needs()),
            *api_needs(load, store.read_ms),
            *content_needs(load),
        ),
        limits=tuple(
            sorted(
                [*limits, *(limit for server in servers for limit in server.limits())],
                key=lambda limit: -limit.load,
            )
        ),
    )


def _crawl_needs(load: CrawlLoad, cores: dict[str, float], machines: int) -> tuple[Need, ...]:
    demand, connections = load.demand, load.connections()
    roles = ", ".join(f"{role} {n:.1f}" for role, n in sorted(cores.items(), key=lambda i: -i[1]))
    bits_s = load.analyzed_s * demand.page_bytes * 8
    needs = [Need("pages/s", load.pages_s, "/s", f"{demand.urls:,.0f} in {demand.days:g} days")]
    if demand.stored:
        reason = f"{demand.stored:,.0f} every {demand.refresh_days:g} days"
        needs.append(Need("refreshes/s", load.refreshes_s, "/s", reason))
    connection_ms = load.connection_ms(connections)
    lookups_s = load.fetches_s * connections.looked_up + load.robots_s
    handshakes_s = load.fetches_s * demand.https_share * connections.opened
    return (
        *needs,
        Need("worker cores", sum(cores.values()), "busy", roles),
        Need(
            "worker machines",
            machines,
            f"of {demand.cores} cores",
            f"{demand.utilization:.0%} busy",
        ),
        Need(
            "fetch processes",
            load.fetch_processes,
            "processes",
            f"{load.concurrent_requests:,.0f} concurrent requests",
        ),
        Need(
            "TLS handshakes",
            handshakes_s,
            "/s",
            f"{connections.full:.0%} of them full; a fetch costs {connection_ms:.2f} ms more",
        ),
        Need(
            "DNS lookups",
            lookups_s,
            "/s",
            "sent to your resolver",
        ),
        Need("bandwidth", bits_s / 1e9, "Gbit/s", "uncompressed bodies"),
    )


def _domain_limits(load: CrawlLoad) -> tuple[Limit, ...]:
    """Return the load on all domains' rate limits combined, and on the largest domain's."""
    demand = load.demand
    combined = load.fetches_s / (demand.domains * demand.qps)
    largest = demand.largest_domain_urls
    days, rate = largest / (demand.qps * DAY_S), largest / (demand.days * DAY_S)
    source = " by Zipf's law" if demand.largest_domain is None else ""
    min_domains = math.ceil(load.fetches_s / demand.qps)
    return (
        Limit(
            "the domains' rates",
            combined,
            f"needs {min_domains:,} domains, or higher rates for some (overrides)"
            if combined > 1
            else f"enough for {up_to(load.fetches_s, combined)} fetches/s",
        ),
        Limit(
            "the largest domain's rate",
            days / demand.days,
            f"{largest:.1e} URLs{source} take {days:,.0f} days: needs {rate:,.0f}/s or a URL limit"
            if days > demand.days
            else f"{largest:.1e} URLs{source} take {days:.2g} days",
        ),
    )


def _schedule_limits(load: CrawlLoad) -> tuple[Limit, ...]:
    """Return the load from periodic tasks. Only one task of each kind runs at a time."""
    robots = load.robots_s / load.cost("robots_refreshes")
    limits = [Limit("the task that refreshes robots.txt", robots, _task_remedy(robots))]
    if load.refreshes_s:
        refreshes = load.refreshes_s / load.cost("refreshes_claimed")
        limits.append(Limit("the task that claims refreshes", refreshes, _task_remedy(refreshes)))
    return tuple(limits)


def _task_remedy(load: float) -> str:
    return "the backlog grows" if load > 1 else f"enough for {1 / load:,.0f} times this load"
