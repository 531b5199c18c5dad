"""The connections of a channel to its first server: TCP, TLS, unix socket and Sentinel."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from kombu.transport.redis import Channel
from redis import Redis
from redis.connection import ConnectionPool, UnixDomainSocketConnection, parse_url
from redis.sentinel import SentinelManagedConnection, SentinelManagedSSLConnection

from pinlater.redis.address import parse_sentinel
from pinlater.redis.connect import DRIVER_INFO, sentinel_master


class SingleClientChannel(Channel):
    """
    A channel that reuses one client.

    kombu's own channel creates a client for each command and event, which takes several times as
    long as the command. A client is thread-safe, because each command takes a connection from the
    pool.
    """

    _shared_client: Redis | None = None

    @contextmanager
    def conn_or_acquire(self, client: Redis | None = None) -> Iterator[Redis]:
        if client is None:
            pool = self.pool  # a new pool replaces a lost connection
            client = self._shared_client
            if client is None or client.connection_pool is not pool:
                client = self._shared_client = self._create_client()
        yield client


def parameters(channel: Channel, *, asynchronous: bool) -> dict[str, Any]:
    """Return the connection pool's parameters for the channel's first URL."""
    params = {
        "max_connections": channel.max_connections,
        "socket_timeout": channel.socket_timeout,
        "socket_connect_timeout": channel.socket_connect_timeout,
        "socket_keepalive": channel.socket_keepalive,
        "socket_keepalive_options": channel.socket_keepalive_options,
        "health_check_interval": channel.health_check_interval,
        "retry_on_timeout": channel.retry_on_timeout,
        "client_name": channel.client_name,
        "connection_class": channel.connection_class,
        "db": 0,
        **DRIVER_INFO,
        **parse_url(channel.connection.control_url),
    }
    conninfo = channel.connection.client
    channel._process_credential_provider(conninfo.credential_provider, params)
    if conninfo.ssl:
        params["connection_class"] = channel.connection_class_ssl
        params.update(conninfo.ssl if isinstance(conninfo.ssl, dict) else {})
    if params["connection_class"] is UnixDomainSocketConnection:
        for name in ("connect_timeout", "keepalive", "keepalive_options"):
            params.pop(f"socket_{name}")
    if asynchronous:
        params["connection_class"] = _reporting_class(channel, params["connection_class"])
    return params


def sentinel_pool(channel: Channel, *, asynchronous: bool) -> ConnectionPool:
    """Return a pool of connections to Sentinel's master."""
    url = channel.connection.control_url
    address = parse_sentinel(url)
    channel.keyprefix_fanout = channel.keyprefix_fanout.format(db=address.db)
    options = {
        "socket_timeout": channel.socket_timeout,
        "socket_connect_timeout": channel.socket_connect_timeout,
        "socket_keepalive": channel.socket_keepalive,
        "health_check_interval": channel.health_check_interval,
        **DRIVER_INFO,
    }
    base = SentinelManagedSSLConnection if address.tls else SentinelManagedConnection
    connection_class = _reporting_class(channel, base) if asynchronous else base
    return sentinel_master(url, options, connection_class=connection_class).connection_pool


def _reporting_class(channel: Channel, base: type) -> type:
    """Return a connection class that reports disconnections to the channel's poller."""

    class ReportingConnection(base):
        def disconnect(self, *args: Any, **kwargs: Any) -> None:
            super().disconnect(*args, **kwargs)
            if channel._registered:
                channel._on_connection_disconnect(self)

    return ReportingConnection
