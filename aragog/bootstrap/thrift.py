"""Build the Thrift services of a process that also serves HTTP."""

from __future__ import annotations

import socket
import ssl

from prometheus_client.registry import Collector

from aragog.api.auth.field_writers import FieldWriters
from aragog.api.auth.tokens import Tokens
from aragog.api.fetching import Enqueue, Fetching
from aragog.api.hedging import HedgedReads
from aragog.extras import has
from aragog.pinlater.brokers import kind_of, redis_urls
from aragog.pinlater.cluster import Cluster, connect_shards
from aragog.settings import ServingSettings, Settings
from aragog.urlstore.store import UrlStore


class ThriftServices:
    """
    The services on their listening socket; starts on the event loop of the HTTP server.

    Args:
        settings: limits, tokens, and the broker for PinLater.
        store: the store to read and write.
        enqueue: `Aragog.enqueue`.
        fetching: fetches for callers who wait.
        sock: from `listen`.
        tokens: shared with the HTTP API.
        hedged: reads of the store and its standby; None: there is no standby.
    """

    def __init__(
        self,
        settings: Settings,
        store: UrlStore,
        enqueue: Enqueue,
        fetching: Fetching,
        sock: socket.socket,
        tokens: Tokens,
        hedged: HedgedReads | None = None,
    ) -> None:
        from aragog.api.thrift.listening import tls_context  # noqa: PLC0415
        from aragog.api.thrift.metrics import ThriftMetrics  # noqa: PLC0415
        from aragog.api.thrift.server import ThriftServer  # noqa: PLC0415
        from aragog.api.thrift.services.fetcher import FetcherService  # noqa: PLC0415 - extra
        from aragog.api.thrift.services.pinlater import PinLaterService  # noqa: PLC0415
        from aragog.api.thrift.services.urlstore import UrlStoreService  # noqa: PLC0415

        self._sock = sock
        self._tls: ssl.SSLContext | None = tls_context(settings.serving)
        self._jobs = PinLaterService(_cluster(settings), settings.serving.max_waiting)
        services = {
            "UrlStore": UrlStoreService(
                store,
                hedged.read if hedged else None,
                FieldWriters(settings.serving.field_writers),
            ),
            "Fetcher": FetcherService(enqueue, fetching, store),
            "PinLater": self._jobs,
        }
        embedded = settings.store.engine != "hbase"
        self._server = ThriftServer(services, settings.serving, embedded=embedded, tokens=tokens)
        self.metrics: Collector = ThriftMetrics(self._server)
        """For Prometheus; not registered yet."""

    async def start(self) -> None:
        """Serve from now on."""
        await self._server.start(self._sock, tls=self._tls)

    async def drain(self) -> None:
        """Answer the calls that run, and close all connections."""
        await self._server.drain()
        self._jobs.close()

    @property
    def running_calls(self) -> int:
        """How many calls are still running; after a drain, the abandoned ones."""
        return self._server.running_calls


def listen(settings: ServingSettings, processes: int) -> list[socket.socket]:
    """
    A listening socket for each process; none if Thrift is off or its extra is not installed.

    Raises:
        ConfigError: the port is in use or not permitted.
    """
    if not settings.thrift_port or not has("thrift"):
        return []
    from aragog.api.thrift import listening  # noqa: PLC0415 - an extra

    return listening.listen(settings, processes)


def _cluster(settings: Settings) -> Cluster | None:
    """The shards of the broker; None if it is not pinlater."""
    broker = settings.resolved().broker
    if kind_of(broker.url) != "pinlater":
        return None
    return Cluster(connect_shards((*redis_urls(broker.url), *broker.shards)))
