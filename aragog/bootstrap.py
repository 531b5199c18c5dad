"""Build connected services from settings. Only this module knows every adapter."""

from __future__ import annotations

import dataclasses
import socket
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from typing import TypeVar

import redis
from celery import Celery

from aragog.clock import Clock, SystemClock
from aragog.dashboard.components import Components
from aragog.errors import StoreUnavailable
from aragog.fetcher.fetcher import Fetcher
from aragog.fetcher.ssrf.filter import SsrfFilter
from aragog.pages import sitemaps
from aragog.pinlater.address import redis_urls
from aragog.pinlater.admin import Admin
from aragog.pinlater.brokers import celery_settings, kind_of
from aragog.pipeline.completions import Completions
from aragog.pipeline.counters import Counters
from aragog.pipeline.faults.outages import OutageBoard
from aragog.pipeline.faults.store_claim import StoreClaim, StoreIdentity, conflict
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.pages.run_marks import RunMarks
from aragog.pipeline.permission.access import Access
from aragog.pipeline.permission.admission import Admission
from aragog.pipeline.permission.polite_gate import GateRules
from aragog.pipeline.permission.site_blocks import SiteBlocks
from aragog.pipeline.permission.site_rules import take_up_site_rules
from aragog.pipeline.pipeline import Pipeline
from aragog.pipeline.requester import Requester
from aragog.pipeline.rescheduling import Rescheduling
from aragog.pipeline.routing import CelerySender, Sender
from aragog.pipeline.selection import JobSelection
from aragog.pipeline.spool.reclaim import WaitingJobs
from aragog.pipeline.spool.room import SpoolRoom, claim_limit
from aragog.pipeline.spool.spool import Spool
from aragog.pipeline.stages.canonicalize import CanonicalizeStage
from aragog.pipeline.stages.discovery import Discovery
from aragog.pipeline.stages.enqueue import Enqueuer
from aragog.pipeline.stages.fetch import FetchStage
from aragog.pipeline.stages.maintenance import Maintenance
from aragog.pipeline.stages.reextract import ReextractStage
from aragog.pipeline.stages.refresh import RefreshStage
from aragog.pipeline.stages.robots import RobotsStage
from aragog.pipeline.stages.store import StoreStage
from aragog.pipeline.stages.webhooks import WebhookStage
from aragog.pipeline.takedown import Purge
from aragog.politeness.ratelimit.limiter import Limiter
from aragog.politeness.ratelimit.overrides import Overrides
from aragog.politeness.robots.cache import RobotsCache
from aragog.redis_kit.address import server_name
from aragog.redis_kit.connect import connect as redis_connect
from aragog.serving.fetching import Enqueue, Fetching
from aragog.settings import FetchSettings, Settings
from aragog.urlstore.content import open_content
from aragog.urlstore.store import UrlStore
from aragog.zen.tables import Tables
from aragog.zen.tables.memory import MemoryTables

# RFC 9309: at least five redirects (2.3.1.2), and the first 500 KiB count (2.5).
ROBOTS_REDIRECTS = 5
ROBOTS_BYTES = 512_000

T = TypeVar("T")


def connect(settings: Settings, sender: Sender, *, clock: Clock | None = None) -> Pipeline:
    """
    Connect the stages of one process. Call it after the fork.

    Raises:
        ConfigError: a setting proved wrong when it was used, such as a bad overrides file.
        StoreUnavailable: this Redis belongs to another store.
        BrokerUnavailable: Redis does not answer.
    """
    if problem := store_conflict(settings):
        # Not a ConfigError: waiting messages must stay in the queue until an operator has looked.
        raise StoreUnavailable("store", problem)
    settings = settings.resolved()
    clock = clock or SystemClock()
    client, prefix = redis_client(settings), settings.redis.prefix
    in_flight, counters = InFlightSet(client, prefix=prefix), Counters(client, prefix=prefix)
    blocks, bodies = SiteBlocks(client, prefix=prefix), spool(settings, client)
    marks = RunMarks(client, prefix=prefix, ttl_s=settings.pipeline.spool_ttl_s)
    enqueuer = Enqueuer(
        in_flight,
        sender,
        counters,
        batch_size=settings.pipeline.batch_size,
        qps=settings.politeness.qps,
        blocks=blocks,
    )
    overrides, ssrf_filter = overrides_of(settings), SsrfFilter(settings.fetch)
    limits, rules = limiter(settings, overrides, clock), robots_cache(settings, clock)
    store, waiting = url_store(settings, clock), _waiting_jobs(settings)
    pool = ThreadPoolExecutor(settings.fetch.concurrency, thread_name_prefix="fetch")
    rescheduling = Rescheduling(settings.pipeline, clock, counters)
    access = Access(GateRules(limits, rules, overrides, store.takedowns, settings), ssrf_filter)
    fetchers = [
        Fetcher(fetch, ssrf_filter, clock=clock)
        for fetch in (settings.fetch, for_sitemaps(settings.fetch), for_robots(settings.fetch))
    ]
    return Pipeline(
        sender=sender,
        enqueuer=enqueuer,
        fetch=FetchStage(
            JobSelection(store, in_flight, counters),
            Requester(fetchers[0], fetchers[1], pool, access, clock),
            # On pinlater, a closed spool already stops workers from claiming this message.
            SpoolRoom(bodies, clock, gated=waiting is not None),
            rescheduling,
            counters,
        ),
        robots=RobotsStage(rules, limits, fetchers[2], pool, counters, clock, settings),
        canonicalize=CanonicalizeStage(
            bodies,
            store,
            in_flight,
            marks,
            Discovery(enqueuer, store, settings),
            rescheduling,
            settings,
        ),
        store=StoreStage(bodies, store, in_flight, counters, rescheduling),
        refresh=RefreshStage(store.schedule, limits, rules, enqueuer, counters, clock, settings),
        webhooks=WebhookStage(store, sender, ssrf_filter, clock, settings),
        reextract=ReextractStage(store, marks, settings.pipeline),
        maintenance=Maintenance(store, in_flight, blocks, bodies, waiting, settings),
        on_close=(
            lambda: pool.shutdown(wait=False, cancel_futures=True),
            limits.close,
            store.close,
        ),
    )


