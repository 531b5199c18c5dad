"""Connect the pipeline stages of one process."""

from __future__ import annotations

import dataclasses
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

import redis

from aragog.bootstrap.redis_services import (
    fetches_open,
    limiter,
    lines_of,
    overrides_of,
    redis_nodes,
    robots_cache,
    server_ms,
    spool,
    waiting_jobs,
)
from aragog.bootstrap.rendering import RendererOnDemand, for_resources
from aragog.bootstrap.store_claims import store_conflict
from aragog.bootstrap.stores import url_store
from aragog.clock import Clock, SystemClock
from aragog.errors import StoreUnavailable
from aragog.fetcher.fetcher import Fetcher
from aragog.fetcher.ssrf import SsrfFilter
from aragog.pages import extractors, sitemaps
from aragog.pipeline.access import Access
from aragog.pipeline.counters import Counters
from aragog.pipeline.crawl_log import CrawlLogStream, CrawlLogWriter, log_files
from aragog.pipeline.followed_urls import FollowedUrls
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.messages import RobotsBatch
from aragog.pipeline.outcome_log import OutcomeLog
from aragog.pipeline.page_analysis import named_agent
from aragog.pipeline.page_limits import RunMarks
from aragog.pipeline.page_resources import PageResources
from aragog.pipeline.pipeline import Pipeline
from aragog.pipeline.polite_gate import GateRules
from aragog.pipeline.rendering_rule import RenderingRule
from aragog.pipeline.requester import Requester
from aragog.pipeline.rescheduling import Rescheduling
from aragog.pipeline.routing import OwnTask, Sender
from aragog.pipeline.selection import JobSelection
from aragog.pipeline.spool import Spool
from aragog.pipeline.spool_reclaim import WaitingJobs
from aragog.pipeline.spool_room import SpoolRoom
from aragog.pipeline.stages.canonicalize import CanonicalizeStage
from aragog.pipeline.stages.discovery import Discovery
from aragog.pipeline.stages.enqueue import Enqueuer
from aragog.pipeline.stages.fetch import FetchStage
from aragog.pipeline.stages.maintenance import MaintenanceStage
from aragog.pipeline.stages.reextract import ReextractStage
from aragog.pipeline.stages.refresh import RefreshStage
from aragog.pipeline.stages.release import ReleaseStage
from aragog.pipeline.stages.render import PageRenderer, RenderStage
from aragog.pipeline.stages.robots import RobotsStage
from aragog.pipeline.stages.store import StoreStage
from aragog.pipeline.stages.webhooks import WebhookStage
from aragog.pipeline.taken_down_sites import SiteBlocks
from aragog.pipeline.waiting_line import WaitingLine
from aragog.politeness.limiter import Limiter
from aragog.politeness.overrides import Overrides
from aragog.politeness.shared_clock import ServerTime
from aragog.settings import FetchSettings, Settings
from aragog.urlstore.store import UrlStore

# RFC 9309: at least five redirects (2.3.1.2), and the first 500 KiB count (2.5).
ROBOTS_REDIRECTS = 5
ROBOTS_BYTES = 512_000
# A longer one is cut off after `ROBOTS_BYTES`; what announces more than this is refused as a whole.
ROBOTS_WIRE_BYTES = 1 << 30


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
    extractors.load(settings.pipeline.extractors)  # a wrong name must not fail a page
    return _pipeline(_shared_parts(settings, sender, clock))


@dataclass(frozen=True, slots=True, kw_only=True)
class _StageParts:
    """The parts that several stages share."""

    settings: Settings
    clock: Clock
    client: redis.Redis
    sender: Sender
    store: UrlStore
    in_flight: InFlightSet
    spool: Spool
    counters: Counters
    marks: RunMarks
    blocks: SiteBlocks
    enqueuer: Enqueuer
    waiting: WaitingJobs | None
    rescheduling: Rescheduling
    access: Access


def _shared_parts(settings: Settings, sender: Sender, given: Clock | None) -> _StageParts:
    nodes, prefix = redis_nodes(settings), settings.redis.prefix
    client, clock = nodes.first, given or SystemClock()
    # Writes of all workers carry the time of one clock: a value never replaces one of a later time.
    store_clock = given or ServerTime(clock, partial(server_ms, client))
    in_flight, counters = InFlightSet(nodes, prefix=prefix), Counters(client, prefix=prefix)
    store, waiting = url_store(settings, store_clock), waiting_jobs(settings)
    overrides, blocks = overrides_of(settings), SiteBlocks(client, prefix=prefix)
    limits, rules = limiter(settings, overrides, clock), robots_cache(settings, clock)
    gate_rules = GateRules(
        limiter=limits,
        robots=rules,
        overrides=overrides,
        takedowns=store.takedowns,
        settings=settings,
    )
    return _StageParts(
        settings=settings,
        clock=clock,
        client=client,
        sender=sender,
        store=store,
        in_flight=in_flight,
        spool=spool(settings, nodes),
        counters=counters,
        marks=RunMarks(client, prefix=prefix, ttl_s=settings.pipeline.spool_ttl_s),
        blocks=blocks,
        enqueuer=Enqueuer(
            in_flight=in_flight,
            sender=sender,
            counts=counters,
            batch_size=settings.pipeline.batch_size,
            qps=settings.politeness.qps,
            blocks=blocks,
            followed=FollowedUrls(client, prefix=prefix),
        ),
        waiting=waiting,
        rescheduling=Rescheduling(
            settings=settings.pipeline, clock=clock, counters=counters, collects=waiting is not None
        ),
        access=Access(
            rules=gate_rules,
            ssrf_filter=SsrfFilter(settings.fetch),
            line=WaitingLine(lines_of(settings), settings.politeness.wait_inline_ms),
        ),
    )


