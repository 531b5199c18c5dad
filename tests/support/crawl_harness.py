"""The stages with everything real except the broker: Redis, limiter, robots cache, fetcher, origin."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from aragog.bootstrap.stages import connect
from aragog.crawl.pipeline.crawl_counts import CrawlCounters, CrawlCounts
from aragog.crawl.pipeline.crawl_records import CrawlPhase, CrawlRecord
from aragog.crawl.pipeline.crawl_registry import CrawlRegistry
from aragog.crawl.pipeline.enqueue_results import EnqueueResult
from aragog.crawl.pipeline.messages import (
    FetchBatch,
    FetchResult,
    PageBatch,
    ResultBatch,
    RobotsBatch,
)
from aragog.crawl.pipeline.routing import Destination, OutgoingMessage
from aragog.crawl.politeness.limiter import Limiter
from aragog.crawl.politeness.lines import Lines
from aragog.crawl.politeness.robots_cache import RobotsCache
from aragog.crawl.stages.crawl_upkeep import CrawlUpkeep
from aragog.crawl.stages.enqueue_options import EnqueueOptions
from aragog.crawl.stages.process_stages import ProcessStages
from aragog.runtime.clock import Clock
from aragog.settings import (
    EgressSettings,
    FetchSettings,
    IdentitySettings,
    PipelineSettings,
    PolitenessSettings,
    PreferencesSettings,
    RenderingSettings,
    Settings,
    StoreSettings,
    WebhookSettings,
)
from aragog.settings.servers import ContentSettings, RedisSettings
from aragog.urlstore.store import UrlStore
from tests.support.origin import Handler, Origin
from tests.support.pipeline_harness import Sent

AGENT = "aragog/1.0 (+http://127.0.0.1/)"
NO_RULES = b"User-agent: *\nDisallow:\n"
CONTENT = ContentSettings(pack_wait_s=0.05)
"""Packs that close early, because a harness delivers one message at a time: no other joins them."""


@dataclass
class CrawlHarness:
    """One process's pipeline, and the origin for every host under `.test`."""

    pipeline: ProcessStages
    origin: Origin
    sent: Sent

    @property
    def clock(self) -> Clock:
        return self.pipeline.robots.clock

    @property
    def limiter(self) -> Limiter:
        return self.pipeline.robots.limiter

    @property
    def robots(self) -> RobotsCache:
        return self.pipeline.robots.robots

    def url(self, host: str, path: str = "/") -> str:
        return f"http://{host}{path}"

    def know_rules(self, *hosts: str, body: bytes = NO_RULES) -> None:
        """Put the rules of these hosts into the cache, as if fetched now."""
        for host in hosts:
            now_ms = self.clock.now_ms()
            self.robots.put(f"http://{host}", 200, body, now_ms)

    def enqueue(self, urls: Sequence[str], options: EnqueueOptions) -> list[EnqueueResult]:
        """Enqueue URLs. Their messages wait in `sent`."""
        return list(self.pipeline.enqueuer.enqueue(urls, options))

    def taken(self) -> list[OutgoingMessage]:
        """Remove the waiting messages and return them."""
        messages, self.sent.messages[:] = list(self.sent.messages), []
        return messages

    def step(self, send: OutgoingMessage) -> list[OutgoingMessage]:
        """Deliver one message to its stage. Returns the resulting messages."""
        wire = send.message.wire()
        match send.destination:
            case Destination.FETCH:
                return self.pipeline.fetch.run(FetchBatch.read(wire))
            case Destination.ROBOTS:
                return self.pipeline.robots.run(RobotsBatch.read(wire))
            case Destination.RENDER:
                batch = ResultBatch.read(wire)
                outgoing = self.pipeline.render.run(batch)
                self.pipeline.render.free(batch, outgoing)
                return outgoing
            case Destination.CANONICALIZE:
                return self.pipeline.canonicalize.run(ResultBatch.read(wire))
            case Destination.STORE:
                return self.pipeline.store.run(PageBatch.read(wire))
        return []

    @property
    def urls(self) -> UrlStore:
        """Return the store that the crawl writes to."""
        return self.pipeline.store.store

    def crawl(self, urls: Sequence[str], options: EnqueueOptions, *, limit_s: float = 120) -> None:
        """Enqueue URLs and deliver the resulting messages until everything is stored."""
        self.enqueue(urls, options)
        until_ms = self.clock.now_ms() + limit_s * 1000
        while self.sent.messages or self.limiter_lines.total():
            assert self.clock.now_ms() < until_ms, f"{len(self.sent.messages)} messages are left"
            self.pipeline.release.run()
            if not self.sent.messages:
                self.clock.sleep_s(0.02)
                continue
            message = self.sent.messages.pop(0)
            self.clock.sleep_s((message.delay_ms or 0) / 1000)
            self.sent.messages += apart(self.step(message))

    @property
    def limiter_lines(self) -> Lines:
        """Return the lines in which URLs wait for slots."""
        return self.pipeline.release.lines

    def _released(self, numbers: Iterator[int]) -> list[tuple[int, int, OutgoingMessage]]:
        """Return what leaves the lines now."""
        before, self.sent.messages[:] = list(self.sent.messages), []
        self.pipeline.release.run()
        released, self.sent.messages[:] = list(self.sent.messages), before
        now_ms = self.clock.now_ms()
        return [(now_ms + (send.delay_ms or 0), next(numbers), send) for send in released]

    def run(self, sends: Sequence[OutgoingMessage], *, limit_s: float) -> list[FetchResult]:
        """
        Deliver fetch and robots messages when they are due, one at a time. Returns the results.

        Ends when nothing is left to deliver. Raises AssertionError if that takes too long.
        """
        clock, numbers = self.clock, itertools.count()
        until_ms = clock.now_ms() + limit_s * 1000
        queue = [
            (clock.now_ms() + (send.delay_ms or 0), next(numbers), send) for send in apart(sends)
        ]
        answers: list[FetchResult] = []
        while queue or self.limiter_lines.total():
            queue += self._released(numbers)
            heapq.heapify(queue)
            assert clock.now_ms() < until_ms, f"{len(queue)} messages are left"
            if not queue or queue[0][0] > clock.now_ms():
                clock.sleep_s(0.01)
                continue
            _, _, send = heapq.heappop(queue)
            if isinstance(send.message, ResultBatch):
                answers += send.message.results
                continue
            for message in apart(self.step(send)):
                due_ms = clock.now_ms() + (message.delay_ms or 0)
                heapq.heappush(queue, (due_ms, next(numbers), message))
        return answers


