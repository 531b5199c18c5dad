"""Create a Redis client for a URL: TCP, TLS, unix socket or Sentinel."""

from __future__ import annotations

from typing import Any

import redis
from redis.backoff import ConstantBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel

from pinlater.errors import InvalidConfig
from pinlater.masking import without_password
from pinlater.redis.address import (
    MAX_SOCKET_BYTES,
    is_sentinel,
    is_socket_path_too_long,
    is_usable,
    parse_sentinel,
    redis_py_url,
    server_name,
)
from pinlater.redis.client import ReadyClient, ReadyPool
from pinlater.redis.packer import Packer

try:
    from redis.driver_info import DriverInfo
except ImportError:  # before redis-py 7.1
    DRIVER_INFO: dict[str, Any] = {}
else:
    DRIVER_INFO = {"driver_info": DriverInfo()}
"""
Connection option for the client information sent to the server. By default, each connection reads
redis-py's version from metadata, which takes three quarters of the CPU time for connecting.
"""

RETRY_DELAY_S = 0.05
"""Seconds before a command is sent again after its connection broke."""


def connect(
    url: str,
    *,
    setting: str = "Redis URL",
    timeout_s: float = 10.0,
    connect_timeout_s: float = 5.0,
    attempts: int = 1,
    retry_timeouts: bool = True,
) -> redis.Redis:
    """
    Return a client that returns bytes. Threads may share it. It connects on first use.

    Args:
        url: a URL in one of the forms that `pinlater.redis.address` describes.
        setting: the name of the setting that contains the URL, for error messages.
        timeout_s: limit for the response to a command.
        connect_timeout_s: limit for opening a TCP or TLS connection.
        attempts: how often a command is sent before its error is raised. With more than one
            attempt, a command may run twice, because the connection may break after the server ran
            it.
        retry_timeouts: also resend commands after a timeout, not only after a broken connection.

    Raises:
        InvalidConfig: not a Redis URL, or its socket's path is too long. The message names the
            setting and hides the password.
    """
    if not is_usable(url):
        raise _unusable(url, setting)
    if is_socket_path_too_long(url):
        raise InvalidConfig(
            f"{setting}: the path {server_name(url)} is too long for a unix socket, which may have "
            f"{MAX_SOCKET_BYTES} bytes; let the server listen on a shorter one"
        )
    options: dict[str, Any] = {
        "socket_timeout": timeout_s,
        "retry": _retry(attempts, retry_timeouts=retry_timeouts),
        **DRIVER_INFO,
    }
    if not redis_py_url(url).startswith("unix:"):
        options |= {"socket_connect_timeout": connect_timeout_s, "socket_keepalive": True}
    if is_sentinel(url):
        return sentinel_master(url, options)
    try:
        pool = ReadyPool.from_url(redis_py_url(url), command_packer=Packer(), **options)
        return ReadyClient.from_pool(pool)
    except ValueError:
        # redis-py's own message may contain the password.
        raise _unusable(url, setting) from None


def _retry(attempts: int, *, retry_timeouts: bool) -> Retry:
    error_types: tuple[type[Exception], ...] = (redis.ConnectionError,)
    if retry_timeouts:
        error_types += (redis.TimeoutError,)
    return Retry(ConstantBackoff(RETRY_DELAY_S), attempts - 1, supported_errors=error_types)


def sentinel_master(url: str, options: dict[str, Any], **pool: Any) -> redis.Redis:
    """
    Return a client that asks the Sentinels for the master each time it connects.

    Args:
        url: `sentinel://…` or `sentinels://…`.
        options: connection options, for the Sentinels and the master.
        pool: options of the master's pool, such as `connection_class`.
    """
    address = parse_sentinel(url)
    tls_options = {
        name: value for name, value in address.options.items() if name.startswith("ssl_")
    }
    shared = options | ({"ssl": True, **tls_options} if address.tls else {})
    sentinel = Sentinel(
        address.sentinels,
        sentinel_kwargs={
            **shared,
            "username": address.options.get("sentinel_username"),
            "password": address.options.get("sentinel_password"),
        },
        **shared,
    )  # type: ignore[no-untyped-call]
    return sentinel.master_for(  # type: ignore[no-untyped-call, no-any-return]
        address.service,
        db=address.db,
        username=address.username,
        password=address.password,
        **pool,
    )


def _unusable(url: str, setting: str) -> InvalidConfig:
    return InvalidConfig(
        f"{setting}: {without_password(url)!r} is not a Redis URL; use redis://host:port, "
        "unix:///path or sentinel://host:port/service"
    )
