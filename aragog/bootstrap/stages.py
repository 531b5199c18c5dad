"""Connect the pipeline stages of one process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import redis

from aragog.bootstrap.crawl_log import crawl_log_stream, crawl_log_writer
from aragog.bootstrap.fetch_limits import for_resources, for_robots, for_sitemaps
from aragog.bootstrap.redis_services import (
    fetches_open,
    limiter,
    lines_of,
    overrides_of,
    robots_cache,
    server_ms,
    waiting_jobs,
)
from aragog.bootstrap.rendering import RendererOnDemand
from aragog.bootstrap.store_claims import store_conflict
from aragog.bootstrap.stores import url_store
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.identity.request_signer import RequestSigner, request_signer
from aragog.crawl.pipeline.counters import Counters
from aragog.crawl.pipeline.finished_urls import FinishedUrls
from aragog.crawl.pipeline.followed_pages import FollowedPages
from aragog.crawl.pipeline.followed_urls import FollowedUrls
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.messages import RobotsBatch
from aragog.crawl.pipeline.outcome_log import OutcomeLog
from aragog.crawl.pipeline.routing import OwnTask, Sender
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.sitemap_walks import SitemapWalks
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.pipeline.spool_reclaim import WaitingJobs
from aragog.crawl.pipeline.spool_room import SpoolRoom
from aragog.crawl.pipeline.takedown import SiteBlocks
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.politeness.second_opinion import SecondOpinion
from aragog.crawl.politeness.shared_clock import ServerTime
from aragog.crawl.shared_redis.file_rewrite import FileRewrite
from aragog.crawl.stages.access import Access
from aragog.crawl.stages.access_rules import AccessRules
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.crawl_endings import CrawlLimits
from aragog.crawl.stages.crawl_upkeep import CrawlUpkeep
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.fetch import FetchStage
from aragog.crawl.stages.link_budgets import LinkBudgets
from aragog.crawl.stages.maintenance import MaintenanceStage
from aragog.crawl.stages.page_analysis import named_agent, text_fields
from aragog.crawl.stages.page_limits import RunMarks
from aragog.crawl.stages.page_resources import PageResources
from aragog.crawl.stages.pipeline import Pipeline
from aragog.crawl.stages.reextract import ReextractStage
from aragog.crawl.stages.refresh import RefreshStage
from aragog.crawl.stages.release import ReleaseStage
from aragog.crawl.stages.render import PageRenderer, RenderStage
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.crawl.stages.requester import Requester
from aragog.crawl.stages.rescheduling import Rescheduling
from aragog.crawl.stages.revalidation import JobSelection
from aragog.crawl.stages.robots import RobotsStage
from aragog.crawl.stages.store import StoreStage
from aragog.crawl.stages.waiting_line import WaitingLine
from aragog.crawl.stages.webhooks import WebhookStage
from aragog.errors import StoreUnavailable
from aragog.observability.tracing.tracer import tracer_of
from aragog.pages import extractors
from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import GreenClock, GreenPool
from aragog.runtime.open_files import sockets_within_limit
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


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
    # A wrong name or rule must not fail a page.
    extractors.load_all(settings.pipeline.extractors, settings.extract)
    text_fields(settings.pipeline)
    return _pipeline(_shared_parts(settings, sender, clock))


@dataclass(frozen=True, slots=True, kw_only=True)
class _StageParts:
    """The parts that several stages share."""

    settings: Settings
    clock: Clock
    """The clock of all workers."""
    client: redis.Redis
    sender: Sender
    store: UrlStore
    in_flight: InFlightSet
    checks: CrawlChecks
    crawl_limits: CrawlLimits
    spool: Spool
    counters: Counters
    marks: RunMarks
    blocks: SiteBlocks
    walks: SitemapWalks
    enqueuer: Enqueuer
    followed_pages: FollowedPages
    waiting: WaitingJobs | None
    rescheduling: Rescheduling
    access: Access
    signer: RequestSigner | None
    traces: UrlTraces
    link_budgets: LinkBudgets | None

    @property
    def discovery(self) -> Discovery:
        """Follows the links of pages."""
        return Discovery(
            enqueuer=self.enqueuer,
            store=self.store,
            settings=self.settings,
            walks=self.walks,
            clock=self.clock,
            followed_pages=self.followed_pages,
            checks=self.checks,
            budgets=self.link_budgets,
        )


def _shared_parts(settings: Settings, sender: Sender, given: Clock | None) -> _StageParts:
    shared, prefix = SharedState.of(settings), settings.redis.prefix
    client = shared.client
    # Fetches and writes of all workers carry the time of one clock: a value never replaces one of a
    # later time. This machine's wall clock may be set at any moment, and is not read.
    clock = given or ServerTime(GreenClock(), partial(server_ms, client))
    store = url_store(settings, clock)
    waiting, counters = waiting_jobs(settings), shared.counters
    traces = UrlTraces(tracer_of(settings))
    return _StageParts(
        settings=settings,
        clock=clock,
        client=client,
        sender=sender,
        store=store,
        in_flight=shared.in_flight,
        checks=CrawlChecks(shared.crawls, shared.in_flight),
        crawl_limits=CrawlLimits(shared.crawls, shared.crawl_counts),
        spool=shared.spool,
        counters=counters,
        marks=RunMarks(client, prefix=prefix, ttl_s=settings.pipeline.spool_ttl_s),
        blocks=shared.blocks,
        walks=shared.walks,
        enqueuer=Enqueuer.of(
            settings,
            shared,
            sender,
            followed=FollowedUrls(client, prefix=prefix),
            traces=traces,
        ),
        followed_pages=FollowedPages(shared.nodes, prefix=prefix),
        waiting=waiting,
        rescheduling=Rescheduling(
            settings=settings.pipeline, clock=clock, counters=counters, collects=waiting is not None
        ),
        access=_access(settings, store, clock),
        signer=request_signer(settings.identity, clock),
        traces=traces,
        link_budgets=LinkBudgets(shared.traps, counters)
        if settings.pipeline.recognize_traps
        else None,
    )


def _access(settings: Settings, store: UrlStore, clock: Clock) -> Access:
    """What every request of this process asks before it is sent."""
    overrides = overrides_of(settings)
    return Access(
        rules=AccessRules(
            limiter=limiter(settings, overrides, clock),
            robots=robots_cache(settings, clock),
            overrides=overrides,
            takedowns=store.takedowns,
            ssrf_filter=SsrfFilter(settings.fetch),
            settings=settings,
        ),
        line=WaitingLine(lines_of(settings), settings.politeness.wait_inline_ms),
    )


def _pipeline(parts: _StageParts) -> Pipeline:
    fetchers, renderer = _fetchers(parts), RendererOnDemand(parts.settings)
    robots, limits = _robots_stage(parts, fetchers), parts.access.rules.limiter
    return Pipeline(
        sender=parts.sender,
        enqueuer=parts.enqueuer,
        fetch=_fetch_stage(parts, fetchers),
        release=_release_stage(
            parts.settings,
            limits,
            parts.access.rules.overrides,
            parts.access.rules.robots,
            parts.sender,
            parts.clock,
        ),
        robots=robots,
        render=_render_stage(parts, robots, renderer),
        canonicalize=_canonicalize_stage(parts),
        store=_store_stage(parts),
        refresh=_refresh_stage(parts),
        webhooks=_webhook_stage(parts),
        reextract=_reextract_stage(parts),
        maintenance=_maintenance_stage(parts),
        finished_urls=FinishedUrls(parts.client, prefix=parts.settings.redis.prefix),
        on_close=(renderer.close, limits.close, parts.store.close),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fetchers:
    """What sends the requests of one process; each fetcher has the limits of what it fetches."""

    pool: GreenPool
    robots_pool: GreenPool
    """Separate, so that robots.txt files and pages do not wait for each other."""
    pages: Fetcher
    sitemaps: Fetcher
    robots: Fetcher


def _fetchers(parts: _StageParts) -> _Fetchers:
    fetch = parts.settings.fetch
    at_once = sockets_within_limit(fetch.concurrency)
    open_fetcher = partial(
        Fetcher, ssrf_filter=parts.access.rules.ssrf_filter, clock=parts.clock, signer=parts.signer
    )
    pages = open_fetcher(fetch)
    # A host gets one connection for its pages, its sitemaps and its robots.txt.
    return _Fetchers(
        pool=GreenPool(at_once, for_urgent=at_once // 8),
        robots_pool=GreenPool(at_once),
        pages=pages,
        sitemaps=open_fetcher(for_sitemaps(fetch), sharing=pages),
        robots=open_fetcher(for_robots(fetch), sharing=pages, start_is_enough=True),
    )


def _robots_stage(parts: _StageParts, fetchers: _Fetchers) -> RobotsStage:
    rules = parts.access.rules
    return RobotsStage(
        robots=rules.robots,
        limiter=rules.limiter,
        fetcher=fetchers.robots,
        pool=fetchers.robots_pool,
        counters=parts.counters,
        clock=parts.clock,
        settings=parts.settings,
        forbidden=rules.forbidden,
        line=parts.access.line,
        traces=parts.traces,
        second_opinion=SecondOpinion(
            parts.settings.politeness.compare_with_reppy,
            parts.settings.data_dir.absolute() / "robots-differences",
            parts.settings.fetch.user_agent,
        ),
        checks=parts.checks,
    )


def _fetch_stage(parts: _StageParts, fetchers: _Fetchers) -> FetchStage:
    # On pinlater, a closed spool already stops workers from claiming this message.
    room = SpoolRoom(parts.spool, parts.clock, gated=parts.waiting is not None)
    return FetchStage(
        selection=JobSelection(
            store=parts.store,
            in_flight=parts.in_flight,
            counters=parts.counters,
            discovery=parts.discovery,
            checks=parts.checks,
        ),
        requester=Requester(
            fetcher=fetchers.pages,
            sitemap_fetcher=fetchers.sitemaps,
            pool=fetchers.pool,
            access=parts.access,
            clock=parts.clock,
        ),
        room=room,
        rescheduling=parts.rescheduling,
        counters=parts.counters,
        outcomes=OutcomeLog(parts.client, prefix=parts.settings.redis.prefix),
        rendering=RenderingRule(parts.settings.rendering),
        traces=parts.traces,
        checks=parts.checks,
    )


def connect_release(settings: Settings, sender: Sender) -> ReleaseStage:
    """Connect what releases URLs from the lines, without the other stages. See `connect`."""
    settings = settings.resolved()
    overrides = overrides_of(settings)
    clock = GreenClock()
    robots = robots_cache(settings, clock)
    return _release_stage(settings, limiter(settings, overrides), overrides, robots, sender, clock)


def _release_stage(
    settings: Settings,
    limits: Limiter,
    overrides: Overrides,
    robots: RobotsCache,
    sender: Sender,
    clock: Clock,
) -> ReleaseStage:
    lines, is_open = lines_of(settings), fetches_open(settings)
    shared = SharedState.of(settings)
    return ReleaseStage(
        lines=lines,
        limiter=limits,
        overrides=overrides,
        sender=sender,
        robots=robots,
        clock=clock,
        settings=settings,
        is_open=is_open,
        traces=UrlTraces(tracer_of(settings)),
        checks=CrawlChecks(shared.crawls, shared.in_flight),
    )


def _render_stage(parts: _StageParts, robots: RobotsStage, renderer: PageRenderer) -> RenderStage:
    fetcher = Fetcher(
        for_resources(parts.settings),
        parts.access.rules.ssrf_filter,
        clock=parts.clock,
        signer=parts.signer,
    )

    resources = PageResources(
        access=parts.access,
        fetcher=fetcher,
        learn_rules=lambda of: parts.sender.send_all(robots.run(RobotsBatch((of,)))),
        clock=parts.clock,
    )
    return RenderStage(
        spool=parts.spool,
        renderer=renderer,
        fetch_resource=resources.fetch,
        takedowns=parts.store.takedowns,
        marks=parts.marks,
        rescheduling=parts.rescheduling,
        counters=parts.counters,
        traces=parts.traces,
        checks=parts.checks,
    )


def _canonicalize_stage(parts: _StageParts) -> CanonicalizeStage:
    return CanonicalizeStage(
        spool=parts.spool,
        store=parts.store,
        in_flight=parts.in_flight,
        marks=parts.marks,
        discovery=parts.discovery,
        rescheduling=parts.rescheduling,
        settings=parts.settings,
        traces=parts.traces,
        checks=parts.checks,
    )


def _store_stage(parts: _StageParts) -> StoreStage:
    return StoreStage(
        spool=parts.spool,
        store=parts.store,
        in_flight=parts.in_flight,
        counters=parts.counters,
        rescheduling=parts.rescheduling,
        page_ready_task=page_ready_task(parts.settings),
        crawl_log=crawl_log_stream(parts.client, parts.settings),
        traces=parts.traces,
        discovery=parts.discovery,
        checks=parts.checks,
        limits=parts.crawl_limits,
    )


def _refresh_stage(parts: _StageParts) -> RefreshStage:
    rules = parts.access.rules
    return RefreshStage(
        schedule=parts.store.schedule,
        limiter=rules.limiter,
        robots=rules.robots,
        enqueuer=parts.enqueuer,
        counters=parts.counters,
        clock=parts.clock,
        settings=parts.settings,
    )


def _webhook_stage(parts: _StageParts) -> WebhookStage:
    return WebhookStage(
        store=parts.store,
        sender=parts.sender,
        ssrf_filter=parts.access.rules.ssrf_filter,
        clock=parts.clock,
        settings=parts.settings,
        traces=parts.traces,
    )


def _reextract_stage(parts: _StageParts) -> ReextractStage:
    return ReextractStage(
        store=parts.store,
        marks=parts.marks,
        limits=parts.settings.pipeline,
        agent=named_agent(parts.settings.fetch),
        rules=parts.settings.extract,
        purposes=parts.settings.preferences.purposes,
    )


def _maintenance_stage(parts: _StageParts) -> MaintenanceStage:
    return MaintenanceStage(
        store=parts.store,
        in_flight=parts.in_flight,
        blocks=parts.blocks,
        rewrite=FileRewrite(parts.client, prefix=parts.settings.redis.prefix),
        spool=parts.spool,
        waiting=parts.waiting,
        settings=parts.settings,
        crawl_log=crawl_log_writer(parts.client, parts.settings),
        marks=parts.marks,
        crawls=CrawlUpkeep(parts.crawl_limits.registry, parts.crawl_limits.counts),
        discovery=parts.discovery,
    )


def page_ready_task(settings: Settings) -> OwnTask | None:
    """The task of a team's own that gets stored pages."""
    pipeline = settings.pipeline
    if not pipeline.page_ready_task:
        return None
    return OwnTask(pipeline.page_ready_task, pipeline.page_ready_queue)
