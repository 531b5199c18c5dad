"""Connect the services that the API uses in addition to the store."""

from __future__ import annotations

import dataclasses
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import cache
from typing import TYPE_CHECKING

from prometheus_client.registry import Collector

from aragog.api.operations.batch_progress import BatchTracker
from aragog.api.operations.fetching import Enqueue, Fetching
from aragog.api.operations.field_writers import FieldWriters
from aragog.api.operations.jobs import Jobs
from aragog.api.operations.operation import Explain, OtherParts, Parts
from aragog.api.operations.page_texts import PageTexts
from aragog.api.operations.store_reads import ReadStore
from aragog.api.operations.values import Explanation
from aragog.api.server.hedging import HedgedReads
from aragog.api.server.listener import thrift_sockets
from aragog.api.server.memory import MemoryLimit
from aragog.api.server.tokens import Tokens
from aragog.bootstrap.crawls import crawl_control
from aragog.bootstrap.graphs import application_graphs
from aragog.bootstrap.redis_services import (
    TakedownSharing,
    connect_overrides,
    limiter,
    redis_client,
)
from aragog.bootstrap.stores import replica_store, url_store
from aragog.client import Aragog, Client
from aragog.client.direct_backend import DirectBackend
from aragog.crawl.pipeline.completions import Completions
from aragog.crawl.pipeline.routing import Queue
from aragog.crawl.pipeline.url_batches import UrlBatches
from aragog.errors import ConfigError
from aragog.observability.tracing.tracer import open_tracer
from aragog.pages.items import kind_names
from aragog.runtime.extras import has
from aragog.settings import ServingSettings, Settings
from aragog.settings.extractor_names import field_prefix
from aragog.settings.in_use import process_settings
from aragog.urlstore.store import UrlStore
from pinlater import dead_letters
from pinlater.brokers import kind_of, shard_urls
from pinlater.cluster import Cluster, connect_shards

if TYPE_CHECKING:
    from aragog.dashboard.components import Components


DEFAULT_QUEUE = "celery"
"""Celery's default queue, for the crawler's tasks without a route."""


def fetching(settings: Settings, store: UrlStore, enqueue: Enqueue) -> Fetching:
    """
    Return the service that fetches for waiting callers. The caller must close it.

    `enqueue` is `Aragog.enqueue`.
    """
    settings = settings.resolved()
    completions = Completions(redis_client(settings), prefix=settings.redis.prefix)
    return Fetching(
        store, enqueue, completions, max_waiting=settings.serving.max_waiting,
        extractors=tuple(map(field_prefix, settings.pipeline.extractors)),
    )  # fmt: skip


def batches(settings: Settings) -> BatchTracker:
    """Return the tracker of batches of enqueued URLs."""
    settings = settings.resolved()
    url_batches = UrlBatches(redis_client(settings), prefix=settings.redis.prefix)
    return BatchTracker(url_batches, cache(lambda: limiter(settings, connect_overrides(settings))))


def job_queues(settings: Settings) -> Jobs | None:
    """Return the queues for workers in other programs, or None if the broker is not pinlater."""
    broker = settings.resolved().broker
    if kind_of(broker.url) != "pinlater":
        return None
    cluster = Cluster(connect_shards((*shard_urls(broker.url), *broker.shards)))
    reserved = (*Queue, DEFAULT_QUEUE, dead_letters.QUEUE)
    return Jobs(cluster, settings.serving.max_waiting, reserved)


def explainer(settings: Settings, store: UrlStore) -> Explain:
    """Return a function that explains URLs. It connects on first use."""

    @cache
    def get_components() -> Components:
        from aragog.bootstrap.dashboard import components  # noqa: PLC0415 - only explanations need it

        return components(settings, store=store)

    def explain(url: str) -> Explanation:
        from aragog.dashboard.explanation import explain_url  # noqa: PLC0415 - as above

        return explain_url(url, get_components())

    return explain


def hedged_reads(settings: Settings, store: UrlStore) -> HedgedReads | None:
    """
    Return a reader that also asks the standby (`serving.standby_…`) if `store` is slow, or None if
    no standby is configured.

    Raises:
        ConfigError: the store's engine does not support such a standby.
    """
    serving = settings.serving
    if serving.standby_dsn:
        if settings.store.engine != "postgres":
            raise ConfigError(
                "serving.standby_dsn: requires a PostgreSQL store; set store.engine to postgres"
            )
        return _create_hedged_reads(store, replica_store(settings), serving)
    gateways = serving.standby_gateways
    if not gateways:
        return None
    if settings.store.engine != "hbase":
        raise ConfigError(
            "serving.standby_gateways: requires an HBase store; set store.engine to "
            "hbase, or serving.standby_dsn for a replica of PostgreSQL"
        )
    replica_settings = dataclasses.replace(settings.store, hbase_gateways=gateways)
    standby = url_store(dataclasses.replace(settings, store=replica_settings))
    return _create_hedged_reads(store, standby, serving)


