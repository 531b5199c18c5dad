"""The stages with tables in memory, a real Redis, a fake limiter, and a clock that stands still."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import pytest
import redis

from aragog.crawl.pipeline.counters import Counters
from aragog.crawl.pipeline.followed_pages import FollowedPages
from aragog.crawl.pipeline.in_flight import InFlightSet
from aragog.crawl.pipeline.messages import PageBatch, ResultBatch
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.pipeline.sitemap_walks import SitemapWalks
from aragog.crawl.pipeline.spool import Spool
from aragog.crawl.politeness.robots_records import CachedRules, RulesState
from aragog.crawl.politeness.robots_rules import RobotsRules
from aragog.crawl.politeness.slots import DomainReport
from aragog.crawl.stages.canonicalize import CanonicalizeStage
from aragog.crawl.stages.discovery import Discovery
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.page_limits import RunMarks
from aragog.crawl.stages.refresh import RefreshStage, Tick
from aragog.crawl.stages.returning_jobs import ReturningJobs
from aragog.crawl.stages.store import StoreStage
from aragog.runtime.clock import ManualClock
from aragog.settings import Settings
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from tests.support.stores import NOW_MS
from urlspelling.domain import registered_domain
from zengraph.tables.memory import MemoryTables


@dataclass
class Sent:
    """A sender that keeps its messages."""

    messages: list[OutgoingMessage] = field(default_factory=list)

    def send(self, what: OutgoingMessage) -> None:
        self.messages.append(what)

    def send_all(self, messages: Sequence[OutgoingMessage]) -> None:
        self.messages += messages

    def urls(self) -> list[str]:
        """Return all URLs sent to the fetch stage."""
        return [
            job["url"]
            for send in self.messages
            if send.destination == Destination.FETCH
            for job in send.message.wire()["urls"]
        ]


@dataclass
class Rates:
    """The part of the limiter that refreshing uses: rates, and how far ahead slots are reserved."""

    qps: float = 10.0
    busy: dict[str, int] = field(default_factory=dict)
    crawl_delay_s: float | None = None
    """The crawl delay in every origin's robots.txt."""

    def interval_us(self, _key: str, crawl_delay_s: float | None = None) -> float:
        return max(1e6 / self.qps, (crawl_delay_s or 0) * 1e6)

    def get_many(self, origins: Iterable[str]) -> dict[str, CachedRules]:
        """Replace that method of the robots cache."""
        delay = f"User-agent: *\nCrawl-delay: {self.crawl_delay_s}\n" if self.crawl_delay_s else ""
        return {
            of: CachedRules(RulesState.FRESH, RobotsRules.parse(delay.encode())) for of in origins
        }

    def key_for(self, url: str) -> str:
        return registered_domain(url)

    def describe(self, keys: list[str]) -> dict[str, DomainReport]:
        return {
            key: DomainReport(key, self.qps, None, self.busy.get(key, 0), 1.0, 0, None)
            for key in keys
        }


@dataclass
class PipelineHarness:
    """The parts of the stages, and each stage built of them."""

    settings: Settings
    clock: ManualClock
    store: UrlStore
    spool: Spool
    in_flight: InFlightSet
    counters: Counters
    run_marks: RunMarks
    enqueuer: Enqueuer
    walks: SitemapWalks
    sent: Sent
    rates: Rates
    followed_pages: FollowedPages | None = None

    @property
    def returning_jobs(self) -> ReturningJobs:
        return ReturningJobs(self.settings.pipeline, self.clock, self.counters)

    @property
    def discovery(self) -> Discovery:
        return Discovery(
            self.enqueuer,
            self.store,
            self.settings,
            self.walks,
            self.clock,
            followed_pages=self.followed_pages,
        )

    def canonicalize(self, batch: ResultBatch) -> list[OutgoingMessage]:
        stage = CanonicalizeStage(
            self.spool, self.store, self.in_flight, self.run_marks,
            self.discovery, self.returning_jobs, self.settings,
        )  # fmt: skip
        return stage.run(batch)

    def write(self, batch: PageBatch) -> list[OutgoingMessage]:
        """Run the store stage."""
        return StoreStage(
            self.spool, self.store, self.in_flight, self.counters, self.returning_jobs,
            discovery=self.discovery,
        ).run(batch)  # fmt: skip

    def refresh(self) -> Tick:
        return RefreshStage(
            self.store.schedule, self.rates, self.rates, self.enqueuer,
            self.counters, self.clock, self.settings,
        ).run()  # fmt: skip


@pytest.fixture
def pipeline_harness(redis_client: redis.Redis) -> PipelineHarness:
    """A pipeline without a network."""
    clock = ManualClock(NOW_MS)
    settings = Settings()
    store = UrlStore(MemoryTables(clock), MemoryContent(), settings.store, clock, settings.refresh)
    in_flight, counters = (
        InFlightSet(redis_client, prefix="t:"),
        Counters(redis_client, prefix="t:"),
    )
    sent, walks = Sent(), SitemapWalks(redis_client, prefix="t:")
    return PipelineHarness(
        settings=settings,
        clock=clock,
        store=store,
        spool=Spool(redis_client, prefix="t:"),
        in_flight=in_flight,
        counters=counters,
        run_marks=RunMarks(redis_client, prefix="t:", ttl_s=3600),
        enqueuer=Enqueuer(in_flight, sent, counters, batch_size=25, walks=walks),
        walks=walks,
        sent=sent,
        rates=Rates(),
    )