def _pipeline(parts: _StageParts) -> Pipeline:
    settings, store, rules = parts.settings, parts.store, parts.access.rules
    pool, requester, for_rules = _requesters(settings, parts.access, parts.clock)
    log_stream, log_writer = crawl_log(settings, parts.client)
    renderer = RendererOnDemand(settings)
    robots = RobotsStage(
        robots=rules.robots,
        limiter=rules.limiter,
        fetcher=for_rules,
        pool=pool,
        counters=parts.counters,
        clock=parts.clock,
        settings=settings,
        refusals=rules.refusals,
    )
    return Pipeline(
        sender=parts.sender,
        enqueuer=parts.enqueuer,
        fetch=_fetch_stage(parts, requester),
        release=_release_stage(settings, rules.limiter, rules.overrides, parts.sender),
        robots=robots,
        render=_render_stage(parts, robots, renderer),
        canonicalize=CanonicalizeStage(
            spool=parts.spool,
            store=store,
            in_flight=parts.in_flight,
            marks=parts.marks,
            discovery=Discovery(enqueuer=parts.enqueuer, store=store, settings=settings),
            rescheduling=parts.rescheduling,
            settings=settings,
        ),
        store=StoreStage(
            spool=parts.spool,
            store=store,
            in_flight=parts.in_flight,
            counters=parts.counters,
            rescheduling=parts.rescheduling,
            page_ready_task=page_ready_task(settings),
            crawl_log=log_stream,
        ),
        refresh=RefreshStage(
            schedule=store.schedule,
            limiter=rules.limiter,
            robots=rules.robots,
            enqueuer=parts.enqueuer,
            counters=parts.counters,
            clock=parts.clock,
            settings=settings,
        ),
        webhooks=WebhookStage(
            store=store,
            sender=parts.sender,
            ssrf_filter=parts.access.ssrf_filter,
            clock=parts.clock,
            settings=settings,
        ),
        reextract=ReextractStage(
            store=store,
            marks=parts.marks,
            limits=settings.pipeline,
            agent=named_agent(settings.fetch),
        ),
        maintenance=MaintenanceStage(
            store=store,
            in_flight=parts.in_flight,
            blocks=parts.blocks,
            spool=parts.spool,
            waiting=parts.waiting,
            settings=settings,
            crawl_log=log_writer,
        ),
        on_close=(
            renderer.close,
            lambda: pool.shutdown(wait=False, cancel_futures=True),
            rules.limiter.close,
            store.close,
        ),
    )


def _fetch_stage(parts: _StageParts, requester: Requester) -> FetchStage:
    selection = JobSelection(store=parts.store, in_flight=parts.in_flight, counters=parts.counters)
    # On pinlater, a closed spool already stops workers from claiming this message.
    room = SpoolRoom(parts.spool, parts.clock, gated=parts.waiting is not None)
    outcomes = OutcomeLog(parts.client, prefix=parts.settings.redis.prefix)
    return FetchStage(
        selection=selection,
        requester=requester,
        room=room,
        rescheduling=parts.rescheduling,
        counters=parts.counters,
        outcomes=outcomes,
        rendering=RenderingRule(parts.settings.rendering),
    )


def connect_release(settings: Settings, sender: Sender) -> ReleaseStage:
    """Connect what releases URLs from the lines, without the other stages. See `connect`."""
    settings = settings.resolved()
    overrides = overrides_of(settings)
    return _release_stage(settings, limiter(settings, overrides), overrides, sender)


def _release_stage(
    settings: Settings, limits: Limiter, overrides: Overrides, sender: Sender
) -> ReleaseStage:
    lines, is_open = lines_of(settings), fetches_open(settings)
    return ReleaseStage(
        lines=lines,
        limiter=limits,
        overrides=overrides,
        sender=sender,
        settings=settings,
        is_open=is_open,
    )


def _render_stage(parts: _StageParts, robots: RobotsStage, renderer: PageRenderer) -> RenderStage:
    fetcher = Fetcher(for_resources(parts.settings), parts.access.ssrf_filter, clock=parts.clock)

    def learn_rules(of: str) -> None:
        parts.sender.send_all(robots.run(RobotsBatch((of,))))

    resources = PageResources(
        access=parts.access, fetcher=fetcher, learn_rules=learn_rules, clock=parts.clock
    )
    return RenderStage(
        spool=parts.spool,
        renderer=renderer,
        fetch_resource=resources.fetch,
        takedowns=parts.store.takedowns,
        marks=parts.marks,
        rescheduling=parts.rescheduling,
        counters=parts.counters,
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
    return (
        pool,
        Requester(fetcher=pages, sitemap_fetcher=sitemaps_, pool=pool, access=access, clock=clock),
        rules,
    )


def crawl_log(
    settings: Settings, client: redis.Redis
) -> tuple[CrawlLogStream | None, CrawlLogWriter | None]:
    """The rows and the files of the crawl log; None where it is off."""
    if settings.crawl_log.engine == "off":
        return None, None
    stream = CrawlLogStream(client, prefix=settings.redis.prefix)
    files = log_files(settings.crawl_log, settings.content, settings.data_dir)
    return stream, CrawlLogWriter(stream=stream, files=files, span_s=settings.crawl_log.span_s)


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
        max_body_bytes=ROBOTS_BYTES,
        max_wire_bytes=ROBOTS_WIRE_BYTES,
    )


def for_sitemaps(fetch: FetchSettings) -> FetchSettings:
    """Settings to fetch sitemaps: any content type, up to the 50 MB that sitemaps.org allows."""
    return dataclasses.replace(
        fetch,
        content_types=("*/*",),
        max_body_bytes=sitemaps.MAX_BYTES,
        max_wire_bytes=sitemaps.MAX_BYTES,
    )
