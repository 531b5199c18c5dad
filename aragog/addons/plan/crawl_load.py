"""The load of a crawl: fetch rates, connections opened, and busy cores by role."""

from __future__ import annotations

import math
from dataclasses import dataclass

from aragog.addons.plan.costs import Costs
from aragog.addons.plan.demand import DAY_S, Demand
from aragog.crawl.fetcher import dns
from aragog.settings import FetchSettings

MEASURED_BYTES = 62_000
"""Size of the pages used to measure the costs."""
MEASURED_LINKS = 185
"""Number of links on those pages."""
# Limits of a fetch process: idle connections (aragog/crawl/fetcher/http1/pool.py) and TLS sessions
# (aragog/crawl/fetcher/http1/tls.py). A test checks that they are the same there.
MAX_IDLE_CONNECTIONS, IDLE_CONNECTION_S = 512, 70.0
MAX_SESSIONS, SESSION_S = 250, 3_600.0


@dataclass(frozen=True, slots=True)
class ConnectionShares:
    """How often fetches open a connection, do a full TLS handshake, or look up a name."""

    opened: float
    """Fraction of fetches that open a connection."""
    full: float
    """Fraction of HTTPS connections with a full TLS handshake; the others resume a session."""
    looked_up: float
    """Fraction of fetches that look up a name."""


@dataclass(frozen=True, slots=True)
class CrawlLoad:
    """The rates and busy cores of a crawl."""

    demand: Demand
    costs: Costs

    def cost(self, name: str) -> float:
        """Return the value of a cost by name."""
        return self.costs[name].value

    @property
    def pages_s(self) -> float:
        """First fetches per second."""
        return self.demand.urls / (self.demand.days * DAY_S)

    @property
    def refreshes_s(self) -> float:
        """Refreshes per second."""
        return self.demand.stored / (self.demand.refresh_days * DAY_S)

    @property
    def fetches_s(self) -> float:
        """Page fetches per second, with refreshes."""
        return self.pages_s + self.refreshes_s

    @property
    def analyzed_s(self) -> float:
        """
        Bodies that the canonicalize stage parses per second: one per fetch without a 304
        response.
        """
        return self.pages_s + self.refreshes_s * (1 - self.demand.not_modified)

    @property
    def changed_s(self) -> float:
        """New bodies per second. The bodies are written to S3, and their links to the journal."""
        demand = self.demand
        return self.pages_s * demand.changed + self.refreshes_s * demand.refresh_changed

    @property
    def written_pages_s(self) -> float:
        """
        Page writes per second, as an equivalent number of new pages. An unchanged page counts as a
        fraction of one.
        """
        unchanged_s = self.fetches_s - self.changed_s
        return self.changed_s + unchanged_s * self.cost("store_unchanged")

    @property
    def robots_s(self) -> float:
        """robots.txt fetches per second. Each host with requests causes one per day."""
        return min(self.demand.all_hosts, self.fetches_s * DAY_S) / DAY_S

    @property
    def compaction_cores(self) -> float:
        """Cores that compact links."""
        share = self.demand.links / MEASURED_LINKS
        return self.changed_s * share * self.cost("compaction") / 1000

    def cores(self) -> dict[str, float]:
        """Busy cores by role. Parsing and fetching grow with page size."""
        demand, cost = self.demand, self.cost
        size = demand.page_bytes / MEASURED_BYTES
        store_ms = cost("store") + cost("postgres_s3" if demand.store == "postgres" else "hbase_s3")
        cores = {
            "fetch": self.fetch_cores(self.connections()),
            "canonicalize": self.analyzed_s * cost("canonicalize") * size / 1000,
            "store": self.written_pages_s * store_ms / 1000,
            "upkeep": self.compaction_cores,
            "robots": self.robots_s * self._robots_ms() / 1000,
        }
        if demand.sitemap_urls:
            cores["sitemaps"] = demand.sitemap_urls / DAY_S * cost("sitemap_url") / 1000
        return cores

    def _robots_ms(self) -> float:
        # The day's first request to the host always opens a connection.
        https_ms = self.demand.https_share * self.cost("tls_full")
        return self.cost("robots") + self.cost("dns") + https_ms

    def fetch_cores(self, connections: ConnectionShares) -> float:
        """Busy cores that send requests and read their responses."""
        cost, size = self.cost, self.demand.page_bytes / MEASURED_BYTES
        bodies_ms = cost("fetch") * (0.5 * self.fetches_s + 0.5 * self.analyzed_s * size)
        return (bodies_ms + self.fetches_s * self.connection_ms(connections)) / 1000

    def connection_ms(self, connections: ConnectionShares) -> float:
        """Mean CPU ms per fetch for name look-ups, connections and handshakes."""
        cost, https = self.cost, self.demand.https_share
        handshake_ms = connections.full * cost("tls_full") + (1 - connections.full) * cost(
            "tls_resumed"
        )
        opened_ms = https * handshake_ms + (1 - https) * cost("connection")
        return connections.opened * opened_ms + connections.looked_up * cost("dns")

    @property
    def fetch_processes(self) -> int:
        """Number of fetch processes that the concurrent requests and their CPU time require."""
        return self._processes(self.connections())

    @property
    def concurrent_requests(self) -> float:
        """Number of concurrent requests."""
        return self.fetches_s * self.demand.latency_ms / 1000

    def _processes(self, connections: ConnectionShares) -> int:
        by_latency = self.concurrent_requests / (
            FetchSettings().concurrency * self.demand.utilization
        )
        by_cpu = self.fetch_cores(connections) / self.demand.utilization  # a process uses one core
        return max(1, math.ceil(by_latency), math.ceil(by_cpu))

    def connections(self) -> ConnectionShares:
        """
        Connections per fetch. With fewer processes, it is more likely that a connection to the
        host is still open.
        """
        # More processes open more connections, which need more processes; this converges quickly.
        shares = ConnectionShares(1.0, 1.0, 1.0)
        for _ in range(4):
            shares = self._shares_with(self._processes(shares))
        return shares

    def _shares_with(self, processes: int) -> ConnectionShares:
        process_fetches_s = self.fetches_s / processes
        idle_s = min(IDLE_CONNECTION_S, MAX_IDLE_CONNECTIONS / process_fetches_s)
        session_s = min(SESSION_S, MAX_SESSIONS / process_fetches_s)
        dns_s = min(dns.TTL_S, dns.MAX_ENTRIES / process_fetches_s)
        opened = self._first_visit_share(idle_s, processes)
        if self.demand.pages_per_connection is not None:
            opened = 1 / max(1.0, self.demand.pages_per_connection)
        full = min(1.0, self._first_visit_share(max(session_s, idle_s), processes) / opened)
        return ConnectionShares(
            opened, full, min(opened, self._first_visit_share(dns_s, processes))
        )

    def _first_visit_share(self, seconds: float, processes: int) -> float:
        """Fraction of a process's visits to a host that are its first visit in `seconds`."""
        visits_s = self.fetches_s / self.demand.all_hosts / processes
        return math.exp(-visits_s * seconds)
