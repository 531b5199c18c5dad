"""Connect the pipeline stages of one process."""

from __future__ import annotations

from aragog.bootstrap.crawl_log import crawl_log_stream, crawl_log_writer
from aragog.bootstrap.fetch_limits import for_resources
from aragog.bootstrap.redis_services import (
    connect_overrides,
    limiter,
    lines_of,
    release_gate,
    robots_cache,
)
from aragog.bootstrap.rendering import RendererOnDemand
from aragog.bootstrap.stage_parts import Fetchers, StageParts, create_fetchers, create_stage_parts
from aragog.bootstrap.store_claims import store_conflict
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.pipeline.finished_urls import FinishedUrls
from aragog.crawl.pipeline.messages import RobotsBatch
from aragog.crawl.pipeline.outcome_log import OutcomeLog
from aragog.crawl.pipeline.routing import Sender, UserTask
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.spool_room import SpoolSpace
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.overrides import Overrides
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.politeness.second_opinion import SecondOpinion
from aragog.crawl.shared_redis.file_rewrite import FileRewrite
from aragog.crawl.sign_in.sessions import Sessions
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.crawl_endings import CrawlLimits
from aragog.crawl.stages.crawl_notices import CrawlNotices
from aragog.crawl.stages.crawl_rounds import CrawlRounds
from aragog.crawl.stages.crawl_upkeep import CrawlUpkeep
from aragog.crawl.stages.fetch import FetchStage
from aragog.crawl.stages.maintenance import MaintenanceStage
from aragog.crawl.stages.page_analysis import named_agent, text_fields
from aragog.crawl.stages.page_resources import PageResources
from aragog.crawl.stages.process_stages import ProcessStages
from aragog.crawl.stages.reextract import ReextractStage
from aragog.crawl.stages.refresh import RefreshStage
from aragog.crawl.stages.release import ReleaseStage
from aragog.crawl.stages.render import PageRenderer, RenderStage
from aragog.crawl.stages.rendering_rule import RenderingRule
from aragog.crawl.stages.requester import Requester
from aragog.crawl.stages.revalidation import JobSelection
from aragog.crawl.stages.robots import RobotsStage
from aragog.crawl.stages.sign_in import SignIns
from aragog.crawl.stages.store import StoreStage
from aragog.crawl.stages.webhooks import WebhookStage
from aragog.errors import StoreUnavailable
from aragog.observability.tracing.tracer import open_tracer
from aragog.pages import extractors
from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import GreenClock
from aragog.settings import Settings


def connect(settings: Settings, sender: Sender, *, clock: Clock | None = None) -> ProcessStages:
    """
    Connect the stages of one process. Call this after the fork.

    Raises:
        ConfigError: a setting is invalid, such as the overrides file.
        StoreUnavailable: this Redis belongs to another store.
        BrokerUnavailable: Redis does not respond.
    """
    if problem := store_conflict(settings):
        # Not a ConfigError: messages must stay queued until an operator has checked which store
        # this Redis belongs to.
        raise StoreUnavailable("store", problem)
    settings = settings.resolved()
    # Load these now, so that wrong names and rules fail early.
    extractors.load_all(settings.pipeline.extractors, settings.extract)
    text_fields(settings.pipeline)
    return _connect_stages(create_stage_parts(settings, sender, clock))


def _connect_stages(parts: StageParts) -> ProcessStages:
    fetchers, renderer = create_fetchers(parts), RendererOnDemand(parts.settings)
    robots, limits = _robots_stage(parts, fetchers), parts.access.rules.limiter
    return ProcessStages(
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
        finished_urls=FinishedUrls(parts.shared.client, prefix=parts.settings.redis.prefix),
        on_close=(renderer.close, limits.close, parts.store.close),
    )


def _robots_stage(parts: StageParts, fetchers: Fetchers) -> RobotsStage:
    rules = parts.access.rules
    return RobotsStage(
        robots=rules.robots,
        limiter=rules.limiter,
        fetcher=fetchers.robots,
        pool=fetchers.robots_pool,
        counters=parts.shared.counters,
        clock=parts.clock,
        settings=parts.settings,
        find_forbidden=rules.find_forbidden,
        line=parts.access.line,
        traces=parts.traces,
        second_opinion=SecondOpinion(
            parts.settings.politeness.compare_with_reppy,
            parts.settings.data_dir.absolute() / "robots-differences",
            parts.settings.fetch.user_agent,
        ),
        checks=parts.checks,
        egress=parts.job_egress,
    )


def _fetch_stage(parts: StageParts, fetchers: Fetchers) -> FetchStage:
    # With pinlater, workers claim no fetches while the spool is closed.
    spool_space = SpoolSpace(parts.shared.spool, parts.clock, gated=parts.waiting is not None)
    return FetchStage(
        selection=JobSelection(
            store=parts.store,
            in_flight=parts.shared.in_flight,
            counters=parts.shared.counters,
            discovery=parts.discovery,
            checks=parts.checks,
        ),
        requester=Requester(
            fetcher=fetchers.pages,
            sitemap_fetcher=fetchers.sitemaps,
            file_fetcher=fetchers.files,
            pool=fetchers.pool,
            access=parts.access,
            clock=parts.clock,
            egress=parts.job_egress,
            sign_ins=_sign_ins(parts, fetchers),
            bodies=parts.store.bodies,
        ),
        spool_space=spool_space,
        returning_jobs=parts.returning_jobs,
        counters=parts.shared.counters,
        outcomes=OutcomeLog(parts.shared.client, prefix=parts.settings.redis.prefix),
        rendering=RenderingRule(parts.settings.rendering),
        traces=parts.traces,
        checks=parts.checks,
    )


