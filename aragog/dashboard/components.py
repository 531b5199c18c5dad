"""The data sources of the dashboard, built by `aragog.bootstrap` and connected on first use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import redis

from aragog.crawl.egress.failing_routes import FailingRoutes
from aragog.crawl.egress.rules import EgressRules
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.pipeline.counters import Counters
from aragog.crawl.pipeline.crawl_log import CrawlLogStream
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.metric_totals import MetricTotals
from aragog.crawl.pipeline.outages import OutageBoard
from aragog.crawl.pipeline.outcome_log import OutcomeLog
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.traps.trap_store import TrapStore
from aragog.runtime.clock import Clock
from aragog.settings import PreferencesSettings
from aragog.urlstore.store import UrlStore
from pinlater.admin import Admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Components:
    """The components that the dashboard reads. Thread-safe."""

    user_agent: str
    """The crawler's name in robots.txt."""
    preferences: PreferencesSettings
    """The purposes of the crawl."""
    extractors: tuple[str, ...]
    """Field prefixes of the operator's own extractors."""
    clock: Clock
    counters: Counters
    in_flight: InFlightSet
    totals: MetricTotals
    outages: OutageBoard
    crawl_log: CrawlLogStream | None
    """The crawl log, or None if it is off."""
    spool: Spool
    traps: TrapStore
    ssrf_filter: SsrfFilter
    egress: EgressRules
    failing_routes: FailingRoutes
    robots: RobotsCache
    outcomes: OutcomeLog
    overrides: Callable[[], Overrides]
    """Always returns the same object. Raises `ConfigError` if the overrides file is invalid."""
    limiter: Callable[[], Limiter]
    """Always returns the same limiter, which uses the object from `overrides`. Raises the same
    errors as `overrides`."""
    store: Callable[[], UrlStore]
    """Always returns the same object. Raises `StoreUnavailable` if the store cannot be opened."""
    close: Callable[[], None]
    """Closes the store, unless the caller passed it in."""
    admin: Admin | None
    """The queues, or None if the broker is not pinlater. Other brokers do not report queues."""
    servers: Callable[[], Mapping[str, redis.Redis]]
    """
    Returns a client for each Redis server, by `host:port` or path. This includes limiter nodes that
    were added after the start.
    """
    folder: Path | None
    """The folder with the embedded store's files, or None if the store is on a server."""
