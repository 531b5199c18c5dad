"""Estimate the servers that a crawl needs: Redis, HBase or PostgreSQL, S3, and API servers."""

from __future__ import annotations

import math

from aragog.addons.plan.crawl_load import MEASURED_LINKS, CrawlLoad
from aragog.addons.plan.demand import DAY_S, Limit, Need
from aragog.crawl.pipeline.memory_limit import REFUSE_ABOVE_SHARE
from aragog.crawl.pipeline.spool import MAX_DEFAULT_BYTES, OVERHEAD_BYTES, SpoolBounds


class RedisNeeds:
    """Limiter nodes, and the Redis servers for jobs, the in-flight set and bodies."""

    def __init__(self, load: CrawlLoad) -> None:
        demand, cost = load.demand, load.cost
        self._load, self._demand = load, demand
        # Above this share of memory, producers' URLs are refused. The spool takes at most 128 MiB
        # of it.
        self._usable_bytes = demand.redis_memory * 1e9 * REFUSE_ABOVE_SHARE
        self._limiter_cores = (load.fetches_s + load.robots_s) * cost("redis_limiter") / 1000
        self._shared_cores = load.fetches_s * cost("redis_shared") / 1000
        self._slot_bytes = demand.domains * cost("active_domain")
        self._rules_bytes = demand.all_hosts * cost("robots_rules")
        # If jobs are stored elsewhere, Redis only holds a URL's entry in the in-flight set.
        bytes_per_url = cost("in_flight_url") if demand.jobs == "postgres" else cost("waiting_url")
        self._queue_bytes = demand.waiting_urls * bytes_per_url

    def needs(self) -> tuple[Need, ...]:
        """Return the servers, and their total memory."""
        waiting = self._demand.waiting_urls
        return (
            Need("limiter nodes", self._limiters, "Redis", f"{self._limiter_cores:.2f} cores"),
            Need(
                "other Redis",
                self._servers,
                "Redis",
                self._servers_reason,
            ),
            Need("queue memory", self._queue_bytes / 1e9, "GB", f"{waiting:,.0f} waiting URLs"),
            Need(
                "domain memory",
                (self._slot_bytes + self._rules_bytes) / 1e9,
                "GB",
                "slots and robots.txt rules",
            ),
        )

    @property
    def _servers_reason(self) -> str:
        memory = f"{REFUSE_ABOVE_SHARE:.0%} of {self._demand.redis_memory:g} GB"
        return f"{self._shared_cores:.2f} cores; the queue may fill {memory} of each"

    @property
    def _limiters(self) -> int:
        by_memory = self._slot_bytes / self._usable_bytes
        return max(
            1,
            math.ceil(self._limiter_cores / self._demand.utilization),
            math.ceil(by_memory),
        )

    @property
    def _servers_by_memory(self) -> int:
        return max(1, math.ceil((self._queue_bytes + self._rules_bytes) / self._usable_bytes))

    @property
    def _servers(self) -> int:
        return max(
            math.ceil(self._shared_cores / self._demand.utilization), self._servers_by_memory
        )

    def limits(self) -> tuple[Limit, ...]:
        """Return the load on one server of each kind."""
        size = f"{self._demand.redis_memory:g} GB"
        rules = self._rules_bytes / self._usable_bytes
        queue = self._queue_bytes / self._usable_bytes
        shards = f"needs {self._servers_by_memory} in broker.shards and redis.nodes"
        if self._demand.jobs == "redis":
            shards += ", or jobs in PostgreSQL"
        cores = math.ceil(self._shared_cores / self._demand.utilization)
        return (
            Limit(
                "CPU of one Redis for jobs and bodies",
                self._shared_cores,
                self._spare_capacity(self._shared_cores)
                or f"needs {cores} in broker.shards and redis.nodes",
            ),
            self._spool_limit(),
            Limit(
                f"memory of one Redis of {size}: queue",
                queue,
                shards if queue > 1 else self._spare_capacity(queue, 1.0, "waiting URLs"),
            ),
            Limit(
                f"memory of redis.url of {size}: robots.txt",
                rules,
                f"needs {math.ceil(self._rules_bytes / 1e9 / REFUSE_ABOVE_SHARE)} GB of maxmemory"
                if rules > 1
                else self._spare_capacity(rules, 1.0, "hosts"),
            ),
            Limit(
                "one limiter node",
                self._limiter_cores,
                self._spare_capacity(self._limiter_cores)
                or f"needs {self._limiters} in politeness.limiter_urls",
            ),
        )

    def _spool_limit(self) -> Limit:
        """
        Return the load on one server's spool. It reserves memory for a batch until the batch's last
        response.
        """
        demand, cost = self._demand, self._load.cost
        reserved_s = demand.latency_ms / 1000 * cost("batch_latency")
        body = demand.page_bytes * cost("compressed") + OVERHEAD_BYTES
        bounds = SpoolBounds(MAX_DEFAULT_BYTES)
        load = self._load.fetches_s * reserved_s * body / bounds.high_bytes
        needed_mib = math.ceil(load * MAX_DEFAULT_BYTES / 2**20)
        remedy = (
            f"needs {math.ceil(load)} redis.nodes, or {needed_mib} MiB of pipeline.spool_max_bytes"
        )
        name = f"a spool of {MAX_DEFAULT_BYTES // 2**20} MiB on one Redis"
        return Limit(name, load, remedy if load > 1 else self._spare_capacity(load, 1.0))

    def _spare_capacity(
        self, load: float, max_load: float | None = None, unit: str = "fetches/s"
    ) -> str:
        """Return the load that one server can take, as text; empty if it is overloaded."""
        max_load = self._demand.utilization if max_load is None else max_load
        if load > max_load:
            return ""
        amounts = {
            "fetches/s": self._load.fetches_s,
            "waiting URLs": self._demand.waiting_urls,
            "hosts": self._demand.all_hosts,
        }
        return f"enough for {up_to(amounts[unit], load, max_load)} {unit}"


