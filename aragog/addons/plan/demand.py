"""The arguments of `aragog plan`, and the lines of its answer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

WEEK_DAYS = 7.0
DAY_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Demand:
    """The crawl whose needs are computed."""

    urls: float
    """First fetches of pages in `days`."""
    domains: float
    """Registered domains that they are on."""
    days: float = WEEK_DAYS
    hosts: float | None = None
    """Hosts that they are on, each with a robots.txt; None: one a domain."""
    largest_domain: float | None = None
    """URLs of the largest domain; None: its share by Zipf's law."""
    page_bytes: float = 62_000
    links: float = 185
    """Links of a page."""
    waiting: float | None = None
    """URLs that wait at one time; None: those of one day."""
    changed: float = 1.0
    """Share of the first fetches whose body is new: only these are written to S3."""
    qps: float = 10.0
    """Requests per second to one domain, at most."""
    https_share: float = 0.95
    """Share of the fetches over HTTPS."""
    latency_ms: float = 500
    """Mean time of a fetch, from DNS to the last byte."""
    pages_per_connection: float | None = None
    """Fetches for each connection that is opened; None: as if the visits of a host were spread
    evenly, which is the worst case."""
    sitemap_urls: float = 0
    """Entries of sitemaps that are read in a day."""
    stored: float = 0
    """Pages that are kept fresh in the meantime, besides `urls`."""
    refresh_days: float = 30
    """Mean time between two fetches of such a page."""
    not_modified: float = 0.3
    """Share of the refreshes that servers answer with 304."""
    refresh_changed: float = 0.3
    """Share of the refreshes that find a new body."""
    reads_per_second: float = 0
    """Records read through the API per second."""
    hit_ratio: float = 0.9
    """Share of them whose rows are in the memory of the store's servers."""
    redis_memory: float = 16
    """GB of memory of a Redis server (`maxmemory`)."""
    cores: int = 16
    """Cores of a machine."""
    busy: float = 0.6
    """Share of the cores, and of a Redis server's one core, that is planned for."""
    store: Literal["hbase", "postgres"] = "hbase"
    """Where the tables are."""
    jobs: Literal["redis", "postgres"] = "redis"
    """Where the broker keeps its jobs."""
    content: Literal["packs", "objects"] = "packs"
    """How content is stored (`content.layout`)."""
    content_reads: float = 0.1
    """Reads of content in `days`, as a share of `urls`."""

    @property
    def all_hosts(self) -> float:
        """Hosts, at least one a domain."""
        return max(self.hosts or 0, self.domains)

    @property
    def waiting_urls(self) -> float:
        """URLs that wait at one time."""
        return self.urls / self.days if self.waiting is None else self.waiting

    @property
    def largest_domain_urls(self) -> float:
        """URLs of the largest domain; by Zipf's law it has 1 / H(n) of those of n domains."""
        if self.largest_domain is not None:
            return self.largest_domain
        harmonic = math.log(self.domains) + 0.5772 + 1 / (2 * self.domains)
        return self.urls / max(1.0, harmonic)


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
    """The change that is needed, or the load up to which the present setup suffices."""
