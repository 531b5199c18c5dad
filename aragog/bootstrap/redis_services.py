"""Connect the services that keep their state in Redis."""

from __future__ import annotations

from collections.abc import Callable

import redis
from celery import Celery

from aragog.crawl.pipeline.memory_limit import Admission
from aragog.crawl.pipeline.messages import URGENT
from aragog.crawl.pipeline.metric_totals import MetricTotals
from aragog.crawl.pipeline.outages import OutageBoard
from aragog.crawl.pipeline.routing import CelerySender, Queue
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.spool_reclaim import WaitingJobs
from aragog.crawl.pipeline.spool_room import claim_limit
from aragog.crawl.pipeline.takedown import Purge, PurgeCounts, SiteBlocks
from aragog.crawl.politeness.blocked_hosts import BlockedHosts
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.limiter_ring import LimiterRing
from aragog.crawl.politeness.lines import Lines
from aragog.crawl.politeness.live_overrides import LiveOverrides
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.shared_redis.file_rewrite import FileRewrite
from aragog.runtime.clock import Clock, SystemClock
from aragog.runtime.secret import reveal
from aragog.settings import Settings, settings_file
from aragog.settings.in_use import process_settings
from aragog.urlstore.store import UrlStore
from pinlater import dead_letters, gates
from pinlater.admin import Admin
from pinlater.brokers import celery_settings, kind_of
from pinlater.gates import Allowance
from pinlater.redis.connect import connect
from pinlater.redis.errors import redis_errors


def redis_client(settings: Settings) -> redis.Redis:
    """Return the shared Redis client. It connects on first use and reconnects after a failure."""
    return connect(settings.resolved().redis.url, setting="redis.url")


def quick_client(url: str) -> redis.Redis:
    """
    Return a client for read-only checks. Its timeouts are short, so that callers fail instead of
    waiting.
    """
    return connect(url, timeout_s=2.0, connect_timeout_s=2.0, attempts=2)


