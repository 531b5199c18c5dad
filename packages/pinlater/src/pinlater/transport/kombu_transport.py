"""
The kombu transport `pinlater://`.

`pinlater.brokers` describes its URLs. Kombu is pinned to one minor version, because this package
uses its internal API.
"""

from __future__ import annotations

from typing import Any

from kombu.transport import redis as kombu_redis
from redis import exceptions

from pinlater import brokers
from pinlater.errors import BrokerUnavailable, InvalidConfig
from pinlater.transport.channel import Channel
from pinlater.transport.poller import Poller


class Transport(kombu_redis.Transport):
    """The transport that kombu creates for `pinlater://` URLs."""

    Channel = Channel
    can_parse_url = True
    supports_batch_publish = True
    # A temporary refusal (a full server, or a replica during a failover) must not stop a worker.
    connection_errors = (
        *kombu_redis.Transport.connection_errors,
        exceptions.OutOfMemoryError,
        exceptions.ReadOnlyError,
        BrokerUnavailable,
    )

    client: Any
    cycle: Any

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.cycle = Poller()
        # Keep a URL of several servers unchanged; split other URLs, as `Connection` does for other
        # transports.
        server = brokers.single_server(self.client.hostname or "")
        if server is not None:
            for name, value in server._asdict().items():
                setattr(self.client, name, value)

    @property
    def _full_url(self) -> str:
        hostname = self.client.hostname or ""
        return hostname if "://" in hostname else self._url()

    @property
    def shard_urls(self) -> tuple[str, ...]:
        return brokers.shard_urls(self._full_url)

    @property
    def control_url(self) -> str:
        """
        Return the URL of the Redis server for messages that are not jobs.

        Raises:
            InvalidConfig: the broker URL is for PostgreSQL, and the option `control` is missing.
        """
        urls = brokers.redis_urls(self._full_url)
        control = urls[0] if urls else str(self.client.transport_options.get("control") or "")
        if not control:
            raise InvalidConfig(
                "broker.control: pinlater+postgresql:// stores only jobs; set a Redis server for "
                'broadcasts, events and replies: broker_transport_options = {"control": "redis://…"}'
            )
        return control

    def _url(self) -> str:
        client = self.client
        scheme = "pinlaters" if client.transport_cls == "pinlaters" else "pinlater"
        password = client.password() if callable(client.password) else client.password
        server = brokers.ServerAddress(
            client.hostname or "localhost", client.port or brokers.DEFAULT_PORT, client.userid,
            password, str(client.virtual_host or "/"),
        )  # fmt: skip
        return brokers.broker_url(scheme, server)

    def as_uri(self, uri: str, include_password: bool = False, mask: str = "**") -> str:
        if "://" not in uri:
            uri = self._url()
        elif uri.partition("://")[0] in brokers.KOMBU_SCHEMES:
            uri = f"pinlater+{uri}"
        return uri if include_password else brokers.mask_password(uri, mask)

    def register_with_event_loop(self, connection: Any, loop: Any) -> None:
        super().register_with_event_loop(connection, loop)
        self.cycle.attach(loop)
        for channel in self.channels:
            channel.claims.acks.deferred = True
        loop.on_tick.add(self.cycle.run_iteration)

    def close_connection(self, connection: Any) -> None:
        for channel in self.channels:
            if self.cycle.hub is not None:
                channel.claims.acks.deferred = False
            channel.claims.acks.flush()
        if self.cycle.hub is not None:
            self.cycle.hub.on_tick.discard(self.cycle.run_iteration)
        self.cycle.detach()
        super().close_connection(connection)
