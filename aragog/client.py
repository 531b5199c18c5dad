"""
aragog from a producer's own code: enqueue URLs, one or ten million, and see what became of each.

    from aragog.client import Aragog

    aragog = Aragog()                       # aragog.toml and the environment
    for result in aragog.enqueue(["https://example.com/a", "https://example.com/b"]):
        print(result.input, result.status, result.reason)

It needs the broker and the Redis of the settings, nothing of the workers' code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Self

import redis
from celery import Celery

from aragog.clock import SystemClock
from aragog.errors import ConfigError, SlowDown
from aragog.pinlater.address import redis_urls
from aragog.pinlater.brokers import celery_settings, kind_of
from aragog.pipeline.admission import Admission
from aragog.pipeline.counters import Counters
from aragog.pipeline.in_flight import InFlightSet
from aragog.pipeline.messages import PRIORITY_DEFAULT
from aragog.pipeline.routing import CelerySender, Destination, OutgoingMessage
from aragog.pipeline.site_blocks import SiteBlocks
from aragog.pipeline.site_rules import take_up_site_rules
from aragog.pipeline.spool.spool import Spool
from aragog.pipeline.stages.enqueue import EnqueueOptions, Enqueuer, EnqueueResult
from aragog.pipeline.stages.watches import WatchBatch
from aragog.settings import Settings, load_settings
from aragog.settings.secret import reveal
from aragog.urls import normalize

HOLDS_A_MESSAGE = 500

# An index names sitemaps, and those name pages: sitemaps.org knows no third level.
SITEMAP_LEVELS = 1


@dataclass(frozen=True, slots=True)
class Backlog:
    """How busy the system is, for producers that would rather slow down than be refused."""

    in_flight: int
    """URLs accepted and neither stored nor given up."""
    memory_share: float
    """Of `maxmemory`, on the fullest server; 0.0 without one. From 0.8 on `enqueue` is refused."""
    fetching_waits: bool
    """Pages are fetched faster than they are stored: what is enqueued now only waits longer."""


class Aragog:
    """
    A producer's connection. Safe to use from many threads; make a new one after a fork.

    Args:
        settings: None means `load_settings()`.
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = (settings or load_settings()).resolved()
        take_up_site_rules(self._settings)
        broker, shared = self._settings.broker, self._settings.redis
        self._redis = redis.Redis.from_url(reveal(shared.url), socket_timeout=10)
        self._app = Celery("aragog-producer", set_as_current=False)
        self._app.conf.update(
            celery_settings(broker.url, broker.shards, broker.claim_timeout_s),
            task_ignore_result=True,
            broker_connection_timeout=5,
        )
        self._servers = {"redis.url": self._redis}
        if kind_of(broker.url) == "pinlater":
            urls = (*redis_urls(broker.url), *broker.shards)
            self._servers |= {
                f"broker {n}": redis.Redis.from_url(url, socket_timeout=10)
                for n, url in enumerate(urls)
            }
        self._admission = Admission(self._servers)
        self._waiting = InFlightSet(self._redis, prefix=shared.prefix)
        self._tally = Counters(self._redis, prefix=shared.prefix)
        max_bytes = self._settings.pipeline.spool_max_bytes
        self._spool = Spool(self._redis, prefix=shared.prefix, max_bytes=max_bytes)
        self._sender = CelerySender(self._app)
        self._enqueuer = Enqueuer(
            self._waiting,
            self._sender,
            self._tally,
            batch_size=self._settings.pipeline.batch_size,
            blocks=SiteBlocks(self._redis, prefix=shared.prefix),
            qps=self._settings.politeness.qps,
            admission=self._admission,
        )

    def enqueue(
        self,
        urls: Iterable[str],
        *,
        priority: int = PRIORITY_DEFAULT,
        run_after: int | None = None,
        depth: int = 0,
        refresh: bool = False,
        sitemap: bool = False,
    ) -> list[EnqueueResult]:
        """
        What became of each URL, in order: accepted, already waiting, taken down, or invalid (why).

        Args:
            urls: in any spelling; up to some 100,000 at once, more by `enqueue_all`.
            priority: 0 (most urgent) to 9.
            run_after: not before this instant, milliseconds since the epoch.
            depth: link hops to follow from each, within its registered domain.
            refresh: fetch although it is stored already, or has been on its way for an hour.
            sitemap: they are sitemaps, or indexes of sitemaps: what they list is enqueued, as far
                as it is of their own registered domain and not stored since its lastmod.

        Raises:
            BrokerUnavailable: what had not been accepted was not enqueued; call again with all.
            SlowDown: the same, for the servers are nearly full; see `backlog`.
            ConfigError: `priority` or `depth` is out of bounds.
        """
        return list(
            self.enqueue_all(
                urls,
                priority=priority,
                run_after=run_after,
                depth=depth,
                refresh=refresh,
                sitemap=sitemap,
            )
        )

    def enqueue_all(
        self,
        urls: Iterable[str],
        *,
        priority: int = PRIORITY_DEFAULT,
        run_after: int | None = None,
        depth: int = 0,
        refresh: bool = False,
        sitemap: bool = False,
        on_wait: Callable[[SlowDown], None] | None = None,
    ) -> Iterator[EnqueueResult]:
        """
        The same in constant memory: URLs are taken, and answered, 1,000 at a time.

        With `on_wait`, `SlowDown` is not raised: that is called before each wait of
        `retry_after_s`, until there is room.
        """
        if not 0 <= priority <= 9:
            raise ConfigError(f"priority: must be 0 (most urgent) to 9, got {priority}")
        if depth < 0:
            raise ConfigError(f"depth: must be 0 or more, got {depth}")
        wanted = EnqueueOptions(
            depth=max(depth, SITEMAP_LEVELS) if sitemap else depth,
            refresh=refresh or sitemap,
            insist=refresh,
            priority=priority,
            run_after_ms=run_after,
            sitemap=sitemap,
        )
        return self._enqueuer.enqueue(urls, wanted, on_wait)

    def watch(self, urls: str | Iterable[str], owner: str) -> None:
        """
        Keep URLs fresh for `owner`, until it releases them; by any spelling or alias.

        It fetches nothing: `enqueue` does. Sent as messages, done within seconds; sent twice it
        counts once, and a release overtaken by its hold still wins.

        Raises:
            InvalidUrl: one of them is no URL; nothing was sent.
            BrokerUnavailable: some may be held; call again with all.
        """
        self._send_watches(urls, owner, watch=True)

    def unwatch(self, urls: str | Iterable[str], owner: str) -> None:
        """Let go of URLs. What nobody holds any more is not refreshed; what is stored stays."""
        self._send_watches(urls, owner, watch=False)

    def send(self, what: OutgoingMessage) -> None:
        """Send one message of the pipeline. Raises `BrokerUnavailable`; then it was not sent."""
        self._sender.send(what)

    def _send_watches(self, urls: str | Iterable[str], owner: str, *, watch: bool) -> None:
        given = [normalize(url) for url in ([urls] if isinstance(urls, str) else urls)]
        at_ms = SystemClock().now_ms()
        for at in range(0, len(given), HOLDS_A_MESSAGE):
            some = tuple(given[at : at + HOLDS_A_MESSAGE])
            self._sender.send(
                OutgoingMessage(Destination.WATCHES, WatchBatch(some, owner, watch, at_ms))
            )

    def in_flight(self) -> int:
        """How many URLs are on their way, accepted and neither stored nor given up."""
        return self._waiting.count()

    def backlog(self) -> Backlog:
        """
        How much is on its way, and whether to slow down before `enqueue` is refused.

        Raises:
            TransientError: Redis does not answer.
        """
        state = self._spool.state()
        return Backlog(self.in_flight(), max(self._admission.shares().values()), state.closed)

    def counters(self) -> dict[str, int]:
        """Counts of what happened so far: enqueued, fetched, refused, failed, stored, …"""
        return self._tally.read()

    def close(self) -> None:
        """Let go of the connections."""
        self._app.close()
        for server in self._servers.values():
            server.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