def redis_client(settings: Settings) -> redis.Redis:
    """The shared Redis client; it connects on first use and reconnects after a failure."""
    return redis_connect(settings.resolved().redis.url)


def outage_board(settings: Settings) -> OutageBoard:
    """The outages that all processes have noted; its Redis client has a short timeout."""
    settings = settings.resolved()
    return OutageBoard(_glance(settings.redis.url), prefix=settings.redis.prefix)


def overrides_of(settings: Settings) -> Overrides:
    """The operator's settings for single domains. Raises `ConfigError` if they are unusable."""
    politeness = settings.politeness
    return Overrides(politeness.overrides_file, blocked_hosts=politeness.blocked_hosts)


def _waiting_jobs(settings: Settings) -> WaitingJobs | None:
    broker = settings.broker
    if kind_of(broker.url) != "pinlater":
        return None
    return WaitingJobs(Admin.connect(broker.url, broker.shards))


def fetch_gate(settings: Settings) -> Callable[[], int] | None:
    """The check that a worker makes before it claims fetches; None if the broker has no gates."""
    settings = settings.resolved()
    if kind_of(settings.broker.url) != "pinlater":
        return None
    client = _glance(settings.redis.url)
    return claim_limit(spool(settings, client), Admission({"redis.url": client}))


def spool(settings: Settings, client: redis.Redis) -> Spool:
    """The spool on the shared Redis."""
    max_bytes = settings.pipeline.spool_max_bytes
    return Spool(client, prefix=settings.redis.prefix, max_bytes=max_bytes)


def takedown_purge(settings: Settings, store: UrlStore, client: redis.Redis) -> Purge:
    """Removes taken-down URLs from Redis and the broker; `client` is the shared Redis."""
    settings = settings.resolved()
    broker = settings.broker
    app = Celery("aragog-takedown", set_as_current=False)
    app.conf.update(celery_settings(broker.url, broker.shards, broker.claim_timeout_s))
    return Purge(
        store.takedowns.refused,
        robots_cache(settings),
        spool(settings, client),
        Admin.connect(broker.url, broker.shards) if kind_of(broker.url) == "pinlater" else None,
        CelerySender(app),
    )


def limiter(settings: Settings, overrides: Overrides, clock: Clock | None = None) -> Limiter:
    """The rate limiter over its ring of Redis servers."""
    politeness = settings.politeness
    return Limiter(
        politeness.limiter_urls or (settings.redis.url,),
        politeness,
        overrides,
        settings.redis.prefix,
        clock=clock,
    )


def robots_cache(settings: Settings, clock: Clock | None = None) -> RobotsCache:
    """The robots.txt rules of origins, shared by all workers."""
    redis_settings = settings.resolved().redis
    return RobotsCache(
        redis_settings.url,
        settings.politeness,
        redis_settings.prefix,
        clock=clock,
        agent=settings.fetch.user_agent,
    )


def for_robots(fetch: FetchSettings) -> FetchSettings:
    """Settings to fetch robots.txt: any content type, first 500 KiB, at most five redirects."""
    return dataclasses.replace(
        fetch,
        content_types=("*/*",),
        max_redirects=ROBOTS_REDIRECTS,
        max_body_bytes=ROBOTS_BYTES,  # the rest is cut off; a wire limit would refuse it whole
    )


def for_sitemaps(fetch: FetchSettings) -> FetchSettings:
    """Settings to fetch sitemaps: any content type, up to the 50 MB that sitemaps.org allows."""
    return dataclasses.replace(
        fetch,
        content_types=("*/*",),
        max_body_bytes=sitemaps.MAX_BYTES,
        max_wire_bytes=sitemaps.MAX_BYTES,
    )


