"""The stages' services over memory tables: a real Redis, a limiter, time that stands still."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest
import redis

from aragog.clock import ManualClock
from aragog.pipeline.counters import Counters
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.pages.run_marks import RunMarks
from aragog.pipeline.routing import Destination, OutgoingMessage
from aragog.pipeline.services import Services
from aragog.pipeline.site_blocks import SiteBlocks
from aragog.pipeline.spool.spool import Spool
from aragog.pipeline.stages.enqueue import Enqueuer
from aragog.politeness.ratelimit.slots import DomainReport
from aragog.politeness.robots.cache import CachedRules, RulesState
from aragog.politeness.robots.rules import RobotsRules
from aragog.settings import Settings
from aragog.urls.domain import registered_domain
from aragog.urlstore.content import MemoryContent
from aragog.urlstore.store import UrlStore
from aragog.zen.tables.memory import MemoryTables
from tests.support.stores import NOW_MS


@dataclass
class Sent:
    """A sender that keeps what it was given."""

    messages: list[OutgoingMessage] = field(default_factory=list)

    def send(self, what: OutgoingMessage) -> None:
        self.messages.append(what)

    def send_all(self, messages: Sequence[OutgoingMessage]) -> None:
        self.messages += messages

    def urls(self) -> list[str]:
        """All URLs sent to be fetched."""
        return [
            job["url"]
            for send in self.messages
            if send.destination == Destination.FETCH
            for job in send.message.wire()["urls"]
        ]


@dataclass
class Rates:
    """What refreshing asks of the limiter: rates and how far slots are given away."""

    qps: float = 10.0
    busy: dict[str, int] = field(default_factory=dict)
    crawl_delay_s: float | None = None
    """What the robots rules of every origin ask."""

    def interval_us(self, _key: str, crawl_delay_s: float | None = None) -> float:
        return max(1e6 / self.qps, (crawl_delay_s or 0) * 1e6)

    def get_many(self, origins: Iterable[str]) -> dict[str, CachedRules]:
        """The robots cache's."""
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
class PipelineStand:
    """Services and what is behind them."""

    services: Services
    store: UrlStore
    clock: ManualClock
    sent: Sent
    rates: Rates

    def with_settings(self, settings: Settings) -> None:
        """The same under other settings."""
        self.services = replace(self.services, settings=settings)


@pytest.fixture
def pipeline_stand(redis_client: redis.Redis) -> PipelineStand:
    """A pipeline without a network."""
    clock = ManualClock(NOW_MS)
    settings = Settings()
    store = UrlStore(MemoryTables(clock), MemoryContent(), settings.store, clock, settings.refresh)
    in_flight, counts = InFlightSet(redis_client, prefix="t:"), Counters(redis_client, prefix="t:")
    sent, rates = Sent(), Rates()
    absent: dict[str, Any] = {each.name: None for each in fields(Services)}
    given: dict[str, Any] = {
        "settings": settings,
        "clock": clock,
        "spool": Spool(redis_client, prefix="t:"),
        "run_marks": RunMarks(redis_client, prefix="t:", ttl_s=3600),
        "in_flight": in_flight,
        "counters": counts,
        "sender": sent,
        "enqueuer": Enqueuer(in_flight, sent, counts, batch_size=25),
        "limiter": rates,
        "robots": rates,
        "store": store,
        "blocks": SiteBlocks(redis_client, prefix="t:"),
    }
    services = Services(**{**absent, **given})
    return PipelineStand(services, store, clock, sent, rates)
