"""
What a crawl of some size needs: machines, Redis, HBase and S3, from measured costs. Pure.

`COSTS` is the one place with figures; each names the command that measures it. They come from two
shared cores and vary by 15 %: the result is an order of magnitude, not a promise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

WEEK_DAYS = 7.0
DAY_S = 86_400.0


class Cost(NamedTuple):
    """One measured figure."""

    value: float
    unit: str
    measured_by: str
    """The command, or the source of a figure that is not ours."""


_CRAWL = "make bench (docs)"
_STORE = "python -m bench.growth --rows"
_IMPORT = "python -m bench.urlstore --engine hbase"
COSTS = MappingProxyType(
    {
        "canonicalize": Cost(2.93, "CPU ms a page of 62 KB", _CRAWL),
        "fetch": Cost(1.30, "CPU ms a page of 62 KB", _CRAWL),
        "store": Cost(0.85, "CPU ms a page, SQLite and a folder", _CRAWL),
        "hbase_s3": Cost(1.8, "CPU ms a page more on HBase and S3", "python -m bench.growth"),
        "robots": Cost(2.0, "CPU ms a robots.txt", _CRAWL),
        "compaction": Cost(0.44, "CPU ms a page of 185 links", "python -m bench.urlstore"),
        "redis_shared": Cost(0.27, "CPU ms a page of redis.url and the broker", _CRAWL),
        "redis_limiter": Cost(0.045, "CPU ms a URL of a limiter node", "python -m bench.limiter"),
        "waiting_url": Cost(220, "bytes of Redis memory", "python -m bench.politeness"),
        "active_domain": Cost(180, "bytes of Redis memory", "python -m bench.limiter"),
        "robots_rules": Cost(420, "bytes of Redis memory a file", "python -m bench.robots"),
        "compressed": Cost(0.23, "of a page's size, zstd", "python -m bench.growth --rows"),
        "hbase_bytes": Cost(6_100, "bytes a page of 185 links, before compression", _STORE),
        "hbase_rows": Cost(6, "rows written a page, compaction included", _STORE),
        "hbase_rows_per_s": Cost(10_500, "rows/s one region server took", _IMPORT),
        "hbase_region": Cost(10e9, "bytes of a region", "HBase reference guide, 10 to 20 GB"),
        "hbase_regions": Cost(100, "regions a server", "HBase reference guide, 20 to 200"),
        "s3_put": Cost(0.005 / 1000, "USD", "AWS list price, us-east-1, 2025"),
        "s3_month": Cost(0.023 / 1e9, "USD a byte and month", "AWS list price, us-east-1, 2025"),
    }
)


@dataclass(frozen=True, slots=True)
class Demand:
    """The crawl whose needs are computed."""

    urls: float
    """Fetches in `days`."""
    domains: float
    """Registered domains that they are on, with one host each."""
    days: float = WEEK_DAYS
    page_bytes: float = 62_000
    waiting: float | None = None
    """URLs that wait at one time; None: those of one day."""
    changed: float = 1.0
    """Share of fetches whose body is new: only these are written to S3."""
    qps: float = 10.0
    """Requests per second to one domain, at most."""
    cores: int = 16
    """Cores of a machine."""
    busy: float = 0.6
    """Share of the cores, and of a Redis server's one core, that is planned for."""


class Need(NamedTuple):
    """One line of a plan."""

    name: str
    amount: float
    unit: str
    because: str


class Limit(NamedTuple):
    """A part that cannot be made larger by adding workers."""

    name: str
    load: float
    """Share of what one of it does; above 1 it breaks."""
    remedy: str


@dataclass(frozen=True, slots=True)
class Plan:
    """What a demand needs, and its first bottleneck."""

    needs: tuple[Need, ...]
    limits: tuple[Limit, ...] = field(default=())
    """The most loaded first."""

    def amount(self, name: str) -> float:
        """The amount of a need; KeyError: there is none of this name."""
        return {need.name: need.amount for need in self.needs}[name]


def plan(demand: Demand) -> Plan:
    """The needs and limits of a demand, by `COSTS`."""
    seconds = demand.days * DAY_S
    pages_s = demand.urls / seconds
    cores = _cores(demand, pages_s)
    return Plan(
        needs=(
            Need("pages/s", pages_s, "/s", f"{demand.urls:,.0f} in {demand.days:g} days"),
            *_machines(demand, cores),
            *_redis(demand, pages_s),
            *_hbase(demand, pages_s),
            *_s3(demand),
        ),
        limits=_limits(demand, pages_s),
    )


def _cost(name: str) -> float:
    return COSTS[name].value