@dataclass
class HarnessCrawls:
    """The crawls of a harness."""

    harness: CrawlHarness

    @property
    def registry(self) -> CrawlRegistry:
        return self.upkeep.registry

    @property
    def counts(self) -> CrawlCounters:
        return self.upkeep.counts

    @property
    def upkeep(self) -> CrawlUpkeep:
        assert self.harness.pipeline.maintenance.crawls is not None
        return self.harness.pipeline.maintenance.crawls

    def start(self, name: str, **options: Any) -> CrawlRecord:
        return self.registry.start(name, options)

    def state(self, name: str, state: CrawlPhase) -> None:
        """Change the state. Every process reads it within a second, this one immediately."""
        self.registry.set_state(name, state)
        self.registry.read()
        for checks in (self.harness.pipeline.store.checks, self.harness.pipeline.release.checks):
            checks.registry.read()

    def of(self, name: str) -> CrawlCounts:
        ended = self.registry.read().ended
        return self.counts.totals(self.registry.get(name).numbers, ended=ended)

    def paths(self) -> list[str]:
        return [r.path for r in self.harness.origin.seen if r.path != "/robots.txt"]


def apart(sends: Iterable[OutgoingMessage]) -> list[OutgoingMessage]:
    """Return messages as delivered by a broker that does not collect: each URL at its own time."""
    messages: list[OutgoingMessage] = []
    for send in sends:
        if send.collect is None:
            messages.append(send)
            continue
        assert isinstance(send.message, FetchBatch)
        pairs = zip(send.message.jobs, send.collect.delays_ms, strict=True)
        messages += [
            replace(send, message=FetchBatch((job,)), delay_ms=delay_ms, collect=None)
            for job, delay_ms in pairs
        ]
    return messages


@pytest.fixture
def crawl_harness(redis_url: str, tmp_path: Path) -> Iterator[Callable[..., CrawlHarness]]:
    """Return a maker of harnesses: `crawl_harness(handlers, qps=10)`. Other keywords set politeness."""
    harnesses: list[CrawlHarness] = []

    def make(
        handlers: dict[str, Handler],
        *,
        agent: str = AGENT,
        rendering: RenderingSettings | None = None,
        preferences: dict[str, Any] | None = None,
        identity: IdentitySettings | None = None,
        fetch: dict[str, Any] | None = None,
        egress: EgressSettings | None = None,
        retry_first_s: float = 30.0,
        recognize_traps: bool = False,
        allowed_networks: tuple[str, ...] = ("127.0.0.0/8",),
        **politeness: Any,
    ) -> CrawlHarness:
        origin = Origin(handlers)
        origin.start()
        settings = Settings(
            data_dir=tmp_path,
            redis=RedisSettings(url=redis_url),
            politeness=PolitenessSettings(**politeness),
            preferences=PreferencesSettings(**(preferences or {})),
            store=StoreSettings(engine="memory"),
            content=CONTENT,
            fetch=FetchSettings(
                **{
                    "user_agent": agent,
                    "host_map": {"*.test": origin.address},
                    "allowed_networks": allowed_networks,
                    **(fetch or {}),
                }
            ),
            rendering=rendering or RenderingSettings(),
            identity=identity or IdentitySettings(),
            egress=egress or EgressSettings(),
            pipeline=PipelineSettings(retry_first_s=retry_first_s, recognize_traps=recognize_traps),
            webhooks=WebhookSettings(allowed_hosts=("127.0.0.1",)),
        )
        sent = Sent()
        harnesses.append(CrawlHarness(connect(settings, sent), origin, sent))
        return harnesses[-1]

    yield make
    for harness in harnesses:
        harness.origin.stop()
        harness.pipeline.close()
