"""Translate redis-py's errors into those that a caller names, with what an operator can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from redis.exceptions import OutOfMemoryError, RedisError
from redis.sentinel import MasterNotFoundError

from pinlater.errors import BrokerFull, BrokerUnavailable

IS_FULL = (
    "its memory is full: raise its maxmemory, add a shard, or wait until workers have made room"
)

_STATES = (
    (
        "MISCONF",
        "its disk is full or cannot be written: free space there, and it accepts writes again",
    ),
    (
        "loading the dataset",
        "it is reading its data after a restart, and answers once it has: try again soon",
    ),
    ("read only replica", "it is a replica and accepts no writes: name the master, or wait for it"),
)
"""States of a server that redis-py reports in Redis' own words, and inside those of a script."""


@contextmanager
def redis_errors(
    where: str, error: Callable[[str, str], Exception] = BrokerUnavailable
) -> Iterator[None]:
    """
    Raise `error(where, reason)` for errors that redis-py or the socket raises in the block.

    A refused command (out of memory, loading, read-only replica) counts as well. If `error` is
    `BrokerUnavailable`, a server whose memory is full raises `BrokerFull`.
    """
    try:
        yield
    except (RedisError, OSError) as cause:
        if error is BrokerUnavailable and is_full(cause):
            raise BrokerFull(where, IS_FULL) from cause
        raise error(where, reason_of(cause)) from cause


def reason_of(cause: BaseException) -> str:
    """Why a command failed, for people: the server's state if the error tells it."""
    text = " ".join(str(error) for error in _chain(cause))
    for sign, state in _STATES:
        if sign in text:
            return state
    if isinstance(cause, MasterNotFoundError):  # lists its clients with all their settings
        return f"{str(cause).partition(' : ')[0]}: no Sentinel answers, or none knows it"
    return str(cause) or type(cause).__name__


def caused_by_full_memory(error: BaseException | None) -> bool:
    """Whether the error, or one it was raised from, is a Redis that reached its `maxmemory`."""
    return any(isinstance(each, BrokerFull | OutOfMemoryError) for each in _chain(error))


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def is_full(error: BaseException) -> bool:
    """Whether the server refused a write because its memory is full."""
    # Redis 6.2 reports this for scripts only inside the text of another error; so does Redis 7 for
    # scripts that were not called by their digest.
    text = str(error)
    return (
        isinstance(error, OutOfMemoryError)
        or "-OOM " in text
        or "used memory > 'maxmemory'" in text
    )
