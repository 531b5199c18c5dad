"""Translate redis-py's errors into this library's, with remedies."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis.exceptions import OutOfMemoryError, RedisError
from redis.sentinel import MasterNotFoundError

from pinlater.errors import BrokerFull, BrokerUnavailable

IS_FULL = (
    "its memory is full: raise its maxmemory, add a shard, or wait until workers have made room"
)

_SERVER_STATES = (
    (
        "MISCONF",
        "its disk is full or cannot be written: it accepts writes again after you free space there",
    ),
    (
        "loading the dataset",
        "it is loading its data after a restart: try again soon",
    ),
    (
        "read only replica",
        "it is a replica and accepts no writes: use the master's URL, or wait for a failover",
    ),
)
"""Server states that redis-py reports only as Redis's error text, or inside a script's error."""


@contextmanager
def redis_errors(
    where: str, error: Callable[[str, str], Exception] = BrokerUnavailable
) -> Iterator[None]:
    """
    Raise `error(where, reason)` for errors of redis-py or the socket in the block.

    Includes refused commands (out of memory, loading, read-only replica). If `error` is
    `BrokerUnavailable`, full memory raises `BrokerFull`.
    """
    try:
        yield
    except (RedisError, OSError) as cause:
        if error is BrokerUnavailable and is_memory_full(cause):
            raise BrokerFull(where, IS_FULL) from cause
        raise error(where, reason_of(cause)) from cause


def reason_of(cause: BaseException) -> str:
    """Return a readable reason: the server's state if the error contains it."""
    text = " ".join(str(error) for error in _chain(cause))
    for marker, state in _SERVER_STATES:
        if marker in text:
            return state
    if isinstance(cause, MasterNotFoundError):  # its message lists all clients with their settings
        return f"{str(cause).partition(' : ')[0]}: no Sentinel answers, or none knows it"
    return str(cause) or type(cause).__name__


def caused_by_full_memory(error: BaseException | None) -> bool:
    """Return whether a Redis server at its `maxmemory` caused the error."""
    return any(isinstance(cause, BrokerFull | OutOfMemoryError) for cause in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def is_memory_full(error: BaseException) -> bool:
    """Return whether the server refused a write because its memory is full."""
    # For scripts, Redis 6.2 reports this only inside another error's message, and so does Redis 7
    # for scripts called by source.
    text = str(error)
    return (
        isinstance(error, OutOfMemoryError)
        or "-OOM " in text
        or "used memory > 'maxmemory'" in text
    )