def up_to(amount: float, load: float, max_load: float = 1.0) -> str:
    """Return the amount at which the load reaches `max_load`, with two significant digits."""
    if not load:
        return "any number of"
    value = amount * max_load / load
    return f"{float(f'{value:.2g}'):,.0f}" if value < 1e7 else f"{value:.1e}".replace("e+0", "e")


def compaction_limit(load: CrawlLoad) -> Limit:
    """Return the load on link compaction. The cost `compactors` is how many can run at once."""
    demand, concurrent = load.demand, load.cost("compactors")
    cores = load.compaction_cores
    share = cores / concurrent if concurrent else math.inf
    concurrency = "one runs at a time" if concurrent == 1 else f"{concurrent:g} run at a time"
    if share <= 1:
        remedy_text = f"enough for {up_to(load.fetches_s, share)} fetches/s; {concurrency}"
        return Limit("link compaction", share, remedy_text)
    external = share * load.cost("external_links")
    links = math.floor(demand.links / share)
    remedy = (
        f"needs {math.ceil(cores)} in store.compactions, or {links} links per page, or"
        f' store.inlinks = "external" ({external:.0%}) or "none"'
    )
    return Limit("link compaction", share, remedy)


class HBaseNeeds:
    """HBase as the store: data, regions, and servers for reads and writes."""

    def __init__(self, load: CrawlLoad) -> None:
        self._load, self._demand = load, load.demand
        cost = load.cost
        self._rows_s = load.written_pages_s * cost("hbase_rows")
        self._gets_s = self._demand.reads_per_second
        misses_s = self._gets_s * (1 - self._demand.hit_ratio)
        self._write_load = self._rows_s / cost("hbase_rows_per_s")
        by_cpu = self._gets_s * cost("hbase_read") / 1000 / self._demand.cores
        self._read_load = max(by_cpu, misses_s / cost("disk_reads"))

    def needs(self) -> tuple[Need, ...]:
        """Return the data, regions and region servers."""
        cost, demand = self._load.cost, self._demand
        links = (1 + demand.links / MEASURED_LINKS) / 2  # half of a page's bytes are links
        stored = (demand.urls + demand.stored) * cost("hbase_bytes") * links
        regions = math.ceil(stored / cost("hbase_region"))
        load = self._write_load + self._read_load
        servers = max(regions / cost("hbase_regions"), load / demand.utilization)
        reason = f"{self._rows_s:,.0f} rows/s"
        if self._gets_s:
            reason += f", {self._gets_s:,.0f} reads/s"
        return (
            Need("HBase data", stored / 1e12, "TB", "one copy; HDFS keeps three"),
            Need("HBase regions", regions, "regions", "of 10 GB"),
            Need("HBase region servers", math.ceil(servers), "servers", reason),
        )

    def limits(self) -> tuple[Limit, ...]:
        """Return the load on one gateway with one region server."""
        load = self._write_load + self._read_load
        utilization = self._demand.utilization
        if load > utilization:
            remedy = f"needs {math.ceil(load / utilization)}, with a gateway on each"
        else:
            remedy = f"enough for {up_to(self._load.fetches_s, load, utilization)} fetches/s"
        return (Limit("one HBase gateway and region server", load, remedy),)

    @property
    def read_ms(self) -> float:
        """A client's CPU ms per read."""
        return self._load.cost("hbase_get")


