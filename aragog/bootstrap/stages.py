"""Connect the pipeline stages of one process."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor

import redis

from aragog.bootstrap.redis_services import (
    limiter,
    overrides_of,
    redis_nodes,
    robots_cache,
    spool,
    waiting_jobs,
)
from aragog.bootstrap.store_claims import store_conflict
from aragog.bootstrap.stores import url_store
from aragog.clock import Clock, SystemClock
from aragog.errors import StoreUnavailable
from aragog.fetcher.fetcher import Fetcher
from aragog.fetcher.ssrf.filter import SsrfFilter
from aragog.pages import extractors, sitemaps
from aragog.pipeline.counters import Counters
from aragog.pipeline.crawl_log.files import log_files
from aragog.pipeline.crawl_log.stream import CrawlLogStream
from aragog.pipeline.crawl_log.writer import CrawlLogWriter
from aragog.pipeline.fetching.requester import Requester
from aragog.pipeline.fetching.selection import JobSelection
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.outcome_log import OutcomeLog
from aragog.pipeline.pages.run_marks import RunMarks
from aragog.pipeline.permission.access import Access
from aragog.pipeline.permission.polite_gate import GateRules
from aragog.pipeline.permission.site_blocks import SiteBlocks
from aragog.pipeline.pipeline import Pipeline
from aragog.pipeline.rescheduling import Rescheduling
from aragog.pipeline.routing import OwnTask, Sender
from aragog.pipeline.spool.room import SpoolRoom
from aragog.pipeline.stages.canonicalize import CanonicalizeStage
from aragog.pipeline.stages.discovery import Discovery
from aragog.pipeline.stages.enqueue import Enqueuer
from aragog.pipeline.stages.fetch import FetchStage
from aragog.pipeline.stages.maintenance import MaintenanceStage
from aragog.pipeline.stages.reextract import ReextractStage
from aragog.pipeline.stages.refresh import RefreshStage
from aragog.pipeline.stages.robots import RobotsStage
from aragog.pipeline.stages.store import StoreStage
from aragog.pipeline.stages.webhooks import WebhookStage
from aragog.settings import FetchSettings, Settings

# RFC 9309: at least five redirects (2.3.1.2), and the first 500 KiB count (2.5).
ROBOTS_REDIRECTS = 5
ROBOTS_BYTES = 512_000


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
    extractors.load(settings.pipeline.extractors)  # a name that is wrong fails no page
    clock = clock or SystemClock()
    nodes, prefix = redis_nodes(settings), settings.redis.prefix
    client = nodes.first
    in_flight, counters = InFlightSet(nodes, prefix=prefix), Counters(client, prefix=prefix)
    blocks, bodies = SiteBlocks(client, prefix=prefix), spool(settings, nodes)
    marks = RunMarks(client, prefix=prefix, ttl_s=settings.pipeline.spool_ttl_s)
    enqueuer = Enqueuer(
        in_flight, sender, counters, batch_size=settings.pipeline.batch_size,
        qps=settings.politeness.qps, blocks=blocks,
    )  # fmt: skip
    overrides, ssrf_filter = overrides_of(settings), SsrfFilter(settings.fetch)
    limits, rules = limiter(settings, overrides, clock), robots_cache(settings, clock)
    store, waiting = url_store(settings, clock), waiting_jobs(settings)
    log_stream, log_writer = crawl_log(settings, client)
    rescheduling = Rescheduling(settings.pipeline, clock, counters, collects=waiting is not None)
    discovery, ready = Discovery(enqueuer, store, settings), page_ready_task(settings)
    access = Access(GateRules(limits, rules, overrides, store.takedowns, settings), ssrf_filter)
    pool, requester, for_rules = _requesters(settings, access, clock)
    # On pinlater, a closed spool already stops workers from claiming this message.
    room = SpoolRoom(bodies, clock, gated=waiting is not None)
    selection, outcomes = (
        JobSelection(store, in_flight, counters),
        OutcomeLog(client, prefix=prefix),
    )
    return Pipeline(
        sender=sender,
        enqueuer=enqueuer,
        fetch=FetchStage(selection, requester, room, rescheduling, counters, outcomes),
        robots=RobotsStage(
            rules, limits, for_rules, pool, counters, clock, settings, access.rules.refusals
        ),
        canonicalize=CanonicalizeStage(
            bodies, store, in_flight, marks, discovery, rescheduling, settings
        ),
        store=StoreStage(bodies, store, in_flight, counters, rescheduling, ready, log_stream),
        refresh=RefreshStage(store.schedule, limits, rules, enqueuer, counters, clock, settings),
        webhooks=WebhookStage(store, sender, ssrf_filter, clock, settings),
        reextract=ReextractStage(store, marks, settings.pipeline),
        maintenance=MaintenanceStage(
            store, in_flight, blocks, bodies, waiting, settings, crawl_log=log_writer
        ),
        on_close=(
            lambda: pool.shutdown(wait=False, cancel_futures=True),
            limits.close,
            store.close,
        ),
    )


def _requesters(
    settings: Settings, access: Access, clock: Clock
) -> tuple[ThreadPoolExecutor, Requester, Fetcher]:
    """The threads that fetch, what fetches pages and sitemaps, and what fetches robots.txt."""
    pool = ThreadPoolExecutor(settings.fetch.concurrency, thread_name_prefix="fetch")
    pages, sitemaps_, rules = (
        Fetcher(fetch, access.ssrf_filter, clock=clock)
        for fetch in (settings.fetch, for_sitemaps(settings.fetch), for_robots(settings.fetch))
    )
    return pool, Requester(pages, sitemaps_, pool, access, clock), rules


def crawl_log(
    settings: Settings, client: redis.Redis
) -> tuple[CrawlLogStream | None, CrawlLogWriter | None]:
    """The rows and the files of the crawl log; None where it is off."""
    if settings.crawl_log.engine == "off":
        return None, None
    stream = CrawlLogStream(client, prefix=settings.redis.prefix)
    files = log_files(settings.crawl_log, settings.content, settings.data_dir)
    return stream, CrawlLogWriter(stream, files, settings.crawl_log.span_s)


def page_ready_task(settings: Settings) -> OwnTask | None:
    """The task of a team's own that gets stored pages."""
    pipeline = settings.pipeline
    if not pipeline.page_ready_task:
        return None
    return OwnTask(pipeline.page_ready_task, pipeline.page_ready_queue)


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
