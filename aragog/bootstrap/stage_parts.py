"""Create the services that a process's pipeline stages share."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from aragog.bootstrap.egress import create_egress
from aragog.bootstrap.fetch_limits import for_files, for_robots, for_sitemaps
from aragog.bootstrap.redis_services import (
    connect_overrides,
    limiter,
    lines_of,
    robots_cache,
    server_ms,
    waiting_jobs,
)
from aragog.bootstrap.stores import url_store
from aragog.crawl.egress.egress import Egress
from aragog.crawl.fetcher.fetcher import Fetcher
from aragog.crawl.fetcher.ssrf import SsrfFilter
from aragog.crawl.identity.request_signer import RequestSigner, request_signer
from aragog.crawl.pipeline.followed_pages import FollowedPages
from aragog.crawl.pipeline.followed_urls import FollowedUrls
from aragog.crawl.pipeline.routing import Sender
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.spool_reclaim import WaitingJobs
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.crawl.politeness.shared_clock import ServerTime
from aragog.crawl.stages.access import Access
from aragog.crawl.stages.access_rules import AccessRules
from aragog.crawl.stages.crawl_checks import CrawlChecks
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.held_link_sweep import HeldLinkSweep
from aragog.crawl.stages.job_egress import JobEgress
from aragog.crawl.stages.link_budgets import LinkBudgets
from aragog.crawl.stages.page_limits import RunMarks
from aragog.crawl.stages.returning_jobs import ReturningJobs
from aragog.crawl.stages.waiting_line import WaitingLine
from aragog.observability.tracing.tracer import open_tracer
from aragog.runtime.clock import Clock
from aragog.runtime.green_threads import GreenClock, GreenPool
from aragog.runtime.open_files import sockets_within_limit
from aragog.settings import Settings
from aragog.urlstore.store import UrlStore


@dataclass(frozen=True, slots=True, kw_only=True)
class StageParts:
    """The services that several stages share."""

    settings: Settings
    clock: Clock
    """A clock that is the same for all workers."""
    shared: SharedState
    sender: Sender
    store: UrlStore
    checks: CrawlChecks
    marks: RunMarks
    enqueuer: Enqueuer
    discovery: Discovery
    waiting: WaitingJobs | None
    returning_jobs: ReturningJobs
    access: Access
    signer: RequestSigner | None
    traces: UrlTraces
    egress: Egress

    @property
    def job_egress(self) -> JobEgress:
        """The service that chooses the egress route for each job's requests."""
        return JobEgress(self.egress.rules, self.checks, self.egress.depends_on_crawl)


def create_stage_parts(settings: Settings, sender: Sender, test_clock: Clock | None) -> StageParts:
    """
    Connect the services that several stages use.

    Args:
        settings: settings with their effective values (`Settings.resolved`).
        sender: sends messages to the queues.
        test_clock: a clock for tests; if None, the Redis server's clock.

    Raises:
        ConfigError: a setting is invalid, such as the overrides file.
        BrokerUnavailable: Redis does not respond.
    """
    shared = SharedState.from_settings(settings)
    # All workers use one clock for fetches and writes, so that no value replaces a newer one. The
    # wall clock of a machine may be changed at any moment.
    clock = test_clock or ServerTime(GreenClock(), partial(server_ms, shared.client))
    store = url_store(settings, clock)
    waiting, prefix = waiting_jobs(settings), settings.redis.prefix
    traces = UrlTraces(open_tracer(settings))
    checks = CrawlChecks(shared.crawls, shared.in_flight)
    followed = FollowedUrls(shared.client, prefix=prefix)
    enqueuer = Enqueuer.from_settings(settings, shared, sender, followed=followed, traces=traces)
    return StageParts(
        settings=settings,
        clock=clock,
        shared=shared,
        sender=sender,
        store=store,
        checks=checks,
        marks=RunMarks(shared.client, prefix=prefix, ttl_s=settings.pipeline.spool_ttl_s),
        enqueuer=enqueuer,
        discovery=_create_discovery(settings, shared, store, enqueuer, checks, clock),
        waiting=waiting,
        returning_jobs=ReturningJobs(
            settings=settings.pipeline,
            clock=clock,
            counters=shared.counters,
            collects=waiting is not None,
        ),
        access=_create_access(settings, store, clock),
        signer=request_signer(settings.identity, clock),
        traces=traces,
        egress=create_egress(settings, shared.client, clock),
    )


def _create_discovery(
    settings: Settings,
    shared: SharedState,
    store: UrlStore,
    enqueuer: Enqueuer,
    checks: CrawlChecks,
    clock: Clock,
) -> Discovery:
    """Return the service that follows links, except those that may lead into a trap."""
    recognizes_traps = settings.pipeline.recognize_traps
    budgets = LinkBudgets(shared.traps, shared.held_links, shared.counters)
    return Discovery(
        enqueuer=enqueuer,
        store=store,
        settings=settings,
        walks=shared.walks,
        clock=clock,
        followed_pages=FollowedPages(shared.nodes, prefix=settings.redis.prefix),
        checks=checks,
        budgets=budgets if recognizes_traps else None,
        held_links=HeldLinkSweep(
            budgets, shared.crawl_counts, shared.crawls, recognizes_traps=recognizes_traps
        ),
    )


def _create_access(settings: Settings, store: UrlStore, clock: Clock) -> Access:
    overrides = connect_overrides(settings)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetchers:
    """The fetchers of one process. Each has the limits for the resources that it fetches."""

    pool: GreenPool
    robots_pool: GreenPool
    """A separate pool, so that robots.txt files and pages do not wait for each other."""
    pages: Fetcher
    sitemaps: Fetcher
    files: Fetcher
    robots: Fetcher


def create_fetchers(parts: StageParts) -> Fetchers:
    """Create the fetchers. Connections are opened on demand."""
    fetch = parts.settings.fetch
    max_sockets = sockets_within_limit(fetch.concurrency)
    open_fetcher = partial(
        Fetcher,
        ssrf_filter=parts.access.rules.ssrf_filter,
        clock=parts.clock,
        signer=parts.signer,
        egress=parts.egress,
    )
    pages = open_fetcher(fetch)
    # A host's pages, sitemaps and robots.txt share one connection.
    return Fetchers(
        pool=GreenPool(max_sockets, urgent_extra=max_sockets // 8),
        robots_pool=GreenPool(max_sockets),
        pages=pages,
        sitemaps=open_fetcher(for_sitemaps(fetch), connections_from=pages),
        files=open_fetcher(for_files(fetch), connections_from=pages, trust_declared_types=True),
        robots=open_fetcher(for_robots(fetch), connections_from=pages, truncate_oversized=True),
    )