def _create_hedged_reads(
    store: UrlStore, standby: UrlStore, serving: ServingSettings
) -> HedgedReads:
    deadline_s = serving.deadline_ms / 1000
    return HedgedReads(store, standby, threads=serving.threads, deadline_s=deadline_s)


class ThriftServices:
    """
    The Thrift services on their listening socket. They run on the HTTP server's event loop.

    Args:
        settings: the settings, including the limits and the certificate.
        parts: the services that operations use.
        sock: a socket from `listen`.
        tokens: the tokens, shared with the HTTP API.
        unread: counts data that clients have not read yet; shared with the HTTP API.
    """

    def __init__(
        self,
        settings: Settings,
        parts: Parts,
        sock: socket.socket,
        tokens: Tokens,
        unread: MemoryLimit,
    ) -> None:
        from aragog.api.server.listener import tls_context  # noqa: PLC0415 - it imports asyncio
        from aragog.api.server.thrift.handlers import services  # noqa: PLC0415 - optional package
        from aragog.api.server.thrift.metrics import ThriftMetrics  # noqa: PLC0415
        from aragog.api.server.thrift.server import ThriftServer  # noqa: PLC0415

        self._sock = sock
        self._tls: ssl.SSLContext | None = tls_context(settings.serving)
        embedded = settings.store.is_embedded
        self._server = ThriftServer(
            services(parts), settings.serving, embedded=embedded, tokens=tokens, replies=unread
        )
        self.metrics: Collector = ThriftMetrics(self._server)
        """The Prometheus collector, not yet registered."""

    async def start(self) -> None:
        """Start serving."""
        await self._server.start(self._sock, tls=self._tls)

    async def drain(self) -> None:
        """Finish running calls, then close all connections."""
        await self._server.drain()

    @property
    def running_calls(self) -> int:
        """The number of running calls. After a drain, these are abandoned."""
        return self._server.running_calls


def listen(settings: ServingSettings, processes: int) -> list[socket.socket]:
    """
    Return a listening socket for each process, or none if Thrift is off or its extra is missing.

    Raises:
        ConfigError: the port is in use or not permitted.
    """
    if not settings.thrift_port or not has("thrift"):
        return []
    return thrift_sockets(settings, processes)


@contextmanager
def other_parts(
    settings: Settings, store: UrlStore, producer: Aragog, read: ReadStore | None = None
) -> Iterator[OtherParts]:
    """Yield the services that operations use in addition to the store, and close them on exit."""
    deadline_s = settings.serving.content_deadline_ms / 1000
    with (
        closing(fetching(settings, store, producer.enqueue)) as fetches,
        closing(PageTexts(settings.pipeline, deadline_s=deadline_s)) as texts,
        ExitStack() as stack,
    ):
        graphs = stack.enter_context(closing(application_graphs(settings)))
        jobs = job_queues(settings)
        if jobs is not None:
            stack.callback(jobs.close)
        yield OtherParts(
            read=read,
            enqueue=producer.enqueue,
            fetching=fetches,
            batches=batches(settings),
            jobs=jobs,
            crawls=crawl_control(settings, store),
            explain=explainer(settings, store),
            texts=texts,
            graphs=graphs,
            kinds=kind_names(settings.extract),
            tracer=open_tracer(settings),
            takedowns_changed=TakedownSharing(settings, store),
        )


@contextmanager
def open_client(settings: Settings | None = None) -> Iterator[Client]:
    """
    Yield a client that needs no server. It opens the store and the broker itself.

    After its deadline, a call is not retried, but it continues if it has reached the store (see
    `Client`).

    Args:
        settings: None means the settings of the processes running in the data folder or, if there
            are none, the file and the environment (`process_settings`).
    """
    settings = settings or process_settings()
    with (
        closing(url_store(settings)) as store,
        Aragog(settings) as producer,
        other_parts(settings, store, producer) as others,
    ):
        writers = FieldWriters(settings.serving.field_writers)
        parts = Parts(store=store, writers=writers, **others.arguments())
        yield Client(DirectBackend(parts))