def _cores(demand: Demand, pages_s: float) -> dict[str, float]:
    """Busy cores of each role. Parsing and fetching grow with the size of the page."""
    size = demand.page_bytes / 62_000
    per_page_ms = {
        "fetch": _cost("fetch") * (0.5 + 0.5 * size),
        "canonicalize": _cost("canonicalize") * size,
        "store": _cost("store") + _cost("hbase_s3"),
        "upkeep": _cost("compaction"),
    }
    cores = {role: pages_s * ms / 1000 for role, ms in per_page_ms.items()}
    cores["robots"] = _robots_s(demand) * _cost("robots") / 1000
    return cores


def _robots_s(demand: Demand) -> float:
    """robots.txt files a second: one of each domain that is asked on a day."""
    fetches = min(demand.domains, demand.urls / demand.days)
    return fetches / DAY_S


def _machines(demand: Demand, cores: dict[str, float]) -> tuple[Need, ...]:
    total = sum(cores.values())
    bits_s = demand.urls / (demand.days * DAY_S) * demand.page_bytes * 8
    roles = ", ".join(f"{role} {n:.1f}" for role, n in sorted(cores.items(), key=lambda i: -i[1]))
    return (
        Need("worker cores", total, "busy", roles),
        Need(
            "worker machines",
            math.ceil(total / (demand.cores * demand.busy)),
            f"of {demand.cores} cores",
            f"{demand.busy:.0%} busy",
        ),
        Need("bandwidth", bits_s / 1e9, "Gbit/s", "bodies before their transfer encoding"),
    )


def _redis(demand: Demand, pages_s: float) -> tuple[Need, ...]:
    waiting = demand.urls / demand.days if demand.waiting is None else demand.waiting
    limiter, shared = pages_s * _cost("redis_limiter") / 1000, _shared_cores(pages_s)
    queue_bytes = waiting * _cost("waiting_url")
    domain_bytes = demand.domains * (_cost("active_domain") + _cost("robots_rules"))
    return (
        Need("limiter nodes", math.ceil(limiter / demand.busy), "Redis", f"{limiter:.2f} cores"),
        Need("other Redis", math.ceil(shared / demand.busy), "Redis", f"{shared:.2f} cores"),
        Need("queue memory", queue_bytes / 1e9, "GB", f"{waiting:,.0f} waiting URLs"),
        Need("domain memory", domain_bytes / 1e9, "GB", "slots and robots.txt rules"),
    )


def _shared_cores(pages_s: float) -> float:
    return pages_s * _cost("redis_shared") / 1000


def _hbase(demand: Demand, pages_s: float) -> tuple[Need, ...]:
    stored = demand.urls * _cost("hbase_bytes")
    regions = math.ceil(stored / _cost("hbase_region"))
    rows_s = pages_s * _cost("hbase_rows")
    servers = max(regions / _cost("hbase_regions"), rows_s / _cost("hbase_rows_per_s"))
    return (
        Need("HBase data", stored / 1e12, "TB", "one copy; HDFS keeps three"),
        Need("HBase regions", regions, "regions", "of 10 GB"),
        Need("HBase region servers", math.ceil(servers), "servers", f"{rows_s:,.0f} rows/s"),
    )


def _s3(demand: Demand) -> tuple[Need, ...]:
    puts = demand.urls * demand.changed
    stored = demand.urls * demand.page_bytes * _cost("compressed")
    return (
        Need("S3 puts", puts, "requests", f"{puts / (demand.days * DAY_S):,.0f} a second"),
        Need("S3 put cost", puts * _cost("s3_put"), "USD", f"in {demand.days:g} days"),
        Need("S3 data", stored / 1e12, "TB", "zstd; each URL stored once"),
        Need("S3 storage cost", stored * _cost("s3_month"), "USD a month", "without discounts"),
    )


def _limits(demand: Demand, pages_s: float) -> tuple[Limit, ...]:
    limits = (
        Limit(
            "redis.url and the broker on one Redis",
            _shared_cores(pages_s),
            "list more in broker.shards and redis.nodes",
        ),
        Limit(
            "one limiter node",
            pages_s * _cost("redis_limiter") / 1000,
            "list more in politeness.limiter_urls",
        ),
        Limit(
            "link compaction",
            pages_s * _cost("compaction") / 1000,
            'store.inlinks = "external" or "none"; one compaction runs at a time',
        ),
        Limit(
            "the domains' rates",
            pages_s / (demand.domains * demand.qps),
            "more domains, or higher rates for some (overrides)",
        ),
        Limit(
            "one HBase gateway and region server",
            pages_s * _cost("hbase_rows") / _cost("hbase_rows_per_s"),
            "more region servers, a gateway on each",
        ),
    )
    return tuple(sorted(limits, key=lambda limit: -limit.load))