def server_ms(client: redis.Redis) -> int:
    """
    Return the Redis server's time, in ms since the epoch.

    Raises:
        BrokerUnavailable: the server does not respond.
    """
    with redis_errors("the clock of redis.url"):
        seconds, micros = client.time()
    return int(seconds * 1000 + micros // 1000)


def connect_overrides(settings: Settings) -> Overrides:
    """
    Return the operator's settings for individual domains.

    Raises:
        ConfigError: they are invalid.
    """
    politeness, shared = settings.politeness, settings.resolved().redis
    return Overrides(
        politeness.overrides_file,
        blocked_hosts=BlockedHosts(
            politeness.blocked_hosts,
            file=settings_file(),
            read=lambda: process_settings().politeness.blocked_hosts,
        ),
        live=LiveOverrides(reveal(shared.url), shared.prefix),
    )


def limiter(settings: Settings, overrides: Overrides, clock: Clock | None = None) -> Limiter:
    """Return the rate limiter on its ring of Redis servers."""
    politeness = settings.politeness
    return Limiter(
        politeness.limiter_urls or (settings.redis.url,),
        politeness,
        overrides,
        settings.redis.prefix,
        clock=clock,
        lines=lines_of(settings),
        shared=settings.redis.url,
    )


def limiter_ring(settings: Settings, note: Callable[[str], None] = lambda _: None) -> LimiterRing:
    """Return the limiter's ring of servers, to display or change it."""
    settings = settings.resolved()
    return LimiterRing(
        settings.politeness.limiter_urls,
        settings.politeness,
        settings.redis.prefix,
        shared=settings.redis.url,
        sleep_s=SystemClock().sleep_s,
        on_step=note,
    )


def lines_of(settings: Settings) -> Lines:
    """Return the queues of URLs that wait for a slot (their turn to be fetched)."""
    return Lines(SharedState.from_settings(settings).nodes, prefix=settings.redis.prefix)


def robots_cache(settings: Settings, clock: Clock | None = None) -> RobotsCache:
    """Return the cache of robots.txt rules, shared by all workers."""
    redis_settings = settings.resolved().redis
    return RobotsCache(
        redis_settings.url,
        settings.politeness,
        redis_settings.prefix,
        clock=clock,
        agent=settings.fetch.user_agent,
        requires_tdm=settings.preferences.asks_tdm_file,
    )


def waiting_jobs(settings: Settings) -> WaitingJobs | None:
    """Return the unfinished jobs on pinlater, or None for other brokers."""
    broker = settings.broker
    if kind_of(broker.url) != "pinlater":
        return None
    return WaitingJobs(Admin.connect(broker.url, broker.shards))


def fetch_gate(settings: Settings) -> Callable[[], Allowance] | None:
    """
    Return the fetch gate, or None if the broker has no gates.

    Workers check the gate before they claim fetch jobs.
    """
    settings = settings.resolved()
    if kind_of(settings.broker.url) != "pinlater":
        return None
    shared = SharedState.from_settings(settings, quick_client)
    return claim_limit(shared.spool, Admission(shared.servers()))


def release_gate(settings: Settings) -> Callable[[], bool]:
    """
    Return a function that returns True if URLs may leave their waiting queues now.

    They must wait while the spool for fetched pages is closed. Workers that claim fetch jobs have a
    gate that already checks this.
    """
    if gates.has_gate(Queue.FETCH):
        return lambda: gates.allowance(Queue.FETCH).lowest > URGENT
    gate = fetch_gate(settings) or claim_limit(
        SharedState.from_settings(settings, quick_client).spool
    )
    return lambda: gate().lowest > URGENT


def metric_totals(settings: Settings) -> MetricTotals:
    """Return all processes' measurements, read with a short timeout."""
    settings = settings.resolved()
    return MetricTotals(quick_client(settings.redis.url), prefix=settings.redis.prefix)


def outage_board(settings: Settings) -> OutageBoard:
    """Return the outages that all processes recorded, read with a short timeout."""
    settings = settings.resolved()
    return OutageBoard(quick_client(settings.redis.url), prefix=settings.redis.prefix)


def takedown_purge(settings: Settings, store: UrlStore) -> Purge:
    """Return the service that removes taken-down URLs from Redis and the broker."""
    settings = settings.resolved()
    broker, shared = settings.broker, SharedState.from_settings(settings)
    app = Celery("aragog-takedown", set_as_current=False)
    app.conf.update(
        celery_settings(broker.url, broker.shards, broker.claim_timeout_s, control=broker.control)
    )
    is_pinlater = kind_of(broker.url) == "pinlater"
    return Purge(
        store.takedowns.refused,
        robots_cache(settings),
        shared.spool,
        shared.in_flight,
        Admin.connect(broker.url, broker.shards) if is_pinlater else None,
        CelerySender(app),
        lambda drop: 0 if is_pinlater else dead_letters.delete(app, drop),
    )


class TakedownSharing:
    """
    Notifies the other aragog processes that a store's takedowns have changed.

    Args:
        settings: the settings, including the addresses of Redis and the broker.
        store: the store with the takedowns.
    """

    def __init__(self, settings: Settings, store: UrlStore) -> None:
        self._settings = settings
        self._store = store

    def __call__(self, *, purge: bool) -> PurgeCounts | None:
        """
        Copy the takedowns to Redis for producers.

        With `purge`, also delete taken-down URLs from Redis and the broker, and return what was
        deleted.

        Raises:
            BrokerUnavailable, RobotsUnavailable, SpoolUnavailable: call this again. In the
                meantime, a periodic task copies the takedowns, and workers refuse messages for
                taken-down URLs.
        """
        resolved = self._settings.resolved()
        with redis_client(resolved) as client:
            blocks = SiteBlocks(client, prefix=resolved.redis.prefix)
            blocks.replace(self._store.takedowns.listed())
            purged = takedown_purge(self._settings, self._store).run() if purge else None
            if purge and not self._settings.redis.url:
                FileRewrite(client, prefix=resolved.redis.prefix).request()
        return purged
