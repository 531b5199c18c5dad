"""Hints for errors from unreachable servers, shown as the second line of the error message."""

from __future__ import annotations

import sys

from aragog.cli.data_folder import command_settings
from aragog.errors import (
    CONFIG,
    TRANSIENT,
    BrokerFull,
    ContentReplaced,
    ContentUnavailable,
    QuotaExceeded,
    SlowDown,
    StoreUnavailable,
)
from aragog.settings import Settings
from aragog.settings.in_use import running_pid


def error_hint(error: Exception) -> str | None:
    """
    Return a line with the setting, its value and the next step, or None if the error message has
    them.
    """
    if not isinstance(error, TRANSIENT) or isinstance(
        error, SlowDown | QuotaExceeded | ContentReplaced
    ):
        return None
    try:
        settings = command_settings()
    except CONFIG:
        return None
    if isinstance(error, StoreUnavailable):
        return _store_hint(settings)
    if isinstance(error, ContentUnavailable):
        return f"content.engine is {settings.content.engine}; `aragog doctor` checks every part"
    if _is_full_redis(error):
        return _full_redis_hint(settings)
    if settings.private_redis and running_pid(settings.data_dir.absolute() / "run") is not None:
        return (
            f"aragog is running in {settings.data_dir.absolute()} and restarts failed servers; "
            "`aragog doctor` checks every part"
        )
    if settings.private_redis:
        return (
            f"data_dir: aragog is not running in {settings.data_dir.absolute()}; start it with "
            "`aragog up`, or set redis.url and broker.url to your own servers"
        )
    return (
        f"redis.url is {settings.redis.url}, broker.url {settings.broker.url}; check "
        "that they are running and that this machine can reach them"
    )


def _is_full_redis(error: Exception) -> bool:
    """True if the error or its cause comes from a Redis server that has reached its `maxmemory`."""
    if "redis" not in sys.modules:
        return isinstance(error, BrokerFull)
    from pinlater.redis.errors import caused_by_full_memory  # noqa: PLC0415 - imports redis

    return caused_by_full_memory(error)


def _full_redis_hint(settings: Settings) -> str | None:
    """Return the hint for a full private Redis. The errors of other servers contain hints."""
    if settings.private_redis:
        return (
            "the private redis-server is full, and nothing was lost: wait until the workers catch "
            "up, or raise standalone.redis_max_memory_bytes and restart the system"
        )
    return None


def _store_hint(settings: Settings) -> str:
    if settings.store.engine == "hbase":
        gateways = ", ".join(settings.store.hbase_gateways)
        return f"store.hbase_gateways: {gateways}; check that a Thrift gateway runs there"
    if settings.private_postgres:
        return "store.dsn: is empty; `aragog up` starts the private PostgreSQL of this data_dir"
    if settings.store.engine == "postgres":
        return f"store.dsn: {settings.store.dsn}; `aragog doctor` shows what is wrong there"
    return f"data_dir: {settings.data_dir.absolute()}; check its free space and permissions"
