"""Every Redis server of one system."""

from __future__ import annotations

from collections.abc import Mapping

import redis

from aragog.bootstrap.redis_services import limiter_ring, quick_client
from aragog.errors import LimiterUnavailable
from aragog.settings import Settings
from pinlater.brokers import is_postgres
from pinlater.redis.address import server_name


class RedisServers:
    """
    The Redis servers that the settings name, and the limiter nodes that joined the ring since.

    Args:
        settings: with their effective values (`Settings.resolved`).
        broker: URLs of the broker's servers.
    """

    def __init__(self, settings: Settings, broker: tuple[str, ...]) -> None:
        self._fixed = (
            settings.redis.url,
            *settings.redis.nodes,
            *settings.politeness.limiter_urls,
            *broker,
            *(url for url in settings.broker.shards if not is_postgres(url)),
        )
        self._ring = limiter_ring(settings)
        self._clients: dict[str, redis.Redis] = {}

    def clients(self) -> Mapping[str, redis.Redis]:
        """
        A client for each server, by its name without the password.

        One round trip. While `redis.url` does not answer, nodes that joined are missing.
        """
        urls = {server_name(url): url for url in (*self._joined(), *self._fixed)}
        for name in urls.keys() - self._clients.keys():
            self._clients[name] = quick_client(urls[name])
        return {name: self._clients[name] for name in urls}

    def _joined(self) -> tuple[str, ...]:
        """The URLs of the limiter's nodes."""
        try:
            return self._ring.urls()
        except LimiterUnavailable:
            return ()