def _sign_ins(parts: StageParts, fetchers: Fetchers) -> SignIns | None:
    """Return the service that signs in to sites, or None if no site requires it."""
    if not parts.settings.fetch.sign_in:
        return None
    sign_ins = SignIns(
        settings=parts.settings.fetch.sign_in,
        sessions=Sessions(parts.shared.client, prefix=parts.settings.redis.prefix),
        fetcher=fetchers.pages,
        access=parts.access,
        checks=parts.checks,
        clock=parts.clock,
    )
    sign_ins.check()
    return sign_ins


def connect_release(settings: Settings, sender: Sender) -> ReleaseStage:
    """Connect only the stage that releases waiting URLs. See `connect`."""
    settings = settings.resolved()
    overrides = connect_overrides(settings)
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
    lines, is_open = lines_of(settings), release_gate(settings)
    shared = SharedState.from_settings(settings)
    return ReleaseStage(
        lines=lines,
        limiter=limits,
        overrides=overrides,
        sender=sender,
        robots=robots,
        clock=clock,
        settings=settings,
        is_open=is_open,
        traces=UrlTraces(open_tracer(settings)),
        checks=CrawlChecks(shared.crawls, shared.in_flight),
    )


def _render_stage(parts: StageParts, robots: RobotsStage, renderer: PageRenderer) -> RenderStage:
    fetcher = Fetcher(
        for_resources(parts.settings),
        parts.access.rules.ssrf_filter,
        clock=parts.clock,
        signer=parts.signer,
        egress=parts.egress,
    )
    resources = PageResources(
        access=parts.access,
        fetcher=fetcher,
        learn_rules=lambda job: parts.sender.send_all(robots.run(RobotsBatch((job,)))),
        clock=parts.clock,
        egress=parts.job_egress,
    )
    return RenderStage(
        spool=parts.shared.spool,
        renderer=renderer,
        fetch_resource=resources.fetch,
        takedowns=parts.store.takedowns,
        marks=parts.marks,
        returning_jobs=parts.returning_jobs,
        counters=parts.shared.counters,
        traces=parts.traces,
        checks=parts.checks,
        bodies=parts.store.bodies,
    )


def _canonicalize_stage(parts: StageParts) -> CanonicalizeStage:
    return CanonicalizeStage(
        spool=parts.shared.spool,
        store=parts.store,
        in_flight=parts.shared.in_flight,
        marks=parts.marks,
        discovery=parts.discovery,
        returning_jobs=parts.returning_jobs,
        settings=parts.settings,
        traces=parts.traces,
        checks=parts.checks,
    )


def _store_stage(parts: StageParts) -> StoreStage:
    return StoreStage(
        spool=parts.shared.spool,
        store=parts.store,
        in_flight=parts.shared.in_flight,
        counters=parts.shared.counters,
        returning_jobs=parts.returning_jobs,
        page_ready_task=page_ready_task(parts.settings),
        crawl_log=crawl_log_stream(parts.shared.client, parts.settings),
        traces=parts.traces,
        discovery=parts.discovery,
        checks=parts.checks,
        limits=CrawlLimits(parts.shared.crawls, parts.shared.crawl_counts),
    )


def _refresh_stage(parts: StageParts) -> RefreshStage:
    rules = parts.access.rules
    return RefreshStage(
        schedule=parts.store.schedule,
        signals=parts.store.signals,
        limiter=rules.limiter,
        robots=rules.robots,
        enqueuer=parts.enqueuer,
        counters=parts.shared.counters,
        clock=parts.clock,
        settings=parts.settings,
    )


def _webhook_stage(parts: StageParts) -> WebhookStage:
    return WebhookStage(
        store=parts.store,
        sender=parts.sender,
        ssrf_filter=parts.access.rules.ssrf_filter,
        clock=parts.clock,
        settings=parts.settings,
        traces=parts.traces,
        crawls=parts.shared.crawls,
    )


def _reextract_stage(parts: StageParts) -> ReextractStage:
    return ReextractStage(
        store=parts.store,
        marks=parts.marks,
        limits=parts.settings.pipeline,
        agent=named_agent(parts.settings.fetch),
        rules=parts.settings.extract,
        purposes=parts.settings.preferences.purposes,
    )


def _maintenance_stage(parts: StageParts) -> MaintenanceStage:
    registry, counts = parts.shared.crawls, parts.shared.crawl_counts
    return MaintenanceStage(
        store=parts.store,
        in_flight=parts.shared.in_flight,
        blocks=parts.shared.blocks,
        rewrite=FileRewrite(parts.shared.client, prefix=parts.settings.redis.prefix),
        spool=parts.shared.spool,
        waiting=parts.waiting,
        settings=parts.settings,
        crawl_log=crawl_log_writer(parts.shared.client, parts.settings),
        marks=parts.marks,
        crawls=CrawlUpkeep(registry, counts),
        rounds=CrawlRounds(registry, counts, parts.shared.crawl_seeds, parts.enqueuer),
        notices=CrawlNotices(registry, counts, parts.sender),
        discovery=parts.discovery,
    )


def page_ready_task(settings: Settings) -> UserTask | None:
    """Return the user's task for stored pages, if there is one."""
    pipeline = settings.pipeline
    if not pipeline.page_ready_task:
        return None
    return UserTask(pipeline.page_ready_task, pipeline.page_ready_queue)