def tables(settings: Settings) -> Tables:
    """The cell tables of the engine that the settings name."""
    store = settings.store
    if store.engine == "memory":
        return MemoryTables()
    if store.engine == "hbase":
        from aragog.zen.tables.hbase import HBaseTables  # noqa: PLC0415 - 80 ms, only where used

        return HBaseTables(store)
    from aragog.zen.tables.sqlite import SqliteTables  # noqa: PLC0415 - only where used

    return SqliteTables(settings.data_dir / "store", shards=store.sqlite_shards)


def url_store(settings: Settings, clock: Clock | None = None) -> UrlStore:
    """The UrlStore. Creates its tables if the storage engine is embedded."""
    take_up_site_rules(settings)
    engine = tables(settings)
    if settings.store.engine != "hbase":
        engine.create()
    content = open_content(settings.content, settings.data_dir)
    return UrlStore(engine, content, settings.store, clock or SystemClock(), settings.refresh)


def fetching(settings: Settings, store: UrlStore, enqueue: Enqueue) -> Fetching:
    """Fetches for callers who wait; `enqueue` is `Aragog.enqueue`. Close its `completions`."""
    settings = settings.resolved()
    completions = Completions(redis_client(settings), prefix=settings.redis.prefix)
    return Fetching(store, enqueue, completions, most_waiting=settings.serving.max_waiting)


def store_identity(settings: Settings, engine: Tables) -> StoreIdentity:
    """The identity of the configured store, as Redis records it."""
    gateways = ", ".join(settings.store.hbase_gateways)
    folder = f"{socket.gethostname()}:{settings.data_dir.absolute()}"
    where = gateways if settings.store.engine == "hbase" else folder
    return StoreIdentity(engine.identity(), settings.store.engine, where)


def store_conflict(settings: Settings, *, claim: bool = True) -> str | None:
    """
    Why `redis.url` cannot be used with the configured store; None if it can.

    With `claim`, a Redis that belongs to no store is assigned to this one.

    Raises:
        BrokerUnavailable, StoreUnavailable: Redis or the store does not answer.
    """
    resolved = settings.resolved()
    with closing(tables(settings)) as engine:
        mine = store_identity(settings, engine)
    if not mine.id:
        return None
    with _glance(resolved.redis.url) as client:
        noted = StoreClaim(client, prefix=resolved.redis.prefix)
        if str(settings.redis_socket) in resolved.redis.url:
            # This Redis is in the same data folder, so any earlier store in that folder is gone.
            if claim:
                noted.take(mine)
            return None
        owner = noted.claim(mine) if claim else noted.owner()
    return conflict(mine, owner, server_name(resolved.redis.url))


def components(settings: Settings, *, clock: Clock | None = None) -> Components:
    """The parts that the dashboard and `explain` read; nothing is connected yet."""
    settings = settings.resolved()
    clock = clock or SystemClock()
    client = _glance(settings.redis.url)
    broker = settings.broker
    pinlater = kind_of(broker.url) == "pinlater"
    return Components(
        user_agent=settings.fetch.user_agent,
        clock=clock,
        counters=Counters(client, prefix=settings.redis.prefix),
        in_flight=InFlightSet(client, prefix=settings.redis.prefix),
        outages=OutageBoard(client, prefix=settings.redis.prefix),
        spool=spool(settings, client),
        ssrf_filter=SsrfFilter(settings.fetch),
        robots=robots_cache(settings, clock),
        limiter=_once(lambda: limiter(settings, overrides_of(settings))),
        store=_once(lambda: url_store(settings, clock)),
        admin=Admin.connect(broker.url, broker.shards) if pinlater else None,
        servers=_servers(settings, redis_urls(broker.url) if pinlater else ()),
        folder=settings.data_dir.absolute() if settings.store.engine == "sqlite" else None,
    )


def _once(make: Callable[[], T]) -> Callable[[], T]:
    """Call `make` until it succeeds once, then return that result from then on."""
    lock, made = threading.Lock(), cache(make)

    def get() -> T:
        with lock:
            return made()

    return get


def _servers(settings: Settings, broker: tuple[str, ...]) -> dict[str, redis.Redis]:
    """A client for each Redis server in the settings, once, by its name without the password."""
    named = (
        settings.redis.url,
        *settings.politeness.limiter_urls,
        *broker,
        *settings.broker.shards,
    )
    found: dict[str, redis.Redis] = {}
    for url in named:
        name = server_name(url)
        if name not in found:
            found[name] = _glance(url)
    return found


def _glance(url: str) -> redis.Redis:
    """A client for read-only checks, with short timeouts: its users prefer a fast error."""
    return redis_connect(url, timeout_s=2.0, connect_timeout_s=2.0, attempts=2)
