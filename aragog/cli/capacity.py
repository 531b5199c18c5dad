"""
What a crawl of some size needs: machines, Redis, HBase or PostgreSQL, and S3, from measured costs
and prices.

`costs.toml` is the one place with figures; each names the command that measures it. The result is
an order of magnitude, not a promise.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, NamedTuple

from aragog.errors import BadInput

WEEK_DAYS = 7.0
DAY_S = 86_400.0


class Cost(NamedTuple):
    """One measured figure or price."""

    value: float
    unit: str
    measured_by: str
    """The command, or the source of a figure that was not measured."""


Costs = Mapping[str, Cost]


def read_costs(path: Path | None = None) -> Costs:
    """
    The costs of this version of aragog, with the values of a file in place of its own.

    Args:
        path: a TOML file with a table for each cost that differs: `[s3_put]`, `value = 0.000004`.

    Raises:
        BadInput: the file cannot be read, names an unknown cost, or has a value below 0.
    """
    costs = {name: Cost(**table) for name, table in tomllib.loads(_own_text()).items()}
    for name, table in (_tables(path) if path else {}).items():
        if name not in costs:
            raise BadInput(f"{path}: {name} is not a cost; known are {', '.join(costs)}")
        value = table.get("value") if isinstance(table, dict) else None
        if not isinstance(value, int | float) or not 0 <= value < math.inf:
            raise BadInput(f"{path}: [{name}] needs a value of at least 0, got {value!r}")
        costs[name] = Cost(float(value), costs[name].unit, str(table.get("measured_by", path)))
    return costs


def _own_text() -> str:
    return files("aragog.cli").joinpath("costs.toml").read_text("utf-8")


def _tables(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: cannot be read as TOML: {error}") from error


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
    store: Literal["hbase", "postgres"] = "hbase"
    """Where the tables are."""
    jobs: Literal["redis", "postgres"] = "redis"
    """Where the broker keeps its jobs."""


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


def plan(demand: Demand, costs: Costs) -> Plan:
    """The needs and limits of a demand. Pure."""
    return _Computation(demand, costs).plan()


@dataclass(frozen=True, slots=True)
class _Computation:
    """The computation of one plan."""

    demand: Demand
    costs: Costs

    @property
    def pages_s(self) -> float:
        """Pages per second."""
        return self.demand.urls / (self.demand.days * DAY_S)

    def _cost(self, name: str) -> float:
        return self.costs[name].value

    def plan(self) -> Plan:
        """The needs and limits."""
        demand, pages_s, cores = self.demand, self.pages_s, self._cores()
        return Plan(
            needs=(
                Need("pages/s", pages_s, "/s", f"{demand.urls:,.0f} in {demand.days:g} days"),
                *self._machines(cores),
                *self._redis(),
                *(self._postgres_jobs() if demand.jobs == "postgres" else ()),
                *(self._postgres() if demand.store == "postgres" else self._hbase()),
                *self._s3(),
            ),
            limits=self._limits(),
        )

    def _cores(self) -> dict[str, float]:
        """Busy cores of each role. Parsing and fetching grow with the size of the page."""
        demand, cost = self.demand, self._cost
        size = demand.page_bytes / 62_000
        per_page_ms = {
            "fetch": cost("fetch") * (0.5 + 0.5 * size),
            "canonicalize": cost("canonicalize") * size,
            "store": cost("store")
            + (cost("postgres_s3") if demand.store == "postgres" else cost("hbase_s3")),
            "upkeep": cost("compaction"),
        }
        cores = {role: self.pages_s * ms / 1000 for role, ms in per_page_ms.items()}
        cores["robots"] = self._robots_s() * cost("robots") / 1000
        return cores

    def _robots_s(self) -> float:
        """robots.txt files a second: one of each domain that is asked on a day."""
        fetches = min(self.demand.domains, self.demand.urls / self.demand.days)
        return fetches / DAY_S

    def _machines(self, cores: dict[str, float]) -> tuple[Need, ...]:
        demand = self.demand
        total = sum(cores.values())
        machines = self._machine_count(cores)
        bits_s = demand.urls / (demand.days * DAY_S) * demand.page_bytes * 8
        roles = ", ".join(
            f"{role} {n:.1f}" for role, n in sorted(cores.items(), key=lambda i: -i[1])
        )
        return (
            Need("worker cores", total, "busy", roles),
            Need(
                "worker machines",
                machines,
                f"of {demand.cores} cores",
                f"{demand.busy:.0%} busy",
            ),
            Need("bandwidth", bits_s / 1e9, "Gbit/s", "bodies before their transfer encoding"),
        )

    def _machine_count(self, cores: dict[str, float]) -> int:
        return math.ceil(sum(cores.values()) / (self.demand.cores * self.demand.busy))

    @property
    def waiting(self) -> float:
        """URLs that wait at one time."""
        demand = self.demand
        return demand.urls / demand.days if demand.waiting is None else demand.waiting

    def _redis(self) -> tuple[Need, ...]:
        demand, cost, waiting = self.demand, self._cost, self.waiting
        limiter, shared = self.pages_s * cost("redis_limiter") / 1000, self._shared_cores()
        # Of a URL whose job is elsewhere only the entry of the in-flight set is in Redis.
        each = cost("in_flight_url") if demand.jobs == "postgres" else cost("waiting_url")
        queue_bytes = waiting * each
        domain_bytes = demand.domains * (cost("active_domain") + cost("robots_rules"))
        return (
            Need(
                "limiter nodes",
                math.ceil(limiter / demand.busy),
                "Redis",
                f"{limiter:.2f} cores",
            ),
            Need("other Redis", math.ceil(shared / demand.busy), "Redis", f"{shared:.2f} cores"),
            Need("queue memory", queue_bytes / 1e9, "GB", f"{waiting:,.0f} waiting URLs"),
            Need("domain memory", domain_bytes / 1e9, "GB", "slots and robots.txt rules"),
        )

    def _shared_cores(self) -> float:
        return self.pages_s * self._cost("redis_shared") / 1000

    def _hbase(self) -> tuple[Need, ...]:
        demand, cost = self.demand, self._cost
        stored = demand.urls * cost("hbase_bytes")
        regions = math.ceil(stored / cost("hbase_region"))
        rows_s = self.pages_s * cost("hbase_rows")
        servers = max(regions / cost("hbase_regions"), rows_s / cost("hbase_rows_per_s"))
        return (
            Need("HBase data", stored / 1e12, "TB", "one copy; HDFS keeps three"),
            Need("HBase regions", regions, "regions", "of 10 GB"),
            Need("HBase region servers", math.ceil(servers), "servers", f"{rows_s:,.0f} rows/s"),
        )

    def _postgres(self) -> tuple[Need, ...]:
        """PostgreSQL as the store, with what it writes for replicas and backups."""
        demand, cost, pages_s = self.demand, self._cost, self.pages_s
        server, machines = self._postgres_cores(), self._machine_count(self._cores())
        traffic = pages_s * cost("postgres_traffic")
        return (
            Need(
                "PostgreSQL cores",
                server,
                "busy",
                f"a server with {math.ceil(server / demand.busy)} is {demand.busy:.0%} busy",
            ),
            Need(
                "PostgreSQL data",
                demand.urls * cost("postgres_bytes") / 1e12,
                "TB",
                "indexes and free space included; a replica keeps another",
            ),
            Need(
                "PostgreSQL log",
                pages_s * cost("postgres_wal") * DAY_S / 1e9,
                "GB a day",
                "what a replica receives and backups keep",
            ),
            Need(
                "PostgreSQL round trips",
                pages_s * cost("postgres_round_trips"),
                "/s",
                f"{traffic / 1e6:,.0f} MB/s",
            ),
            Need(
                "PostgreSQL connections",
                machines * demand.cores * cost("postgres_connections"),
                "connections",
                "at most, a process a core; a pooler needs fewer",
            ),
        )

    def _postgres_cores(self) -> float:
        return self.pages_s * self._cost("postgres_server") / 1000

    def _postgres_jobs(self) -> tuple[Need, ...]:
        """PostgreSQL as the broker."""
        cores, disk = self._job_cores(), self.waiting * self._cost("postgres_waiting_url")
        jobs_s = self.pages_s * self._cost("jobs_a_page")
        return (
            Need("job server cores", cores, "busy", f"{jobs_s:,.0f} jobs/s in PostgreSQL"),
            Need("job server disk", disk / 1e9, "GB", f"{self.waiting:,.0f} waiting URLs"),
        )

    def _job_cores(self) -> float:
        return self.pages_s * self._cost("jobs_a_page") * self._cost("postgres_job") / 1000

    def _s3(self) -> tuple[Need, ...]:
        demand, cost = self.demand, self._cost
        puts = demand.urls * demand.changed
        stored = demand.urls * demand.page_bytes * cost("compressed")
        return (
            Need("S3 puts", puts, "requests", f"{puts / (demand.days * DAY_S):,.0f} a second"),
            Need("S3 put cost", puts * cost("s3_put"), "USD", f"in {demand.days:g} days"),
            Need("S3 data", stored / 1e12, "TB", "zstd; each URL stored once"),
            Need(
                "S3 storage cost",
                stored * cost("s3_month"),
                "USD a month",
                "without discounts",
            ),
        )

    def _limits(self) -> tuple[Limit, ...]:
        demand, cost = self.demand, self._cost
        limits: tuple[Limit, ...] = (
            Limit(
                "redis.url and the broker on one Redis",
                self._shared_cores(),
                "list more in broker.shards and redis.nodes",
            ),
            Limit(
                "one limiter node",
                self.pages_s * cost("redis_limiter") / 1000,
                "list more in politeness.limiter_urls",
            ),
            Limit(
                "link compaction",
                self.pages_s * cost("compaction") / 1000,
                'store.inlinks = "external" or "none"; one compaction runs at a time',
            ),
            Limit(
                "the domains' rates",
                self.pages_s / (demand.domains * demand.qps),
                "more domains, or higher rates for some (overrides)",
            ),
            self._store_limit(),
        )
        if demand.jobs == "postgres":
            remedy = "list more in broker.shards; they may be Redis servers"
            limits += (Limit("one PostgreSQL of jobs", self._job_cores() / demand.cores, remedy),)
        return tuple(sorted(limits, key=lambda limit: -limit.load))

    def _store_limit(self) -> Limit:
        demand, cost = self.demand, self._cost
        if demand.store == "postgres":
            return Limit(
                f"a PostgreSQL with {demand.cores} cores",
                self._postgres_cores() / demand.cores,
                "a larger server, or HBase (aragog store copy)",
            )
        return Limit(
            "one HBase gateway and region server",
            self.pages_s * cost("hbase_rows") / cost("hbase_rows_per_s"),
            "more region servers, a gateway on each",
        )
