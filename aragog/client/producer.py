"""
Enqueues URLs, whether one or ten million, and returns a status for each.

    from aragog.client import Aragog

    aragog = Aragog()                       # see docs/settings.md
    for result in aragog.enqueue(["https://example.com/a", "https://example.com/b"]):
        print(result.input, result.status, result.reason)

It needs the broker and the Redis server in the settings, but none of the workers' code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import Annotated, Self

import redis
from celery import Celery

from aragog.api.operations.enqueue_options import EnqueueArguments
from aragog.api.operations.options import Option, takes
from aragog.crawl.pipeline.enqueue_results import EnqueueResult
from aragog.crawl.pipeline.memory_limit import Admission
from aragog.crawl.pipeline.routing import CelerySender, Destination, OutgoingMessage
from aragog.crawl.pipeline.shared_state import SharedState
from aragog.crawl.pipeline.site_rules import install_site_rules
from aragog.crawl.pipeline.url_traces import UrlTraces
from aragog.crawl.stages.enqueue import Enqueuer
from aragog.crawl.stages.watch import WatchBatch
from aragog.errors import SlowDown
from aragog.observability.tracing.tracer import open_tracer
from aragog.runtime.clock import SystemClock
from aragog.settings import BrokerSettings, Settings
from aragog.settings.in_use import process_settings
from pinlater.brokers import celery_settings, is_postgres, kind_of, redis_urls
from pinlater.redis.connect import connect
from urlspelling import normalize


@dataclass(frozen=True, slots=True)
class Backlog:
    """The crawler's load, so that producers can slow down before their URLs are refused."""

    in_flight: int
    """The number of URLs that were accepted but are neither stored nor given up on yet."""
    memory_share: float
    """
    The fraction of `maxmemory` in use, on the fullest server in `redis.url` and `redis.nodes` or on
    the broker's emptiest shard, whichever is larger. From 0.8 on, enqueueing raises `SlowDown`.
    """
    fetching_waits: bool
    """
    True if fetching is paused because pages are fetched faster than they are stored. Newly
    enqueued URLs then wait longer.
    """


MAX_URLS_PER_MESSAGE = 500

SHARD_TIMEOUT_S = 1.0
"""Time limit for reading a shard's memory usage. A slower shard is skipped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatientArguments(EnqueueArguments):
    """The options of a producer that can wait for free memory."""

    on_wait: Annotated[
        Callable[[SlowDown], None] | None, Option("Called before each wait for free memory.")
    ] = None


class Aragog:
    """
    A producer's connection. It is thread-safe. Create a new one after a fork.

    >>> with Aragog(settings) as client:
    ...     for result in client.enqueue(["http://Shop.example:80/", "mailto:kim@shop.example"]):
    ...         print(result.status, result.url)
    accepted http://shop.example/
    invalid None

    Args:
        settings: None means the settings of the aragog processes that use the data folder. If none
            are running, the file and the environment apply (`process_settings`).
    """

    def __init__(self, settings: Settings | None = None) -> None:
        self._settings = (settings or process_settings()).resolved()
        install_site_rules(self._settings)
        broker = self._settings.broker
        self._shared = shared = SharedState.from_settings(self._settings)
        self._app = Celery("aragog-producer", set_as_current=False)
        self._app.conf.update(
            celery_settings(
                broker.url,
                broker.shards,
                broker.claim_timeout_s,
                control=broker.control,
                publishes_only=True,
            ),
            task_ignore_result=True,
            broker_connection_timeout=5,
        )
        self._shards = _connect_shards(broker)
        self._admission = Admission(shared.servers(), self._shards)
        self._sender = CelerySender(self._app)
        self._enqueuer = Enqueuer.from_settings(
            self._settings,
            shared,
            self._sender,
            admission=self._admission,
            traces=UrlTraces(open_tracer(self._settings)),
        )

    @takes(EnqueueArguments)
    def enqueue(self, urls: Iterable[str], arguments: EnqueueArguments) -> list[EnqueueResult]:
        """
        Enqueue URLs, in any spelling, and return a result for each, in order.

        Accepts up to about 100,000 URLs per call; use `enqueue_all` for more.

        {arguments}

        Raises:
            BrokerUnavailable: some URLs may not have been enqueued. Call again with all of them.
            SlowDown: some URLs may not have been enqueued, because a server is nearly full; see
                `backlog`.
            BadInput: an option is invalid.
        """
        return list(self._enqueuer.enqueue(urls, arguments.options()))

    @takes(PatientArguments)
    def enqueue_all(
        self, urls: Iterable[str], arguments: PatientArguments
    ) -> Iterator[EnqueueResult]:
        """
        Like `enqueue`, but returns an iterator that processes 1,000 URLs at a time.

        With `on_wait`, it does not raise `SlowDown`. Instead, it calls `on_wait` and waits for
        `retry_after_s`, again and again until there is free memory.
        """
        return self._enqueuer.enqueue(urls, arguments.options(), arguments.on_wait)

    def watch(self, urls: str | Iterable[str], owner: str) -> None:
        """
        Keep URLs fresh for `owner` until `unwatch` is called with any spelling or alias of the URL.

        This does not fetch the URL, so call `enqueue` as well. Workers process the sent messages
        within seconds. Idempotent. If an owner calls both `watch` and `unwatch` for a URL, the
        later call counts.

        Raises:
            InvalidUrl: one of them is not a URL; nothing was sent.
            BrokerUnavailable: some of them may not be watched yet; call again with all of them.
        """
        self._send_watches(urls, owner, watch=True)

    def unwatch(self, urls: str | Iterable[str], owner: str) -> None:
        """Stop watching. A URL without watches is no longer refreshed; its stored data is kept."""
        self._send_watches(urls, owner, watch=False)

    def send(self, message: OutgoingMessage) -> None:
        """Send a message to the workers. Raises `BrokerUnavailable` if it was not sent."""
        self._sender.send(message)

    def _send_watches(self, urls: str | Iterable[str], owner: str, *, watch: bool) -> None:
        normalized = [normalize(url) for url in ([urls] if isinstance(urls, str) else urls)]
        at_ms = SystemClock().now_ms()
        for start in range(0, len(normalized), MAX_URLS_PER_MESSAGE):
            part = tuple(normalized[start : start + MAX_URLS_PER_MESSAGE])
            self._sender.send(
                OutgoingMessage(Destination.WATCHES, WatchBatch(part, owner, watch, at_ms))
            )

    def in_flight(self) -> int:
        """Return how many URLs were accepted but are neither stored nor given up on yet."""
        return self._shared.in_flight.count()

    def backlog(self) -> Backlog:
        """
        Return the crawler's load.

        Raises:
            TransientError: Redis does not respond.
        """
        state = self._shared.spool.state()
        return Backlog(self.in_flight(), self._admission.usage().share, state.closed)

    def counters(self) -> dict[str, int]:
        """Return how often each event occurred (enqueued, fetched, refused, failed, stored, …)."""
        return self._shared.counters.read()

    def close(self) -> None:
        """Close the connections."""
        self._app.close()
        for server in (*self._shared.nodes.clients, *self._shards.values()):
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


def _connect_shards(broker: BrokerSettings) -> dict[str, redis.Redis]:
    """Return clients for the Redis servers of a pinlater broker, by display name."""
    if kind_of(broker.url) != "pinlater":
        return {}
    return {
        f"broker {n}": connect(
            url, setting="broker.url", timeout_s=SHARD_TIMEOUT_S, connect_timeout_s=SHARD_TIMEOUT_S
        )
        for n, url in enumerate((*redis_urls(broker.url), *broker.shards))
        if not is_postgres(url)
    }
