"""Build the data sources of the dashboard, the metrics and `aragog explain`."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from functools import cache
from typing import TypeVar

import redis

from aragog.bootstrap.crawl_log import crawl_log_stream
from aragog.bootstrap.redis_services import (
    connect_overrides,
    limiter,
    limiter_ring,
    quick_client,
    robots_cache,
)
from aragog.bootstrap.stores import url_store
from aragog.crawl.egress.failing_routes import FailingRoutes
from aragog.crawl.egress.rules import EgressRules
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.pipeline.metric_totals import MetricTotals
from aragog.crawl.pipeline.outages import OutageBoard
from aragog.crawl.pipeline.outcome_log import OutcomeLog
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.dashboard.components import Components
from aragog.errors import LimiterUnavailable
from aragog.runtime.clock import Clock, SystemClock
from aragog.settings import Settings
from aragog.settings.extractor_names import field_prefix
from aragog.urlstore.store import UrlStore
from pinlater.admin import Admin
from pinlater.brokers import is_postgres, kind_of, redis_urls
from pinlater.redis.address import server_name

T = TypeVar("T")


def components(
    settings: Settings, *, clock: Clock | None = None, store: UrlStore | None = None
) -> Components:
    """
    Return the components that the dashboard and `explain` read.

    They connect on first use. Call `close` when done.

    Args:
        settings: the crawler's settings.
        clock: measures ages; None means the system clock.
        store: an open store to read. If None, one is opened on demand.
    """
    settings = settings.resolved()
    clock = clock or SystemClock()
    shared = SharedState.from_settings(settings, quick_client)
    client = shared.client
    broker = settings.broker
    overrides = _cache_success(lambda: connect_overrides(settings))
    is_pinlater = kind_of(broker.url) == "pinlater"
    opened = ExitStack()
    return Components(
        user_agent=settings.fetch.user_agent,
        preferences=settings.preferences,
        extractors=tuple(map(field_prefix, settings.pipeline.extractors)),
        clock=clock,
        counters=shared.counters,
        in_flight=shared.in_flight,
        totals=MetricTotals(client, prefix=settings.redis.prefix),
        outages=OutageBoard(client, prefix=settings.redis.prefix),
        crawl_log=crawl_log_stream(client, settings),
        spool=shared.spool,
        traps=shared.traps,
        ssrf_filter=SsrfFilter(settings.fetch),
        egress=EgressRules(settings.egress, has_proxy=bool(settings.fetch.proxy)),
        failing_routes=FailingRoutes(client, clock, prefix=settings.redis.prefix),
        robots=robots_cache(settings, clock),
        outcomes=OutcomeLog(client, prefix=settings.redis.prefix),
        overrides=overrides,
        limiter=_cache_success(lambda: limiter(settings, overrides())),
        store=_cache_success(
            lambda: store or opened.enter_context(closing(url_store(settings, clock)))
        ),
        close=opened.close,
        admin=Admin.connect(broker.url, broker.shards) if is_pinlater else None,
        servers=RedisServers(settings, redis_urls(broker.url) if is_pinlater else ()).clients,
        folder=settings.data_dir.absolute() if settings.store.engine == "sqlite" else None,
    )


def _cache_success(create: Callable[[], T]) -> Callable[[], T]:
    lock, cached = threading.Lock(), cache(create)

    def get() -> T:
        with lock:
            return cached()

    return get


class RedisServers:
    """
    The Redis servers in the settings, and nodes that joined the rate limiter's ring later.

    Args:
        settings: settings with their effective values (`Settings.resolved`).
        broker: URLs of the broker's servers.
    """

    def __init__(self, settings: Settings, broker: tuple[str, ...]) -> None:
        self._configured_urls = (
            settings.redis.url,
            *settings.redis.nodes,
            *settings.politeness.limiter_urls,
            *broker,
            *(url for url in settings.broker.shards if not is_postgres(url)),
        )
        self._ring = limiter_ring(settings)
        self._clients: dict[str, redis.Redis] = {}

    def clients(self) -> Mapping[str, redis.Redis]:
        """
        Return a client for each server, keyed by the server's name without the password.

        Takes one round trip. If `redis.url` does not respond, nodes that joined later are missing.
        """
        urls = {server_name(url): url for url in (*self._joined_urls(), *self._configured_urls)}
        for name in urls.keys() - self._clients.keys():
            self._clients[name] = quick_client(urls[name])
        return {name: self._clients[name] for name in urls}

    def _joined_urls(self) -> tuple[str, ...]:
        try:
            return self._ring.urls()
        except LimiterUnavailable:
            return ()
