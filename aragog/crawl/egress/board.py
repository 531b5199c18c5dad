"""
The failing ways of all processes, as `aragog explain`, `doctor` and the metrics show them.

No request depends on them: each process decides by its own failures (`health`).
"""

from __future__ import annotations

import logging
import socket
from contextlib import suppress
from typing import NamedTuple, cast

import orjson
import redis

from aragog.crawl.egress.health import Failing
from aragog.runtime.clock import Clock
from pinlater.redis.errors import redis_errors

log = logging.getLogger(__name__)
VERSION = 1
STALE_MS = 900_000
"""Failures whose next trial is this long overdue are ignored: their process has ended."""
KEPT_S = 86_400


class FailingWay(NamedTuple):
    """A way that fails on a machine. Instants are ms since the epoch."""

    way: str
    machine: str
    failures: int
    since_ms: int
    retry_at_ms: int
    reason: str


class WayBoard:
    """
    One Redis hash that maps a way and a machine to a failure in JSON. Thread-safe.

    Args:
        client: a client of `redis.url`.
        clock: dates failures.
        prefix: prefix of the key.
    """

    def __init__(self, client: redis.Redis, clock: Clock, *, prefix: str) -> None:
        self._redis = client
        self._clock = clock
        self._key = f"{prefix}egress"
        self._machine = socket.gethostname()

    def tell(self, name: str, state: Failing | None) -> None:
        """
        Record that a way fails, or works again (None). Does nothing if Redis does not respond.

        Idempotent. The last record of a machine replaces earlier ones.
        """
        field = f"{name} {self._machine}"
        if state is None:
            log.warning("way out %s works again", name)
            with suppress(redis.RedisError):
                self._redis.hdel(self._key, field)
            return
        log.warning("way out %s fails: %s", name, state.reason)
        now_ms, now_s = self._clock.now_ms(), self._clock.monotonic_s()
        row = {
            "v": VERSION,
            "failures": state.failures,
            "since_ms": now_ms - int((now_s - state.since_s) * 1000),
            "retry_at_ms": now_ms + int((state.retry_at_s - now_s) * 1000),
            "reason": state.reason,
        }
        with suppress(redis.RedisError), self._redis.pipeline(transaction=False) as pipe:
            pipe.hset(self._key, field, orjson.dumps(row))
            pipe.expire(self._key, KEPT_S)
            pipe.execute()

    def read(self) -> list[FailingWay]:
        """
        The ways that fail on at least one machine, by name.

        Raises:
            BrokerUnavailable: Redis does not respond.
        """
        with redis_errors("redis, failing ways out"):
            rows = cast("dict[bytes, bytes]", self._redis.hgetall(self._key))
        found = [_failing(name.decode(), value) for name, value in rows.items()]
        oldest_ms = self._clock.now_ms() - STALE_MS
        return sorted(row for row in found if row and row.retry_at_ms > oldest_ms)


def _failing(field: str, value: bytes) -> FailingWay | None:
    """Parse a field of the hash; None if it cannot be read."""
    name, _, machine = field.partition(" ")
    try:
        row = orjson.loads(value)
        return FailingWay(
            name, machine, int(row["failures"]), int(row["since_ms"]), int(row["retry_at_ms"]),
            str(row["reason"]),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        return None
