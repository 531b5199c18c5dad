"""The arguments of `aragog plan`, and the lines of its output."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

WEEK_DAYS = 7.0
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Demand:
    """The crawl to plan for: its size, its pages, and the machines it may use."""

    urls: float
    """Number of pages fetched for the first time within `days`."""
    domains: float
    """Number of registered domains among these pages."""
    days: float = WEEK_DAYS
    hosts: float | None = None
    """Number of hosts, each with a robots.txt. If None, one per domain."""
    largest_domain: float | None = None
    """Number of URLs on the largest domain. If None, derived from Zipf's law."""
    page_bytes: float = 62_000
    links: float = 185
    """Links per page."""
    waiting: float | None = None
    """Number of URLs queued at once. If None, one day's URLs."""
    changed: float = 1.0
    """Fraction of first fetches with a new body; only these are written to S3."""
    qps: float = 10.0
    """Maximum requests per second to one domain."""
    https_share: float = 0.95
    """Fraction of fetches over HTTPS."""
    latency_ms: float = 500
    """Mean duration of a fetch, from DNS to the last byte."""
    pages_per_connection: float | None = None
    """
    Fetches per opened connection. If None, visits to a host are assumed to be spread evenly, which
    is the worst case.
    """
    sitemap_urls: float = 0
    """Sitemap entries read per day."""
    stored: float = 0
    """Pages kept fresh at the same time, in addition to `urls`."""
    refresh_days: float = 30
    """Mean time between two refreshes of a stored page."""
    not_modified: float = 0.3
    """Fraction of refreshes that servers answer with 304."""
    refresh_changed: float = 0.3
    """Fraction of refreshes that find a new body."""
    reads_per_second: float = 0
    """Records read through the API per second."""
    hit_ratio: float = 0.9
    """Fraction of reads whose rows the store's servers have cached in memory."""
    redis_memory: float = 16
    """Memory of a Redis server (`maxmemory`), in GB."""
    cores: int = 16
    """Cores per machine."""
    utilization: float = 0.6
    """Target CPU utilization, for the machines and for the single core of each Redis server."""
    store: Literal["hbase", "postgres"] = "hbase"
    """The engine for the tables."""
    jobs: Literal["redis", "postgres"] = "redis"
    """The engine for the broker's jobs."""
    content: Literal["packs", "objects"] = "packs"
    """How content is stored (`content.layout`)."""
    content_reads: float = 0.1
    """Number of content reads within `days`, as a fraction of `urls`."""

    @property
    def all_hosts(self) -> float:
        """Number of hosts, at least one per domain."""
        return max(self.hosts or 0, self.domains)

    @property
    def waiting_urls(self) -> float:
        """Number of URLs queued at once."""
        return self.urls / self.days if self.waiting is None else self.waiting

    @property
    def largest_domain_urls(self) -> float:
        """URLs on the largest domain. By Zipf's law, its share of n domains' URLs is 1 / H(n)."""
        if self.largest_domain is not None:
            return self.largest_domain
        harmonic = math.log(self.domains) + 0.5772 + 1 / (2 * self.domains)
        return self.urls / max(1.0, harmonic)


class Need(NamedTuple):
    """One line of a plan."""

    name: str
    amount: float
    unit: str
    reason: str
    """Why the crawl needs this amount. The key in JSON is `because`."""


class Limit(NamedTuple):
    """A component whose capacity does not grow with the number of workers."""

    name: str
    load: float
    """Fraction of one such component's capacity; above 1, it is overloaded."""
    remedy: str
    """The change that is needed, or how much load the current setup can take."""