class PostgresNeeds:
    """PostgreSQL as the store, including its WAL for replicas and backups."""

    def __init__(self, load: CrawlLoad, machines: int) -> None:
        self._load, self._demand, self._machines = load, load.demand, machines
        reads_s = self._demand.reads_per_second
        self._write_cores = load.written_pages_s * load.cost("postgres_server") / 1000
        self._read_cores = reads_s * load.cost("postgres_read") / 1000
        self._misses_s = reads_s * (1 - self._demand.hit_ratio)
        self._cores = self._write_cores + self._read_cores

    def needs(self) -> tuple[Need, ...]:
        """Return the cores, data, WAL, round trips and connections."""
        load, demand, cost = self._load, self._demand, self._load.cost
        traffic = load.written_pages_s * cost("postgres_traffic")
        utilization = demand.utilization
        cores = math.ceil(self._cores / utilization)
        reason = f"a server with {cores} is {utilization:.0%} busy"
        if demand.reads_per_second:
            reason += f"; reads {self._read_cores:.2f}"
        return (
            Need("PostgreSQL cores", self._cores, "busy", reason),
            Need(
                "PostgreSQL data",
                (demand.urls + demand.stored) * cost("postgres_bytes") / 1e12,
                "TB",
                "with indexes and free space; a replica needs as much again",
            ),
            Need(
                "PostgreSQL WAL",
                load.written_pages_s * cost("postgres_wal") * DAY_S / 1e9,
                "GB/day",
                "sent to replicas and kept for backups",
            ),
            Need(
                "PostgreSQL round trips",
                load.written_pages_s * cost("postgres_round_trips") + demand.reads_per_second,
                "/s",
                f"{traffic / 1e6:,.0f} MB/s",
            ),
            Need(
                "PostgreSQL connections",
                self._machines * demand.cores * cost("postgres_connections"),
                "connections",
                "at most, with one process per core; a pooler needs fewer",
            ),
        )

    def limits(self) -> tuple[Limit, ...]:
        """Return the load on one server with the machine's cores and disk."""
        demand = self._demand
        share = self._cores / demand.cores
        name = f"one PostgreSQL server with {demand.cores} cores"
        cores = math.ceil(self._cores / demand.utilization)
        remedy = f"needs {cores} cores, or HBase (aragog store copy)"
        if share <= demand.utilization:
            fetches = up_to(self._load.fetches_s, share, demand.utilization)
            remedy = f"enough for {fetches} fetches/s"
        limits: tuple[Limit, ...] = (Limit(name, share, remedy),)
        if demand.reads_per_second:
            disk = self._misses_s / self._load.cost("disk_reads")
            limits += (Limit("reads of one disk", disk, _memory_for(demand.hit_ratio, disk)),)
        return limits

    @property
    def read_ms(self) -> float:
        """A client's CPU ms per read."""
        return self._load.cost("postgres_get")


def _memory_for(hit_ratio: float, load: float) -> str:
    if load <= 1:
        return "enough at this hit ratio"
    return f"needs memory for a hit ratio of {1 - (1 - hit_ratio) / load:.2%}, or a replica"


class JobServerNeeds:
    """PostgreSQL as the broker."""

    def __init__(self, load: CrawlLoad) -> None:
        self._load, self._demand = load, load.demand
        self._jobs_s = load.fetches_s * load.cost("jobs_a_page")
        self._cores = self._jobs_s * load.cost("postgres_job") / 1000

    def needs(self) -> tuple[Need, ...]:
        """Return the cores and disk."""
        waiting = self._demand.waiting_urls
        disk = waiting * self._load.cost("postgres_waiting_url")
        return (
            Need(
                "job server cores", self._cores, "busy", f"{self._jobs_s:,.0f} jobs/s in PostgreSQL"
            ),
            Need("job server disk", disk / 1e9, "GB", f"{waiting:,.0f} waiting URLs"),
        )

    def limits(self) -> tuple[Limit, ...]:
        """Return the load on one server with the machine's cores."""
        share = self._cores / self._demand.cores
        remedy = "add servers to broker.shards; they may be Redis servers"
        if share <= self._demand.utilization:
            fetches = up_to(self._load.fetches_s, share, self._demand.utilization)
            remedy = f"enough for {fetches} fetches/s"
        return (Limit("one PostgreSQL server for jobs", share, remedy),)


PUTS_PER_PACK = 2
"""PUT requests per pack: the pack and its index."""


def api_needs(load: CrawlLoad, read_ms: float) -> tuple[Need, ...]:
    """Return the machines that serve reads; empty if there are no reads."""
    demand = load.demand
    if not demand.reads_per_second:
        return ()
    get_ms = load.cost("api_get") - load.cost("sqlite_get") + read_ms
    cores = demand.reads_per_second * get_ms / 1000
    machines = math.ceil(cores / (demand.cores * demand.utilization))
    return (
        Need("API cores", cores, "busy", f"{demand.reads_per_second:,.0f} reads/s over Thrift"),
        Need(
            "API machines",
            machines,
            f"of {demand.cores} cores",
            f"{demand.utilization:.0%} busy",
        ),
    )


def content_needs(load: CrawlLoad) -> tuple[Need, ...]:
    """Return the S3 requests and bytes, with prices."""
    demand, cost = load.demand, load.cost
    page_bytes = demand.page_bytes * cost("compressed")
    bodies, seconds = load.changed_s, demand.days * DAY_S
    if demand.content == "packs":
        page_bytes += cost("pack_record")
        # A pack is rewritten once half of it is unused, so each replaced body is written twice.
        written_bytes = (bodies + load.refreshes_s * demand.refresh_changed) * page_bytes
        puts = PUTS_PER_PACK * written_bytes / cost("pack_bytes") * seconds
        pack_pages = cost("pack_bytes") / page_bytes
        reason = f"two per pack of {pack_pages:,.0f} pages: the pack and its index"
    else:
        puts, reason = bodies * seconds, f"{bodies:,.0f}/s"
    stored_bytes = (demand.urls + demand.stored) * page_bytes
    reads = demand.urls * demand.content_reads
    return (
        Need("S3 puts", puts, "requests", reason),
        Need("S3 put cost", puts * cost("s3_put"), "USD", f"in {demand.days:g} days"),
        Need("S3 reads", reads, "requests", f"in {demand.days:g} days"),
        Need("S3 read cost", reads * cost("s3_get"), "USD", f"in {demand.days:g} days"),
        Need("S3 data", stored_bytes / 1e12, "TB", "zstd; each URL stored once"),
        Need("S3 storage cost", stored_bytes * cost("s3_month"), "USD/month", "without discounts"),
    )
